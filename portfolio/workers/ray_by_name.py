"""Executor "ray", which starts a Ray cluster on this machine."""

from typing import TYPE_CHECKING

from encoders.core.errors import InputError

if TYPE_CHECKING:
    from portfolio.workers.ray.executor import RayExecutor


def ray_by_name(name: str) -> "RayExecutor":
    """Return an executor that starts a cluster on this machine."""
    if name != "ray":
        raise InputError(f"executor must be 'local', 'ray' or a RayExecutor, got {name!r}.")
    from portfolio.workers.ray.executor import RayExecutor

    return RayExecutor()
