"""Benchmarks of the time before a first query, and of learning."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from encoders.core.errors import InputError

WARM_UP = "from portfolio.engine.warm_up import warm_up; warm_up()"
INSTALLED = Path(__file__).parents[2]
DEMO = ("-m", "counterfolio", "demo")
LOGS = INSTALLED / "training_logs" / "logs.parquet"
PACKAGES = ("counterfolio", "encoders", "portfolio", "selector")  # packages of a wheel


def _spent(
    arguments: list[str], cache: str | None = None, folder: Path | None = None
) -> tuple[float, float]:
    """Return wall-clock and CPU seconds of a program, with the packages of a folder."""
    if sys.platform == "win32":
        raise InputError("processor times of programs can be measured on POSIX systems only.")
    environment = os.environ if cache is None else os.environ | {"NUMBA_CACHE_DIR": cache}
    if folder is not None:
        environment = environment | {"PYTHONPATH": str(folder)}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    quiet = subprocess.DEVNULL
    program = [sys.executable, *arguments]
    subprocess.run(program, check=True, env=environment, stdout=quiet, stderr=quiet, cwd=folder)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _least_cpu(arguments: list[str]) -> dict[str, float]:
    return {"CPU s": min(_spent(arguments)[1] for _ in range(5))}


def imported(folder: Path) -> dict[str, float]:
    """Measure CPU seconds of a program that imports the explainer."""
    return _least_cpu(["-c", "from counterfolio import Explainer"])


def helped(folder: Path) -> dict[str, float]:
    """Measure CPU seconds of the command line's help."""
    return _least_cpu(["-m", "counterfolio", "--help"])


def compiled(folder: Path) -> dict[str, float]:
    """Measure CPU seconds of compilation, without imports."""
    with tempfile.TemporaryDirectory() as cache:
        first, again = (_spent(["-c", WARM_UP], cache)[1] for _ in range(2))
    return {"CPU s": first - again}


def shown(folder: Path) -> dict[str, float]:
    """Measure seconds of the demo without compiled code."""
    with tempfile.TemporaryDirectory() as cache:
        return {"s": _spent([*DEMO], cache)[0]}


def shipped(folder: Path) -> dict[str, float]:
    """Measure compilation and demo with packages that contain machine code, like a wheel."""
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as cache:
        wheel, unused = Path(made), shutil.ignore_patterns("__pycache__")
        for name in PACKAGES:
            shutil.copytree(INSTALLED / name, wheel / name, ignore=unused)
        _spent(["-B", "-m", "portfolio.engine.ship"], folder=wheel)
        first, again = (_spent(["-c", WARM_UP], cache, wheel)[1] for _ in range(2))
        return {"CPU s": first - again, "demo, s": _spent([*DEMO], cache, wheel)[0]}


def trained(folder: Path) -> dict[str, float]:
    """Measure seconds of ``selector train`` without options."""
    with tempfile.TemporaryDirectory() as made:
        out = str(Path(made) / "diagram.json")
        return _selector("train", str(LOGS), "--out", out)


def evaluated(folder: Path) -> dict[str, float]:
    """Measure seconds of ``selector evaluate`` without options."""
    return _selector("evaluate", str(LOGS))


def _selector(*arguments: str) -> dict[str, float]:
    if not LOGS.exists():
        raise InputError(f"{LOGS} is missing. Run this benchmark in a checkout of the project.")
    return {"s": _spent(["-m", "counterfolio", "selector", *arguments])[0]}
