"""The number of processor cores that this process may use."""

import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")  # a container sees its own group here


def usable_cores() -> int:
    """Return the cores that this process may use, at least 1 and at most a container's quota."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        cores = len(os.sched_getaffinity(0))
    else:  # process_cpu_count: Python 3.13
        cores = getattr(os, "process_cpu_count", os.cpu_count)() or 1
    return max(1, min(cores, _quota(cores)))


def _quota(cores: int) -> int:
    """Return the whole cores of the container's CPU quota, or ``cores`` without a quota."""
    for files in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):  # v2, v1
        try:
            quota, period = " ".join((CGROUP / name).read_text() for name in files).split()
            return int(quota) // int(period) if int(quota) > 0 else cores
        except (OSError, ValueError, ZeroDivisionError):  # no such file, or "max"
            continue
    return cores
