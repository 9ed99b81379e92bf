"""Decision diagrams: rooted graphs of univariate splits whose leaves name backends."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from encoders.errors import InputError
from encoders.text_files import read_text
from selector import vector
from selector.vector import NAMES, VERSION

FORMAT = 2
READABLE = (1, FORMAT)  # in 1 a turn was one backend's
DEFAULT = Path(__file__).parent / "diagrams" / "default.json"
PAPER = Path(__file__).parent / "diagrams" / "paper.json"


@dataclass(frozen=True)
class Split:
    """``value <= threshold`` goes to node ``low``, else to ``high``; both come later."""

    feature: str
    threshold: float
    low: int
    high: int


Turn = tuple[tuple[str, ...], float]
Schedule = tuple[Turn, ...]


def alone(backend: str) -> Schedule:
    """One backend until the end."""
    return (((backend,), math.inf),)


def in_words(schedule: Schedule) -> str:
    """Such as "search for 0.1 s, then search with cp"."""
    return ", then ".join(
        " with ".join(names) + ("" if math.isinf(seconds) else f" for {seconds:g} s")
        for names, seconds in schedule
    )


@dataclass(frozen=True)
class Leaf:
    """Turns that follow each other until one proves.

    Attributes
    ----------
    schedule : (backends, seconds); several of one turn race, or the first runs where there is
        one core; the last turn's seconds are infinite
    purity : share of what the leaf was learned from on which this cost at most 1.25 times the
        least; 1 if unknown
    """

    schedule: Schedule
    purity: float = 1.0

    @property
    def backend(self) -> str:
        """The one that has the last word, the first of them if several race for it."""
        return self.schedule[-1][0][0]


Node = Split | Leaf


@dataclass(frozen=True)
class Step:
    """One split on the way to a decision, and the value that decided it."""

    feature: str
    threshold: float
    value: float

    def __str__(self) -> str:
        sign = "<=" if self.value <= self.threshold else ">"
        value = vector.in_words(self.feature, self.value)
        return f"{self.feature} = {value} {sign} {self.threshold:g}"


@dataclass(frozen=True)
class Decision:
    """A leaf and the way to it."""

    leaf: Leaf
    path: tuple[Step, ...]

    def __str__(self) -> str:
        return "; ".join([*map(str, self.path), in_words(self.leaf.schedule)])


@dataclass(frozen=True)
class Diagram:
    """Nodes in topological order, the root first; several edges may lead to one node.

    Attributes
    ----------
    manifest : how it was made: schema, digest of the logs, versions, metrics, seed
    """

    nodes: tuple[Node, ...]
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.nodes:
            raise InputError("a diagram needs a node.")
        for index, node in enumerate(self.nodes):
            if isinstance(node, Leaf):
                _check_schedule(index, node.schedule)
            elif math.isnan(node.threshold):
                raise InputError(f"node {index} of the diagram has no threshold.")
            elif not index < min(node.low, node.high) <= max(node.low, node.high) < len(self.nodes):
                raise InputError(f"node {index} of the diagram does not lead on to later nodes.")

    def decide(self, values: Mapping[str, float]) -> Decision:
        """Follow the splits.

        Raises
        ------
        InputError
            A descriptor that a split asks for is missing.
        """
        node, path = self.nodes[0], []
        while isinstance(node, Split):
            if node.feature not in values:
                raise InputError(f"the diagram asks for {node.feature}, which is not known here.")
            step = Step(node.feature, node.threshold, float(values[node.feature]))
            path.append(step)
            node = self.nodes[node.low if step.value <= node.threshold else node.high]
        return Decision(node, tuple(path))

    def flow(self, rows: Sequence[Mapping[str, float]]) -> list[float]:
        """Share of rows that pass each node."""
        counts = [0] * len(self.nodes)
        for values in rows:
            index = 0
            while True:
                counts[index] += 1
                node = self.nodes[index]
                if isinstance(node, Leaf):
                    break
                index = node.low if values[node.feature] <= node.threshold else node.high
        return [count / max(len(rows), 1) for count in counts]

    def to_json(self) -> str:
        """One JSON object; equal diagrams give equal text."""
        nodes = []
        for node in self.nodes:
            if isinstance(node, Split):
                nodes.append(asdict(node))
            else:
                schedule = [[list(b), None if math.isinf(s) else s] for b, s in node.schedule]
                nodes.append(asdict(node) | {"schedule": schedule})
        whole = {"format": FORMAT, "schema": VERSION, "nodes": nodes, "manifest": self.manifest}
        return json.dumps(whole, indent=1, sort_keys=True) + "\n"

    @staticmethod
    def from_json(text: str, where: str) -> "Diagram":
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        InputError
            It is no diagram, or one of other descriptors than this version's.
        """
        try:
            whole = json.loads(text)
            if whole["format"] not in READABLE or whole["schema"] != VERSION:
                raise InputError(
                    f"{where} is a diagram of format {whole['format']} and descriptors "
                    f"{whole['schema']}; this version reads formats up to {FORMAT} and "
                    f"descriptors {VERSION}: learn it anew."
                )
            nodes = tuple(_node(entry) for entry in whole["nodes"])
            unknown = [n.feature for n in nodes if isinstance(n, Split) and n.feature not in NAMES]
            if unknown:
                raise InputError(f"{where} splits on {unknown[0]!r}, which is no descriptor.")
            if not isinstance(whole["manifest"], dict):
                raise InputError(f"{where}: the manifest of the diagram must be an object.")
            return Diagram(nodes, whole["manifest"])
        except InputError:
            raise
        except (
            ValueError, KeyError, TypeError, IndexError, OverflowError, AttributeError,
            RecursionError,
        ) as error:  # fmt: skip
            raise InputError(f"{where} is no decision diagram: {error}.") from error


