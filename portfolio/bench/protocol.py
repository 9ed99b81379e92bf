"""Benchmark protocols, such as the paper's: the set of runs and their order."""

import itertools
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.core.text_files import read_text
from portfolio.bench.asked import ASKED, CHEAPEST
from portfolio.bench.cases import KIND_NAMES
from portfolio.engine.question import MAP, PLAIN
from portfolio.engine.second import check_second
from portfolio.model.fingerprint import fingerprint
from selector import check_name, takes_sessions

KINDS = tuple(KIND_NAMES)
PAPER_KINDS = ("soft", "hard", "xgb")  # kinds of the paper
NORMS = ("0", "1", "2", "inf")
LEAST = {"trees": 1, "queries": 1, "threads": 1}  # least values; others may be 0
SESSION, SECOND = "session-", "second-"  # prefixes of entries, as PLAIN: see Protocol.entries


@dataclass(frozen=True)
class Configuration:
    """Trained model and a distance measure on it.

    Names of runs are digests of the name of this class and its fields in this order.

    Attributes
    ----------
    kind : "soft", "hard", "extra" or "xgb".
    trees, depth : number of trees and maximum depth.
    norm : "0", "1", "2" or "inf".
    plausible : bool, whether answers must be inliers of an isolation forest.
    seed : random seed of the model, the isolation forest, the rows and the solvers.
    question : name of the question, a key of :data:`portfolio.bench.asked.ASKED`.
    """

    dataset: str
    kind: str
    trees: int
    depth: int
    norm: str
    plausible: bool
    seed: int
    question: str = CHEAPEST


@dataclass(frozen=True)
class Protocol:
    """Set of configurations, drawn from all combinations unless ``sample`` is 0.

    Attributes
    ----------
    datasets : names of data sets, empty for all of the folder.
    trees, depths, kinds, norms, plausible, seeds, questions : values to combine. Depth 0 means no
        limit. Questions with other costs ignore the norm.
    cross : bool, whether trees and depths are combined; else one of them varies at a time around
        100 trees of depth 5.
    sample : number of configurations drawn per data set, 0 for all.
    queries : number of rows per configuration.
    entries : solvers of each query. "cp" runs alone after presolve. "plain-cp" is its published
        formulation without presolve. "session-cp" keeps the model and has no presolve. "second-cp"
        is a second opinion without presolve: whether anything costs less than the known answer.
    time_limit_s, threads : limit in seconds and number of threads of each run.
    brief : slowest backends, perhaps with a formulation, with a shorter time limit.
    smt_limit_s : time limit of the backends in ``brief``.
    slow_s : the reduced entries after the first one run only on queries for which the first one
        needs at least this many seconds, 0.0 for all queries.
    """

    datasets: tuple[str, ...] = ()
    trees: tuple[int, ...] = (100,)
    depths: tuple[int, ...] = (5,)
    kinds: tuple[str, ...] = PAPER_KINDS
    norms: tuple[str, ...] = ("1",)
    plausible: tuple[bool, ...] = (False,)
    seeds: tuple[int, ...] = (0,)
    questions: tuple[str, ...] = (CHEAPEST,)
    cross: bool = True
    sample: int = 0
    queries: int = 3
    entries: tuple[str, ...] = ("search", "cp", "milp", "maxsat", "smt")
    time_limit_s: float = 20.0
    smt_limit_s: float = 5.0
    threads: int = 1
    brief: tuple[str, ...] = ("smt",)
    slow_s: float = 0.0

    def limit_s(self, entry: str) -> float:
        """Return the time limit of a run of an entry."""
        name = backend_of(entry)
        brief = name in self.brief or name.partition(":")[0] in self.brief
        return self.smt_limit_s if brief else self.time_limit_s

    @property
    def first_reduced(self) -> str:
        """The first entry that runs alone after presolve, "" if there is none."""
        return next((entry for entry in self.entries if is_reduced(entry)), "")


PAPER = Protocol(
    trees=(10, 20, 50, 100, 200, 500),
    depths=(3, 4, 5, 6, 7, 8),
    norms=("0", "1", "2"),
    plausible=(False, True),
    seeds=(0, 1, 2, 3, 4),
    cross=False,
    queries=50,
    entries=(
        "search", "cp", "milp", "maxsat", "smt", "plain-cp", "plain-milp",
        "session-cp", "session-milp", "session-maxsat",
    ),
    time_limit_s=900.0,
    smt_limit_s=900.0,
    threads=8,
)  # fmt: skip
QUICK = Protocol(
    trees=(10, 30),
    depths=(3, 4),
    norms=("1", "0"),
    queries=2,
    sample=5,
    entries=(
        "search", "cp", "milp", "maxsat", "second-cp", "plain-cp", "session-cp", "session-milp",
    ),
    time_limit_s=5.0,
)  # fmt: skip
SHIPPED = {"paper": PAPER, "quick": QUICK}
# Values of settings with a fixed choice, and what other settings take.
CHOICES = {"kinds": KINDS, "norms": NORMS, "questions": tuple(ASKED)}
WORDS = {str: "text", bool: "true or false", float: "seconds above 0"}


