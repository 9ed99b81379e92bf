"""The number of processor cores that this process may use."""

from functools import cache
from pathlib import Path

from encoders.core import system

CGROUP = Path("/sys/fs/cgroup")  # a container sees its own group here


def usable_cores() -> int:
    """Return the cores that this process may use, at least 1 and at most a container's quota."""
    cores = system.affine_cores()
    return max(1, min(cores, _quota(CGROUP) or cores))


@cache  # as each query asks for the number of cores
def _quota(group: Path) -> int:
    """Return the whole cores of a control group's CPU quota, at least 1; 0 without a quota."""
    for files in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):  # v2, v1
        try:
            quota, period = " ".join((group / name).read_text() for name in files).split()
            return max(1, int(quota) // int(period)) if int(quota) > 0 else 0
        except (OSError, ValueError, ZeroDivisionError):  # no such file, or "max"
            continue
    return 0
