"""Executors of batches and protocols, as the command line names them."""

from typing import Any

from encoders.cores import usable_cores
from encoders.errors import InputError


def executor_of(name: str, workers: int | None, threads: int, address: str | None) -> Any:
    """Return who answers the rows of batches and runs protocols."""
    if name == "ray":
        from portfolio.running.ray.executor import RayExecutor

        return RayExecutor(address, workers, threads)
    if name != "local":
        raise InputError(f"--executor {name}: known are local and ray.")
    if address is not None:
        raise InputError("--address is for --executor ray.")
    from portfolio.running.local_executor import LocalExecutor
    from portfolio.running.small_batches import SmallBatchesHere

    if workers is None:
        return SmallBatchesHere(LocalExecutor(max(1, usable_cores() // threads)))
    return LocalExecutor(workers)
