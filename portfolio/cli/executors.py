"""Executors of batches and protocols, by their names on the command line."""

from typing import Any

from encoders.core.errors import InputError


def executor_of(name: str, workers: int | None, threads: int, address: str | None) -> Any:
    """Return the executor that a command's options describe."""
    if name == "ray":
        from portfolio.workers.ray.executor import RayExecutor

        return RayExecutor(address, workers, threads)
    if name != "local":
        raise InputError(f"--executor {name} is unknown. Use local or ray.")
    if address is not None:
        raise InputError("--address needs --executor ray. Add it or omit --address.")
    from portfolio.workers.local_executor import LocalExecutor
    from portfolio.workers.shared_executor import default_executor

    return default_executor(threads) if workers is None else LocalExecutor(workers)
