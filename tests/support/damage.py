"""Model files with bytes cut off, flipped, overwritten or repeated, and what becomes of them.

Run as a script: ``python -m tests.support.damage FOLDER`` reads every file of a folder in a
forked child, as the probe does, and what survives in another one as its user would;
prints one JSON list.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

KINDS = ("cut", "flip", "overwrite", "repeat")
TIME_S = 30


def damaged(rng, content):
    """The content with one piece of damage."""
    kind, data = str(rng.choice(KINDS)), bytearray(content)
    at = int(rng.integers(len(data)))
    length = int(rng.integers(1, 64))
    if kind == "cut":
        return bytes(data[:at])
    if kind == "flip":
        data[at] ^= 1 << int(rng.integers(8))
    elif kind == "overwrite":
        data[at : at + length] = rng.integers(0, 256, length, dtype=np.uint8).tobytes()
    else:
        data[at:at] = data[at : at + length]
    return bytes(data)


def in_a_child(act, path):
    """(what it returned, exit code) of a function that runs in a forked process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(TIME_S)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            words = act(path)
        except BaseException as error:
            words = f"TRACEBACK {type(error).__name__}: {error}"
        os.write(writer, words.encode(errors="replace")[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        words = pipe.read().decode(errors="replace")
    return words, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def used(path):
    """What a user is told: a sentence, or that the model was explained."""
    from encoders.core.errors import CounterfolioError
    from portfolio import Explainer
    from portfolio.model.open_file import open_model

    X = np.load(path.parent.parent / "X.npy")
    try:
        model = open_model(path)
        explainer = Explainer(model, X)
        result = explainer.explain(X[0], threads=1, time_limit_s=5)
        if result.counterfactual is None:
            return f"explained {result.status}"
        assert explainer.predict(result.counterfactual) == result.target
        return f"explained {result.status}"
    except CounterfolioError as error:
        return f"refused: {error}"


def main(folder):
    import sklearn.ensemble  # noqa: F401
    import treelite  # noqa: F401
    import xgboost  # noqa: F401

    from portfolio.model.probe import complaint_about

    found = []
    for path in sorted(Path(folder).iterdir()):
        began = time.perf_counter()
        words, code = in_a_child(complaint_about, path)
        end = ("", 0)
        if code == 0 and not words:
            end = in_a_child(used, path)
        found.append([path.name, words, code, *end, time.perf_counter() - began])
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