def load_protocol(name: str) -> Protocol:
    """Return a protocol by its name, or from a TOML file."""
    if name in SHIPPED:
        return SHIPPED[name]
    path = Path(name)
    if path.suffix != ".toml":
        hint = close_names(name, SHIPPED)
        raise InputError(
            f"unknown protocol {name!r}.{hint} Use one of {', '.join(SHIPPED)}, or a .toml file."
        )
    text = read_text(path, "the protocol")
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}. Fix the file.") from error
    return _from_fields(path, content)


def _from_fields(path: Path, content: dict[str, Any]) -> Protocol:
    defaults = vars(Protocol())
    for name, value in content.items():
        if name not in defaults:
            hint = close_names(name, defaults) or f" Use one of {', '.join(defaults)}."
            raise InputError(f"{path}: unknown setting {name!r}.{hint}")
        _check_value(path, name, defaults[name], value)
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
    return Protocol(**values)


def _check_value(path: Path, name: str, example: Any, value: Any) -> None:
    several = isinstance(example, tuple)
    if several != isinstance(value, list):
        words = "a list" if several else "one value"
        raise InputError(f"{path}: {name} must be {words}, got {value!r}.")
    examples = (example or ("",)) if several else (example,)
    for item in value if several else (value,):
        _check_item(path, name, type(examples[0]), item)


def _check_item(path: Path, name: str, kind: type, item: Any) -> None:
    least = LEAST.get(name, 0)
    fits = type(item) is kind or (kind is float and type(item) is int)
    if not fits or (kind is int and item < least) or (kind is float and not item > 0):
        words = WORDS.get(kind, f"whole numbers from {least}")
        raise InputError(f"{path}: {name} takes {words}, got {item!r}.")
    if name in CHOICES and item not in CHOICES[name]:
        raise InputError(
            f"{path}: {name} has the unknown value {item!r}. Use one of {', '.join(CHOICES[name])}."
        )
    try:
        if name == "entries":
            _check_entry(item)
        if name == "brief":
            check_name(item)
    except InputError as error:
        raise InputError(f"{path}: {name} has {item!r}: {error}") from error


def backend_of(entry: str) -> str:
    """Return the name of the backend in an entry, without a prefix."""
    for prefix in (PLAIN, SESSION, SECOND):
        entry = entry.removeprefix(prefix)
    return entry


def is_reduced(entry: str) -> bool:
    """Return whether an entry runs alone after presolve."""
    return not entry.startswith((PLAIN, SESSION, SECOND))


def _check_entry(entry: str) -> None:
    """Raise InputError unless an entry is the name of a backend, with or without a prefix."""
    name = backend_of(entry)
    if entry == SESSION + MAP:
        return
    check_second(name) if entry.startswith(SECOND) else check_name(name)
    if entry.startswith(SESSION) and not takes_sessions(name):
        raise InputError(f"{name} does not support sessions.")


def configurations(protocol: Protocol, datasets: Sequence[str]) -> list[Configuration]:
    """Return all configurations in a fixed order, in which data sets alternate."""
    per_set = [list(_of_dataset(protocol, name)) for name in datasets]
    turns = itertools.zip_longest(*per_set)
    return [c for turn in turns for c in turn if c is not None]


def _of_dataset(protocol: Protocol, dataset: str) -> Iterator[Configuration]:
    every = [
        Configuration(dataset, kind, trees, depth, norm, plausible, seed, question)
        for question in protocol.questions
        for seed in protocol.seeds
        for kind in protocol.kinds
        for trees, depth, norm, plausible in _shapes(protocol)
    ]
    if not protocol.sample or protocol.sample >= len(every):
        yield from every
        return
    rng = np.random.default_rng(int(fingerprint(dataset)[:8], 16))
    for index in rng.permutation(len(every))[: protocol.sample].tolist():
        yield every[index]


def _shapes(protocol: Protocol) -> list[tuple[int, int, str, bool]]:
    """Return (trees, depth, norm, plausible): all combinations, or one varied at a time."""
    if protocol.cross:
        combined = itertools.product(
            protocol.trees, protocol.depths, protocol.norms, protocol.plausible
        )
        return list(combined)
    shapes = [(100, depth, "1", False) for depth in protocol.depths]
    shapes += [(trees, 5, "1", False) for trees in protocol.trees]
    shapes += [(100, 5, norm, False) for norm in protocol.norms]
    shapes += [(100, 5, "1", plausible) for plausible in protocol.plausible]
    return list(dict.fromkeys(shapes))


def run_id(protocol: Protocol, configuration: Configuration, row: int, entry: str) -> str:
    """Return the name of a run, which is equal in every process and on every machine."""
    return fingerprint(configuration, row, entry, protocol.limit_s(entry), protocol.threads)


def size(protocol: Protocol, datasets: Sequence[str]) -> tuple[int, int]:
    """Return the number of configurations and an upper bound on the number of runs."""
    count = len(configurations(protocol, datasets))
    return count, count * protocol.queries * len(protocol.entries)
