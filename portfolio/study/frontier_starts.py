"""What a program waits for before its first question, and what learning takes."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from encoders.errors import InputError

WARM_UP = "from portfolio.solving.warm_up import warm_up; warm_up()"
LOGS = Path(__file__).parents[2] / "training_logs" / "logs.parquet"


def _spent(arguments: list[str], cache: str | None = None) -> tuple[float, float]:
    """Seconds of wall clock and of CPU that a program takes."""
    environment = os.environ if cache is None else os.environ | {"NUMBA_CACHE_DIR": cache}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    quiet = subprocess.DEVNULL
    program = [sys.executable, *arguments]
    subprocess.run(program, check=True, env=environment, stdout=quiet, stderr=quiet)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _least_cpu(arguments: list[str]) -> dict[str, float]:
    return {"CPU s": min(_spent(arguments)[1] for _ in range(5))}


def imported(folder: Path) -> dict[str, float]:
    """CPU seconds of a program that imports the explainer.

    Parameters
    ----------
    folder : not looked at
    """
    return _least_cpu(["-c", "from counterfolio import Explainer"])


def helped(folder: Path) -> dict[str, float]:
    """CPU seconds of the command line's help.

    Parameters
    ----------
    folder : not looked at
    """
    return _least_cpu(["-m", "counterfolio", "--help"])


def compiled(folder: Path) -> dict[str, float]:
    """CPU seconds that compiling takes, imports not among them.

    Parameters
    ----------
    folder : not looked at
    """
    with tempfile.TemporaryDirectory() as cache:
        first, again = (_spent(["-c", WARM_UP], cache)[1] for _ in range(2))
    return {"CPU s": first - again}


def shown(folder: Path) -> dict[str, float]:
    """Seconds of the demo where nothing has been compiled.

    Parameters
    ----------
    folder : not looked at
    """
    with tempfile.TemporaryDirectory() as cache:
        return {"s": _spent(["-m", "counterfolio", "demo"], cache)[0]}


def trained(folder: Path) -> dict[str, float]:
    """Seconds of ``selector train`` without options.

    Parameters
    ----------
    folder : not looked at
    """
    with tempfile.TemporaryDirectory() as made:
        out = str(Path(made) / "diagram.json")
        return _selector("train", str(LOGS), "--out", out)


def evaluated(folder: Path) -> dict[str, float]:
    """Seconds of ``selector evaluate`` without options.

    Parameters
    ----------
    folder : not looked at
    """
    return _selector("evaluate", str(LOGS))


def _selector(*arguments: str) -> dict[str, float]:
    if not LOGS.exists():
        raise InputError("the shipped logs are in a checkout of the project only.")
    return {"s": _spent(["-m", "counterfolio", "selector", *arguments])[0]}
