"""How many processor cores there are to use."""

import os


def usable_cores() -> int:
    """Cores that this process may use; all of the machine where the system tells no less."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    counted = getattr(os, "process_cpu_count", os.cpu_count)()  # the former from Python 3.13 on
    return counted or 1
