"""``python -m portfolio.engine.ship``: precompiled machine code for wheels.

``setup.py`` calls it. Functions are compiled into a separate folder. A second process loads them
from there, so that exactly the functions are shipped that Python calls.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace

import numpy as np
from numba.core.dispatcher import Dispatcher

from encoders.core.compiled import compiled_sources
from encoders.core.shipped_code import FOLDER, ship
from encoders.trees.cells import cut
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import SetSplits
from portfolio.engine.warm_up import warm_up_all

MACHINE = ("Linux", "x86_64")
CPU = "x86-64"
# Instructions of almost all processors since 2015, beyond the x86-64 baseline. Not fma, so that
# results are rounded as by code that is compiled on the target machine.
FEATURES = (
    *("sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2"),
    *("bmi", "bmi2", "lzcnt", "popcnt"),
)
FOR_MANY = {
    "NUMBA_CPU_NAME": CPU,
    "NUMBA_CPU_FEATURES": ",".join(f"+{feature}" for feature in FEATURES),
    "NUMBA_DISABLE_INTEL_SVML": "1",  # a library that other machines may not have
}


def main() -> None:
    """Compile in one process, load and write in another."""
    if (platform.system(), platform.machine()) != MACHINE:
        raise SystemExit(
            "machine code can be shipped for Linux on x86-64 only. "
            "Build a wheel without it; functions are then compiled at their first use."
        )
    shutil.rmtree(FOLDER, ignore_errors=True)
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | FOR_MANY | {"NUMBA_CACHE_DIR": cache}
        for step in ("call_all", "write"):
            code = f"from portfolio.engine.ship import {step}; {step}()"
            subprocess.run([sys.executable, "-B", "-c", code], env=environment, check=True)


def call_all() -> None:
    """Call everything that reading a model and answering a query calls."""
    stump = Ensemble(
        n_columns=1,
        root=np.zeros(1, dtype=np.int64),
        column=np.array([0, -1, -1]),
        last_left=np.zeros(3),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        score=np.zeros((3, 2)),
        bias=np.zeros(2),
        dtype=np.dtype(np.float64),
        margin_unit=1.0,
        votes=False,
    )
    row, first = np.zeros((1, 1)), np.zeros(1, dtype=np.int64)
    stump.sums(stump.leaves(row))
    stump.turn_right(first, row, first)
    cut(stump)
    sets = SetSplits(np.array([0, -1, -1]), first, np.array([True, False]), {0: np.zeros(0)})
    cut(replace(stump, sets=sets))
    warm_up_all()


def write() -> None:
    """Load all functions from numba's caches, and write them for shipping."""
    call_all()
    functions = {
        value
        for name, module in list(sys.modules.items())
        if name.startswith("encoders.")
        for value in vars(module).values()
        if isinstance(value, Dispatcher)
    }
    ship(functions, compiled_sources(), FEATURES)


if __name__ == "__main__":
    main()
