"""``counterfolio-check``: records and a model from their files."""

import argparse
import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import portfolio.checker
from portfolio.checker.check import MOST_BYTES, check
from portfolio.checker.trees import READERS, RejectedError

# What strangers' records may raise.
MALFORMED = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError),
    *(ValueError, zlib.error),
)


def load(path: Path, kind: str, trusted: bool) -> Any:
    """A model from its file, by its own library.

    Parameters
    ----------
    path : of the model
    kind : its type, as the record tells it
    trusted : whether a pickle may be loaded
    """
    if path.suffix in (".json", ".ubj"):
        import xgboost

        model = getattr(xgboost, kind if kind in READERS and "XGB" in kind else "XGBClassifier")()
        model.load_model(path)
        return model
    if path.suffix == ".skops":
        from skops.io import get_untrusted_types
        from skops.io import load as read_skops

        return read_skops(path, trusted=get_untrusted_types(file=path) if trusted else [])
    if not trusted:
        raise RejectedError(
            f"{path} is a pickle, which can run any code; say --trust-pickle to load it"
        )
    import joblib

    return joblib.load(path)


def verdicts(records: Path, path: Path, trusted: bool) -> Iterator[tuple[bool, str]]:
    """Of each record of a file whether it holds, and a line about it.

    Parameters
    ----------
    records : path of the records
    path : of the model
    trusted : whether a pickle may be loaded
    """
    model = None
    opened = gzip.open if records.suffix == ".gz" else open
    with opened(records, "rb") as file:
        for line in iter(lambda: file.readline(MOST_BYTES), b""):
            try:
                record = json.loads(line)
                record = record.get("record", record)  # of an answer of a batch
                if model is None:
                    model = load(path, record["model"]["type"], trusted)
                yield True, check(record, model)
            except RejectedError as error:
                yield False, f"not verified: {error}"
            except MALFORMED as error:
                what = f"{type(error).__name__}: {error}"
                yield False, f"not verified: this is no record that can be read ({what})"


def main() -> int:
    """Check the records of a file, one a line or one in all; 0 if all of them hold."""
    parser = argparse.ArgumentParser("counterfolio-check", description=portfolio.checker.__doc__)
    parser.add_argument("records", type=Path, help=".json, .jsonl, or either with .gz")
    parser.add_argument("--model", type=Path, required=True, help=".json, .ubj, .skops, a pickle")
    parser.add_argument("--trust-pickle", action="store_true", help="load files that can run code")
    given, wrong, number = parser.parse_args(), 0, 0
    try:
        for holds, said in verdicts(given.records, given.model, given.trust_pickle):
            number, wrong = number + 1, wrong + (not holds)
            sys.stdout.write(f"{number}: {said}\n")
    except (OSError, EOFError, ImportError, zlib.error) as error:
        sys.stderr.write(f"counterfolio-check: {error}\n")
        return 2
    if number == 0:
        sys.stderr.write(f"counterfolio-check: {given.records} holds no record\n")
    return 1 if wrong or number == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
