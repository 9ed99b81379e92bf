"""Decision diagrams: rooted graphs of univariate splits whose leaves name backends.

They are those of figure 1 of the paper, with schedules for single backends in their leaves.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from encoders.errors import InputError
from encoders.text_files import FAULTS, fault_of, read_text
from selector import words
from selector.case import NAMES, VERSION
from selector.descriptors import RENAMED
from selector.diagram_places import PAPER, SHIPPED, default_place, digest_of
from selector.nodes import Leaf, Node, Split
from selector.schedule import (
    Schedule,
    Turn,
    alone,
    check_schedule,
    schedule_from_json,
    schedule_to_json,
)

__all__ = [
    "DEFAULT", "PAPER", "Decision", "Diagram", "Leaf", "Node", "PassedSplit", "Schedule", "Split",
    "Turn", "alone", "compact", "diagram_of", "load_diagram",
]  # fmt: skip

FORMAT = 2
READABLE = (1, FORMAT)  # in 1 a turn was one backend's
# In 1 three descriptors had the names of ``selector.descriptors.RENAMED``.
READABLE_DESCRIPTORS = (1, VERSION)
DEFAULT = SHIPPED


@dataclass(frozen=True)
class PassedSplit:
    """One split on the way to a decision, and the value that decided it.

    As text it is in users' words, such as "norm is 1".
    """

    feature: str
    threshold: float
    value: float

    def __str__(self) -> str:
        return words.condition(self.feature, self.threshold, self.value)


@dataclass(frozen=True)
class Decision:
    """A leaf and the way to it, from the root on.

    As text it is in users' words, such as "norm is 1; search alone for 0.1 s, then search and
    MILP race".
    """

    leaf: Leaf
    path: tuple[PassedSplit, ...]

    def __str__(self) -> str:
        return "; ".join([*map(str, self.path), words.schedule(self.leaf.schedule)])


@dataclass(frozen=True)
class Diagram:
    """Nodes in topological order, the root first; several edges may lead to one node.

    Frozen: any number of threads may ask one.

    Attributes
    ----------
    nodes : splits and leaves
    manifest : how it was made, plain values that JSON can hold: digest of the logs, versions,
        metrics, shares of flow and what else :func:`selector.learning.train.manifest` tells

    Raises
    ------
    InputError
        There is no node, an edge does not lead on to a later one, or a leaf's schedule can't be
        run.
    """

    nodes: tuple[Node, ...]
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.nodes:
            raise InputError("a diagram needs a node.")
        for index, node in enumerate(self.nodes):
            if isinstance(node, Leaf):
                check_schedule(f"node {index} of the diagram", node.schedule)
            elif math.isnan(node.threshold):
                raise InputError(f"node {index} of the diagram has no threshold.")
            elif not index < min(node.low, node.high) <= max(node.low, node.high) < len(self.nodes):
                raise InputError(f"node {index} of the diagram does not lead on to later nodes.")

    def decide(self, values: Mapping[str, float]) -> Decision:
        """Follow the splits.

        Parameters
        ----------
        values : descriptors by name, such as :meth:`selector.case.Case.values` gives

        Raises
        ------
        InputError
            A descriptor that a split asks for is missing.
        """
        node, path = self.nodes[0], []
        while isinstance(node, Split):
            if node.feature not in values:
                raise InputError(f"the diagram asks for {node.feature}, which is not known here.")
            value = float(values[node.feature])
            path.append(PassedSplit(node.feature, node.threshold, value))
            node = self.nodes[node.low if value <= node.threshold else node.high]
        return Decision(node, tuple(path))

    @property
    def digest(self) -> str:
        """Of the nodes and the manifest; the same in every process."""
        return digest_of(self.to_json().encode())

    def flow(self, rows: Sequence[Mapping[str, float]]) -> list[float]:
        """Share of rows, from 0 to 1, that pass each node.

        Parameters
        ----------
        rows : descriptors by name, one mapping per row
        """
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

    def _repr_html_(self) -> str:
        """What a notebook shows: the picture, with the shares of flow if they are known."""
        from selector.drawing import as_svg, flow_of

        return as_svg(self, flow_of(self))

    def to_json(self) -> str:
        """One JSON object; equal diagrams give equal text."""
        nodes = []
        for node in self.nodes:
            if isinstance(node, Split):
                nodes.append(asdict(node))
            else:
                nodes.append(asdict(node) | {"schedule": schedule_to_json(node.schedule)})
        whole = {"format": FORMAT, "schema": VERSION, "nodes": nodes, "manifest": self.manifest}
        return json.dumps(whole, indent=1, sort_keys=True) + "\n"

    @staticmethod
    def from_json(text: str, where: str) -> "Diagram":
        """Read what :meth:`to_json` wrote, in this version or an earlier one.

        Descriptors that had another name in an earlier version get their name of today.

        Parameters
        ----------
        text : JSON
        where : what the text is called in errors, such as its file

        Raises
        ------
        InputError
            It is no diagram, or one of other descriptors than this version's.
        """
        try:
            whole = json.loads(text)
            if whole["format"] not in READABLE or whole["schema"] not in READABLE_DESCRIPTORS:
                raise InputError(
                    f"{where} is a diagram of format {whole['format']} and descriptors "
                    f"{whole['schema']}; this version reads formats up to {FORMAT} and "
                    f"descriptors up to {VERSION}: learn it anew."
                )
            renamed = RENAMED if whole["schema"] == 1 else {}
            nodes = tuple(_node(entry, renamed) for entry in whole["nodes"])
            unknown = [n.feature for n in nodes if isinstance(n, Split) and n.feature not in NAMES]
            if unknown:
                raise InputError(f"{where} splits on {unknown[0]!r}, which is no descriptor.")
            if not isinstance(whole["manifest"], dict):
                raise InputError(f"{where}: the manifest of the diagram must be an object.")
            return Diagram(nodes, whole["manifest"])
        except InputError:
            raise
        except FAULTS as error:
            fault = fault_of(error)
            raise InputError(f"{where} is no decision diagram: {fault}.") from error


def _node(entry: dict[str, Any], renamed: Mapping[str, str]) -> Node:
    if "schedule" in entry:
        return Leaf(schedule_from_json(entry["schedule"]), float(entry["purity"]))
    name, threshold = str(entry["feature"]), float(entry["threshold"])
    return Split(renamed.get(name, name), threshold, int(entry["low"]), int(entry["high"]))


def load_diagram(path: str | Path) -> Diagram:
    """Read a diagram from a file.

    Parameters
    ----------
    path : of a JSON file

    Raises
    ------
    InputError
        No such file, or see :meth:`Diagram.from_json`.
    """
    return Diagram.from_json(read_text(path, "the diagram"), str(path))


def diagram_of(source: Diagram | str | Path | None) -> Diagram:
    """A diagram as it is, from a file, or (None) the default one.

    The default is the diagram that the user promoted, or else the one that is shipped; see
    :func:`selector.diagram_places.default_place`.

    Parameters
    ----------
    source : a diagram, the path of a JSON file, or None

    Raises
    ------
    InputError
        As :func:`load_diagram`.
    """
    if isinstance(source, Diagram):
        return source
    if not (source is None or isinstance(source, str | Path)):
        raise InputError(f"diagram must be a Diagram or a path, got {source!r}.")
    if source is not None:
        return load_diagram(source)
    place = default_place()
    try:
        return load_diagram(place)
    except InputError as error:
        if place == SHIPPED:
            raise
        raise InputError(
            f"{str(error).rstrip('.')}; delete {place}, the diagram that was promoted, to go back "
            "to the one that is shipped."
        ) from error


def compact(nodes: list[Node]) -> tuple[Node, ...]:
    """Merge nodes that are the same, and drop those that no edge reaches.

    Parameters
    ----------
    nodes : in topological order, the root first

    Returns
    -------
    the same diagram, in topological order
    """
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
