"""The one executor that users may name: a Ray cluster, started when it is asked for."""

from typing import TYPE_CHECKING

from encoders.errors import InputError

if TYPE_CHECKING:
    from portfolio.running.ray.executor import RayExecutor


def ray_by_name(name: str) -> "RayExecutor":
    """An executor that starts a cluster here."""
    if name != "ray":
        raise InputError(f"executor must be 'local', 'ray' or a RayExecutor, got {name!r}.")
    from portfolio.running.ray.executor import RayExecutor

    return RayExecutor()