def _check_schedule(index: int, schedule: Schedule) -> None:
    where = f"node {index} of the diagram"
    if not schedule:
        raise InputError(f"{where} names no backend.")
    for number, turn in enumerate(schedule, 1):
        if not (isinstance(turn, tuple) and len(turn) == 2 and isinstance(turn[0], tuple)):
            raise InputError(f"{where}: turn {number} must be (names of backends, seconds).")
        names, seconds = turn
        if not names or len(set(names)) < len(names) or not all(map(_is_name, names)):
            raise InputError(f"{where}: turn {number} must name different backends.")
        last = number == len(schedule)
        if not isinstance(seconds, float) or not (seconds == math.inf if last else seconds > 0):
            what = "have no end (null)" if last else "last some seconds above 0"
            raise InputError(f"{where}: turn {number} must {what}, got {seconds!r}.")
        if not last and math.isinf(seconds):
            raise InputError(f"{where}: turn {number} has no end, so that no other one follows.")


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name)


def _node(entry: dict[str, Any]) -> Node:
    if "schedule" in entry:
        schedule = tuple(
            (_names(names), math.inf if seconds is None else _seconds(seconds))
            for names, seconds in entry["schedule"]
        )
        return Leaf(schedule, float(entry["purity"]))
    threshold = float(entry["threshold"])
    return Split(str(entry["feature"]), threshold, int(entry["low"]), int(entry["high"]))


def _names(entry: str | list[str]) -> tuple[str, ...]:
    return (entry,) if isinstance(entry, str) else tuple(entry)


def _seconds(entry: object) -> float:
    if isinstance(entry, bool) or not isinstance(entry, int | float):
        raise TypeError(f"seconds must be a number or null, not {entry!r}")
    return float(entry)


def load_diagram(path: str | Path) -> Diagram:
    """Read a diagram from a file.

    Raises
    ------
    InputError
        No such file, or see :meth:`Diagram.from_json`.
    """
    return Diagram.from_json(read_text(path, "the diagram"), str(path))


def diagram_of(given: Diagram | str | Path | None) -> Diagram:
    """A diagram as it is, from a file, or (None) the one that is shipped; raises as
    :func:`load_diagram`."""
    if isinstance(given, Diagram):
        return given
    if not (given is None or isinstance(given, str | Path)):
        raise InputError(f"diagram must be a Diagram or a path, got {given!r}.")
    return load_diagram(DEFAULT if given is None else given)


def compact(nodes: list[Node]) -> tuple[Node, ...]:
    """Merge nodes that are the same, and drop those that no edge reaches, from the root 0."""
    order: list[Node] = []
    place: dict[Node, int] = {}

    def keep(index: int) -> int:
        node = nodes[index]
        if isinstance(node, Split):
            low, high = keep(node.low), keep(node.high)
            if low == high:
                return low
            node = Split(node.feature, node.threshold, low, high)
        if node not in place:
            place[node] = len(order)
            order.append(node)
        return place[node]

    root = keep(0)
    # Children were placed first; turned round, they come after their parents.
    last = len(order) - 1
    flipped = [
        Split(n.feature, n.threshold, last - n.low, last - n.high) if isinstance(n, Split) else n
        for n in reversed(order)
    ]
    return tuple(flipped[last - root :])
