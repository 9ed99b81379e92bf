"""Loading of untrusted model files in a child process with limits on memory and time."""

import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
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


# Results of `probing` that `probe` has not returned yet, by stamp.
_probed: dict[tuple[Any, ...], str] = {}


def probe(path: Path) -> str:
    """Return what is wrong with a model file, in a sentence; "" if it loads and predicts."""
    stamp = _stamp(path)
    if stamp not in _probed:
        with probing([path]):
            pass
    return _probed.pop(stamp, "it has changed while it was read. Try again.")


@contextlib.contextmanager
def probing(paths: Sequence[Path]) -> Iterator[None]:
    """Probe files in a child process while the block runs, and store results for :func:`probe`.

    A file that this user has probed on this machine before is not probed again. A child that a file
    crashes is replaced. Only the first remaining file is blamed for a crash.
    """
    from portfolio.model.checked_files import add_record, record_of

    # In this order: if a file changes between the two, its new content gets no record.
    stamps = {path: _stamp(path) for path in paths}
    records = {path: record_of(path) for path in paths}
    remaining = []
    for path, record in records.items():
        if record is not None and record.exists():
            _probed[stamps[path]] = ""
        else:
            remaining.append(path)
    with contextlib.ExitStack() as children:
        child = children.enter_context(_Child(remaining)) if remaining else None
        yield
        while child is not None:
            complaints = child.complaints()
            for path, complaint in zip(remaining, complaints, strict=False):
                _probed[stamps[path]] = complaint
                record = records[path]
                if not complaint and record is not None and _stamp(path) == stamps[path]:
                    add_record(record)
            remaining = remaining[len(complaints) :]
            child = children.enter_context(_Child(remaining)) if remaining else None


def _stamp(path: Path) -> tuple[Any, ...]:
    """Return a value that changes with the content of a file; users cannot set its ctime."""
    status = path.stat()
    return str(path), status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino


class _Child:
    """Child process that probes files; leaving the context ends it."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._limits_s = [int(TIME_S + path.stat().st_size / BYTES_PER_S) + 1 for path in paths]
        arguments = json.dumps(
            [[str(path), limit_s] for path, limit_s in zip(paths, self._limits_s, strict=True)]
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, json.dumps(sys.path), arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        # The child ends with this pipe, which communicate() would close at once.
        assert self._process.stdin is not None
        self._alive, self._process.stdin = self._process.stdin, None

    def __enter__(self) -> "_Child":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._alive.close()

    def complaints(self) -> list[str]:
        """Return complaints about the first of the files, at least one."""
        process, limits_s = self._process, self._limits_s
        try:
            out, _ = process.communicate(timeout=2 * START_S + 2 * sum(limits_s))
            spent = system.spent_limit(process.returncode)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            spent = "clock"
        complaints: list[str] = [json.loads(line) for line in out.split(b"\n")[:-1]]
        if complaints:
            return complaints
        if spent == "processor":
            words = f"the library that reads it did not finish in {limits_s[0]} s of processor time"
            return [f"{words}. The file is damaged."]
        if spent == "clock":
            return [
                "the library that reads it did not finish in time. The file is damaged, or this "
                "machine is too busy. Try again."
            ]
        words = f"the library that reads it crashed (exit code {process.returncode})"
        return [f"{words}. The file is damaged."]


def main(arguments: str) -> None:
    """Write what is wrong with each file to standard output, one line of JSON each."""
    gc.disable()  # saves a fifth of the time; imports leave no garbage, and the process soon ends
    threading.Thread(target=_end_with_parent, daemon=True).start()
    output = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # libraries print there too
    files = json.loads(arguments)
    for name, limit_s in files:
        # A limit on processor time, as other processes may be busy, and one on the clock for sleep.
        system.limit_time(limit_s, START_S + 2 * limit_s)
        output.write(json.dumps(complaint_about(Path(name), len(files) == 1)) + "\n")
        output.flush()
    os._exit(0)  # skip cleanup, which could crash after a damaged model


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


@contextlib.contextmanager
def _hidden(modules: Sequence[str]) -> Iterator[None]:
    """Let imports of modules that are not imported yet fail in the block."""
    imported: dict[str, Any] = sys.modules  # None stands for a module that cannot be imported
    hidden = [name for name in modules if name not in imported]
    imported |= dict.fromkeys(hidden)
    try:
        yield
    finally:
        for name in hidden:
            del imported[name]


def complaint_about(path: Path, alone: bool = False) -> str:
    """Load a model, read it and call predict, within limits; return "" if all succeeds.

    ``alone`` says that this process reads no other file, which might need all modules.
    """
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
    library, optional = ("sklearn.ensemble", ()) if form is None else (form.library, form.optional)
    for module in ("treelite", library):
        with contextlib.suppress(ImportError), _hidden(optional if alone else ()):
            importlib.import_module(module)  # outside the limit of memory
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
