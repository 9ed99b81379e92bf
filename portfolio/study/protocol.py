"""The paper's benchmark protocol and others like it: which runs, in which order, only once."""

import itertools
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from encoders.errors import InputError
from encoders.text_files import read_text
from portfolio.data.trained_models import Trainable
from portfolio.fingerprint import fingerprint
from portfolio.question import MAP, PLAIN
from portfolio.solving.second import check_second
from portfolio.study.asked import ASKED, CHEAPEST
from selector import check_name, takes_sessions

KIND_NAMES: dict[str, Trainable] = {"soft": "forest", "hard": "hard-forest", "xgb": "xgboost"}
KINDS = tuple(KIND_NAMES)
NORMS = ("0", "1", "2", "inf")
LEAST = {"trees": 1, "queries": 1, "threads": 1}  # others from 0
SESSION, SECOND = "session-", "second-"  # prefixes of entries, as PLAIN: see Protocol.entries


@dataclass(frozen=True)
class Configuration:
    """One trained model and one way to measure distance on it.

    Names of runs are digests that feed the name of this class and its fields in this order.

    Attributes
    ----------
    kind : "soft", "hard" or "xgb"
    trees, depth : as in training; the depth is the largest
    norm : "0", "1", "2" or "inf"
    plausible : answers must be inliers of an isolation forest
    seed : of the model, the forest, the rows drawn and the solvers
    question : what is asked, of :data:`portfolio.study.asked.ASKED`
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
    """A set of configurations, drawn from all combinations unless ``sample`` is 0.

    Attributes
    ----------
    datasets : names, empty for all of the folder
    trees, depths, kinds, norms, plausible, seeds, questions : what is combined; depth 0 is none,
        the norm counts for nothing where a question has costs of its own
    cross : combine trees with depths; False: vary one at a time around 100 trees of depth 5
    sample : configurations drawn per data set, 0 for all
    queries : rows asked per configuration
    entries : what answers each query: a backend (solo, reduced), "plain-cp" (its published
        formulation, unreduced), "session-cp" (unreduced, with the model kept), "second-cp" (a
        second opinion: unreduced, and only whether anything costs less than what others found)
    time_limit_s, threads : of each run
    brief : backends that prove least and take longest
    smt_limit_s : time limit of those
    """

    datasets: tuple[str, ...] = ()
    trees: tuple[int, ...] = (100,)
    depths: tuple[int, ...] = (5,)
    kinds: tuple[str, ...] = KINDS
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

    def limit_s(self, entry: str) -> float:
        """Seconds for a run of an entry."""
        asked = backend_of(entry).partition(":")[0]
        return self.smt_limit_s if asked in self.brief else self.time_limit_s


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
        "search",
        "cp",
        "milp",
        "maxsat",
        "second-cp",
        "plain-cp",
        "session-cp",
        "session-milp",
    ),
    time_limit_s=5.0,
)


def load_protocol(name: str) -> Protocol:
    """A protocol by its name, or from a file."""
    if name in ("paper", "quick"):
        return PAPER if name == "paper" else QUICK
    path = Path(name)
    if path.suffix != ".toml":
        raise InputError(f"there is no protocol {name!r}; known are paper, quick, or a .toml file.")
    text = read_text(path, "the protocol")
    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is no TOML: {error}.") from error
    return _from_fields(path, given)


def _from_fields(path: Path, given: dict[str, Any]) -> Protocol:
    known = {own.name: getattr(Protocol(), own.name) for own in fields(Protocol)}
    for name, value in given.items():
        if name not in known:
            raise InputError(f"{path}: there is no setting {name!r}; known are {', '.join(known)}.")
        _check_value(path, name, known[name], value)
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    for name, allowed in (("kinds", KINDS), ("norms", NORMS), ("questions", tuple(ASKED))):
        wrong = [v for v in values.get(name, ()) if v not in allowed]
        if wrong:
            raise InputError(f"{path}: {name} has {wrong[0]!r}; known are {', '.join(allowed)}.")
    try:
        return replace(Protocol(), **values)
    except TypeError as error:
        raise InputError(f"{path}: {error}.") from error


def _check_value(path: Path, name: str, example: Any, value: Any) -> None:
    if isinstance(example, tuple) != isinstance(value, list):
        words = "a list" if isinstance(example, tuple) else "one value"
        raise InputError(f"{path}: {name} must be {words}, got {value!r}.")
    kind = type(example[0]) if isinstance(example, tuple) and example else type(example)
    kind = str if kind is tuple else kind
    least = LEAST.get(name, 0 if kind is int else None)
    for item in value if isinstance(value, list) else [value]:
        fits = type(item) is kind or (kind is float and type(item) is int)
        if not fits or (least is not None and item < least) or (kind is float and not item > 0):
            words = {str: "text", bool: "true or false", float: "seconds above 0"}.get(
                kind, f"whole numbers from {least}"
            )
            raise InputError(f"{path}: {name} takes {words}, got {item!r}.")
        if name == "entries":
            _check_entry(path, item)
        if name == "brief":
            _check_backend(path, item)


def backend_of(entry: str) -> str:
    """The name in an entry, without a prefix."""
    for prefix in (PLAIN, SESSION, SECOND):
        entry = entry.removeprefix(prefix)
    return entry


def _check_backend(path: Path, name: str) -> None:
    try:
        check_name(name)
    except InputError as error:
        raise InputError(f"{path}: brief has {name!r}: {error}") from error


def _check_entry(path: Path, entry: str) -> None:
    """A backend's name, with a prefix or not."""
    name = backend_of(entry)
    if entry == SESSION + MAP:
        return
    try:
        check_second(name) if entry.startswith(SECOND) else check_name(name)
    except InputError as error:
        raise InputError(f"{path}: entries has {entry!r}: {error}") from error
    if entry.startswith(SESSION) and not takes_sessions(name):
        raise InputError(f"{path}: entries has {entry!r}, but {name} takes no sessions.")


def configurations(protocol: Protocol, datasets: Sequence[str]) -> list[Configuration]:
    """All configurations, the same in every call; data sets take turns."""
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
    """Trees, depth, norm and plausibility: all combinations, or one varied at a time."""
    if protocol.cross:
        combined = itertools.product(
            protocol.trees, protocol.depths, protocol.norms, protocol.plausible
        )
        return list(combined)
    found = [(100, depth, "1", False) for depth in protocol.depths]
    found += [(trees, 5, "1", False) for trees in protocol.trees]
    found += [(100, 5, norm, False) for norm in protocol.norms]
    found += [(100, 5, "1", plausible) for plausible in protocol.plausible]
    return list(dict.fromkeys(found))


def run_id(protocol: Protocol, configuration: Configuration, row: int, entry: str) -> str:
    """The name of one run, the same whenever and wherever it is made."""
    return fingerprint(configuration, row, entry, protocol.limit_s(entry), protocol.threads)


def size(protocol: Protocol, datasets: Sequence[str]) -> tuple[int, int]:
    """Configurations, and the most runs that they can need."""
    count = len(configurations(protocol, datasets))
    return count, count * protocol.queries * len(protocol.entries)
