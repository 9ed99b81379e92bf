"""What runs beneath us."""

import os
import subprocess


def children(parent=None):
    """Processes that solve."""
    return _children(parent, "solver_process")


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read()
    except OSError:
        return ""


def batch_workers(parent=None):
    """Processes that answer rows of a batch."""
    return _children(parent, "work_process")


def probes_of(parent):
    """Processes that open model files first."""
    return _children(parent, "portfolio.model.probe")


def _children(parent, module):
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(parent or os.getpid())], capture_output=True, text=True
    )
    pids = [int(pid) for pid in listed.stdout.split()]
    return [pid for pid in pids if module in command(pid)]
