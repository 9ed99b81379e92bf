"""The number of processor cores that this process may use."""

import os


def usable_cores() -> int:
    """Return the cores that this process may use; all cores if the platform sets no limit."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    count = getattr(os, "process_cpu_count", os.cpu_count)()  # process_cpu_count: Python 3.13
    return count or 1
