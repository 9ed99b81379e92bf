"""Loading of untrusted model files in a child process with limits on memory and time."""

import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from encoders.core import system

ROOM_BYTES = 2 * 2**30  # memory beyond that in use before opening the file, and its size
TIME_S, BYTES_PER_S = 30.0, 2**22
START_S = 60  # seconds for imports on a busy machine
ROWS = 20
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from portfolio.model.probe import main; main(sys.argv[2])"
)


# Results of probe_all that probe has not returned yet, by name and stamp.
_probed: dict[tuple[Any, ...], str] = {}


def probe(path: Path) -> str:
    """Return what is wrong with a model file, in a sentence; "" if it loads and predicts."""
    complaint = _probed.pop(_stamp(path), None)
    return _probe([path])[0] if complaint is None else complaint


def probe_all(paths: Sequence[Path]) -> None:
    """Probe several files in one child process, and store the results for :func:`probe`.

    A child that a file crashes is replaced. Only the first remaining file is blamed for a crash.
    """
    remaining = list(paths)
    while remaining:
        complaints = _probe(remaining)
        for path, complaint in zip(remaining, complaints, strict=False):
            _probed[_stamp(path)] = complaint
        remaining = remaining[len(complaints) :]


def _stamp(path: Path) -> tuple[Any, ...]:
    status = path.stat()
    return str(path), status.st_mtime_ns, status.st_size, status.st_ino


def _probe(paths: Sequence[Path]) -> list[str]:
    """Return complaints about the first of some files, at least one, from one child process."""
    limits_s = [int(TIME_S + path.stat().st_size / BYTES_PER_S) + 1 for path in paths]
    arguments = json.dumps(
        [[str(path), limit_s] for path, limit_s in zip(paths, limits_s, strict=True)]
    )
    done = subprocess.Popen(
        [sys.executable, "-c", START, json.dumps(sys.path), arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    # The child ends with this pipe, which communicate() would close at once.
    alive, done.stdin = done.stdin, None
    assert alive is not None
    try:
        out, _ = done.communicate(timeout=2 * START_S + 2 * sum(limits_s))
        spent = system.spent_limit(done.returncode)
    except subprocess.TimeoutExpired:
        done.kill()
        out, _ = done.communicate()
        spent = "clock"
    except BaseException:  # such as Ctrl-C
        done.kill()
        raise
    finally:
        alive.close()
    complaints: list[str] = [json.loads(line) for line in out.split(b"\n")[:-1]]
    if complaints:
        return complaints
    if spent == "processor":
        words = f"the library that reads it did not finish in {limits_s[0]} s of processor time"
        return [f"{words}. The file is damaged."]
    if spent == "clock":
        return ["the library that reads it did not finish in time. The file is damaged, or this "
                "machine is too busy. Try again."]  # fmt: skip
    return [
        f"the library that reads it crashed (exit code {done.returncode}). The file is damaged."
    ]


def main(arguments: str) -> None:
    """Write the result of :func:`probe` for each file to standard output, one line of JSON each."""
    gc.disable()  # saves a fifth of the time; imports leave no garbage, and the process soon ends
    threading.Thread(target=_end_with_parent, daemon=True).start()
    output = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # libraries print there too
    for name, limit_s in json.loads(arguments):
        # A limit on processor time, as other processes may be busy, and one on the clock for sleep.
        system.limit_time(limit_s, START_S + 2 * limit_s)
        output.write(json.dumps(complaint_about(Path(name))) + "\n")
        output.flush()
    os._exit(0)  # skip cleanup, which could crash after a damaged model


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def complaint_about(path: Path) -> str:
    """Load a model, read it and call predict, within limits; return "" if all succeeds."""
    import numpy as np
    import pandas as pd

    from encoders.core.errors import CounterfolioError
    from encoders.readers.layout import layout_of
    from encoders.readers.outputs import outputs_of
    from encoders.readers.read import read_ensemble
    from encoders.readers.reader import format_of, reader_of
    from portfolio.model.native import wrap_native
    from portfolio.model.open_file import open_model, sentence

    form = format_of(path)
    for library in ("treelite", "sklearn.ensemble" if form is None else form.library):
        with contextlib.suppress(ImportError):
            importlib.import_module(library)  # outside the limit of memory
    pd.Index(["text"])  # pandas allocates memory at its first use of text
    try:
        with system.limited_memory(path.stat().st_size + ROOM_BYTES):
            whole = open_model(path)
            for model in outputs_of(whole) or (whole,):
                ensemble = read_ensemble(model)
                native = wrap_native(model, ensemble.n_classes, ensemble.regression)
                coded = ensemble.sets is not None and ensemble.sets.coded
                if layout_of(model).piped or coded or reader_of(model).has_categories(model):
                    return ""
                random = np.random.default_rng(0)
                shape = ROWS, ensemble.n_columns
                rows = random.normal(size=shape) * np.logspace(-3, 3, ROWS)[:, None]
                if ensemble.regression:
                    native.values(rows, "prediction", 0)
                else:
                    native.predict(rows)
                native.leaves(rows)
    except CounterfolioError as error:
        return str(error)
    except MemoryError:
        return "it needs more memory than any model of its size. The file is damaged."
    except Exception as error:  # libraries raise anything for damaged models
        return sentence(error)
    return ""
