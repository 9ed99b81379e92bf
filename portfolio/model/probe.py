"""A child process in which a model file may do its worst before it is opened here."""

import contextlib
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOM_BYTES = 2 * 2**30  # beyond what is in use before the file is opened, and its size
TIME_S, BYTES_PER_S = 30.0, 2**22
ROWS = 20
LIBRARIES = {
    ".json": ("xgboost",),
    ".ubj": ("xgboost",),
    ".txt": ("lightgbm",),
    ".cbm": ("catboost",),
}
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from portfolio.model.probe import main; main(sys.argv[2], int(sys.argv[3]))"
)


def probe(path: Path) -> str:
    """What is wrong with a model file, in a sentence; "" if it loads, is read, and predicts.

    Parameters
    ----------
    path : of a file that is there, with an ending that is known
    """
    limit_s = TIME_S + path.stat().st_size / BYTES_PER_S
    try:
        done = subprocess.run(
            [sys.executable, "-c", START, json.dumps(sys.path), str(path), str(int(limit_s) + 1)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=2 * limit_s,
        )
    except subprocess.TimeoutExpired:
        return f"the library that reads it did not end within {limit_s:.0f} s; it is damaged."
    if done.returncode == -signal.SIGALRM:
        return f"the library that reads it did not end within {limit_s:.0f} s; it is damaged."
    if done.returncode:
        return f"the library that reads it crashed (exit code {done.returncode}); it is damaged."
    complaint: str = json.loads(done.stdout)
    return complaint


def main(path: str, limit_s: int) -> None:
    """Tell on standard output, as JSON, what :func:`probe` returns.

    Parameters
    ----------
    path : of the file
    limit_s : whole seconds until this process is ended
    """
    told = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # libraries print there as well
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(limit_s)  # in C: no library holds it up, and no parent has to be alive
    told.write(json.dumps(complaint_about(Path(path))))
    told.flush()
    os._exit(0)  # what a damaged model leaves behind is not to be torn down


def complaint_about(path: Path) -> str:
    """Load, read and ask for predictions, within limits; "" if all went well.

    Parameters
    ----------
    path : of the file
    """
    import numpy as np
    import pandas as pd

    from encoders.errors import CounterfolioError
    from encoders.trees.read import read_ensemble
    from portfolio.model.native import wrap_native
    from portfolio.model.open_file import is_catboost_json, open_model, sentence
    from portfolio.model.pipeline import is_pipeline, last_step

    libraries = LIBRARIES.get(path.suffix.lower(), ("sklearn.ensemble",))
    if is_catboost_json(path):
        libraries = ("catboost",)
    for library in ("treelite", *libraries):
        with contextlib.suppress(ImportError):
            importlib.import_module(library)  # what the library itself takes is no matter of files
    pd.Index(["text"])  # nor what text of pandas reserves at its first use
    _limit_memory(path.stat().st_size)
    try:
        model = open_model(path)
        ensemble = read_ensemble(last_step(model) if is_pipeline(model) else model)
        native = wrap_native(model, ensemble.n_classes, ensemble.regression)
        coded = ensemble.sets is not None and ensemble.sets.coded
        if is_pipeline(model) or coded or _has_categories(model):
            return ""
        random = np.random.default_rng(0)
        rows = random.normal(size=(ROWS, ensemble.n_columns)) * np.logspace(-3, 3, ROWS)[:, None]
        if ensemble.regression:
            native.values(rows, "prediction", 0)
        else:
            native.predict(rows)
        native.leaves(rows)
    except CounterfolioError as error:
        return str(error)
    except MemoryError:
        return "it needs more memory than any model of its size; it is damaged."
    except Exception as error:  # whatever a damaged model makes its library raise
        return sentence(error)
    return ""


def _has_categories(model: Any) -> bool:
    """Whether some column has categories, be it split or not: such rows are not known here."""
    import numpy as np

    of_sklearn = getattr(model, "is_categorical_", None)
    of_lightgbm = getattr(getattr(model, "booster_", model), "pandas_categorical", None)
    of_xgboost = "c" in (getattr(model, "feature_types", None) or ())
    return bool(of_lightgbm or of_xgboost or (of_sklearn is not None and np.any(of_sklearn)))


def _limit_memory(size: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + size + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
