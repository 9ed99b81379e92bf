"""Decision diagrams: rooted graphs of univariate splits with a backend schedule in each leaf.

Figure 1 of the paper shows one; its leaves hold single backends instead of schedules.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.core.text_files import FAULTS, fault_of, read_text
from selector import words
from selector.descriptors import NAMES, VERSION
from selector.diagram_places import PAPER, SHIPPED, default_place, digest_of
from selector.schedule import (
    Leaf,
    Node,
    Schedule,
    Split,
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
DEFAULT = SHIPPED


@dataclass(frozen=True)
class PassedSplit:
    """A split on the path to a decision, with the value that was compared.

    Its text form is readable, such as "norm is 1".

    Attributes
    ----------
    feature : str
        Name of the descriptor, one of :data:`selector.descriptors.NAMES`.
    threshold : float
        Threshold in the unit of the descriptor.
    value : float
        Value of the descriptor.

    Examples
    --------
    >>> from selector.diagram import PassedSplit
    >>> print(PassedSplit("trees", threshold=50, value=8))
    trees: 8 (at most 50)
    """

    feature: str
    threshold: float
    value: float

    def __str__(self) -> str:
        return words.condition(self.feature, self.threshold, self.value)


@dataclass(frozen=True)
class Decision:
    """A leaf and the path that led to it.

    Its text form is readable, such as "norm is 1; search alone for 0.1 s, then search and
    MILP race".

    Attributes
    ----------
    leaf : Leaf
        Leaf that was reached.
    path : tuple of PassedSplit
        Splits from the root to the leaf.

    Examples
    --------
    >>> from selector.diagram import Diagram, Leaf, Split, alone
    >>> nodes = (Split("trees", 50, 1, 2), Leaf(alone("search")), Leaf(alone("milp")))
    >>> decision = Diagram(nodes).decide({"trees": 400})
    >>> print(decision)
    trees: 400 (more than 50); MILP
    >>> decision.leaf.schedule
    ((('milp',), inf),)
    """

    leaf: Leaf
    path: tuple[PassedSplit, ...]

    def __str__(self) -> str:
        return "; ".join([*map(str, self.path), words.schedule(self.leaf.schedule)])


@dataclass(frozen=True)
class Diagram:
    """A decision diagram that maps the descriptors of a query to a schedule of backends.

    Several edges may lead to the same node. Diagrams are immutable, so threads can share one.

    Attributes
    ----------
    nodes : tuple of Split or Leaf
        Nodes in topological order, the root first.
    manifest : mapping
        Provenance as plain JSON values: digest of the logs, versions, metrics, shares of flow and
        the other entries of :func:`selector.learning.train.manifest`.

    Raises
    ------
    InputError
        If nodes are missing, an edge does not lead to a later node, or a leaf has an invalid
        schedule.

    Examples
    --------
    >>> from counterfolio import Diagram
    >>> text = explainer.diagram.to_json()
    >>> Diagram.from_json(text, "my diagram") == explainer.diagram
    True
    """

    nodes: tuple[Node, ...]
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.nodes:
            raise InputError("The diagram has no nodes; give it at least one leaf.")
        for index, node in enumerate(self.nodes):
            if isinstance(node, Leaf):
                check_schedule(f"Node {index} of the diagram", node.schedule)
            elif math.isnan(node.threshold):
                raise InputError(
                    f"Node {index} of the diagram has the threshold nan; set it to a number."
                )
            elif not index < min(node.low, node.high) <= max(node.low, node.high) < len(self.nodes):
                raise InputError(
                    f"Node {index} of the diagram leads to nodes {node.low} and {node.high}; use "
                    f"numbers from {index + 1} to {len(self.nodes) - 1}."
                )

    def decide(self, values: Mapping[str, float]) -> Decision:
        """Follow the splits from the root to a leaf.

        Parameters
        ----------
        values : mapping of str to float
            Descriptors by name, as returned by :meth:`selector.descriptors.Case.values`.

        Returns
        -------
        Decision
            The leaf and the path to it.

        Raises
        ------
        InputError
            If ``values`` lacks the descriptor of a split.

        Examples
        --------
        >>> from selector.diagram import Diagram, Leaf, Split, alone
        >>> nodes = (Split("trees", 50, 1, 2), Leaf(alone("search")), Leaf(alone("milp")))
        >>> print(Diagram(nodes).decide({"trees": 8}))
        trees: 8 (at most 50); search
        """
        node, path = self.nodes[0], []
        while isinstance(node, Split):
            if node.feature not in values:
                raise InputError(
                    f"The descriptor {node.feature!r}, on which the diagram splits, is missing; "
                    "add it to the values."
                )
            value = float(values[node.feature])
            path.append(PassedSplit(node.feature, node.threshold, value))
            node = self.nodes[node.low if value <= node.threshold else node.high]
        return Decision(node, tuple(path))

    @property
    def digest(self) -> str:
        """Digest of the nodes and the manifest, 12 hexadecimal digits."""
        return digest_of(self.to_json().encode())

    def flow(self, rows: Sequence[Mapping[str, float]]) -> list[float]:
        """Return the share of rows that pass each node.

        Parameters
        ----------
        rows : sequence of mappings of str to float
            Descriptors by name, one mapping per row.

        Returns
        -------
        list of float
            Shares from 0 to 1, one per node.

        Examples
        --------
        >>> from selector.diagram import Diagram, Leaf, Split, alone
        >>> nodes = (Split("trees", 50, 1, 2), Leaf(alone("search")), Leaf(alone("milp")))
        >>> Diagram(nodes).flow([{"trees": 8}, {"trees": 20}, {"trees": 40}, {"trees": 400}])
        [1.0, 0.75, 0.25]
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
        """Return the SVG picture for notebooks, with the shares of flow if they are known."""
        from selector.drawing import as_svg, flow_of

        return as_svg(self, flow_of(self))

    def to_json(self) -> str:
        """Return the diagram as a JSON object; equal diagrams give equal text.

        Returns
        -------
        str
            JSON that :meth:`from_json` reads.

        Examples
        --------
        >>> import json
        >>> from selector.diagram import Diagram, Leaf, alone
        >>> json.loads(Diagram((Leaf(alone("search")),)).to_json())["nodes"][0]["schedule"]
        [[['search'], None]]
        """
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
        """Read a diagram from the JSON that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            JSON of the diagram.
        where : str
            Name of the text in error messages, such as the path of its file.

        Returns
        -------
        Diagram
            The diagram.

        Raises
        ------
        InputError
            If the text is not a diagram, or splits on descriptors that this version does not have.

        Examples
        --------
        >>> from counterfolio import Diagram
        >>> text = explainer.diagram.to_json()
        >>> Diagram.from_json(text, "my diagram").digest == explainer.diagram.digest
        True
        """
        try:
            whole = json.loads(text)
            if (whole["format"], whole["schema"]) != (FORMAT, VERSION):
                raise InputError(
                    f"{where} is a diagram of format {whole['format']} and descriptors "
                    f"{whole['schema']}; this version reads format {FORMAT} and descriptors "
                    f"{VERSION} only. Train the diagram again."
                )
            nodes = tuple(_node(entry) for entry in whole["nodes"])
            unknown = [n.feature for n in nodes if isinstance(n, Split) and n.feature not in NAMES]
            if unknown:
                raise InputError(
                    f"{where} splits on {unknown[0]!r}, which is not a descriptor of this version."
                    f"{close_names(unknown[0], NAMES)} Train the diagram again."
                )
            if not isinstance(whole["manifest"], dict):
                raise InputError(
                    f"{where}: the manifest of the diagram must be a JSON object, got "
                    f"{type(whole['manifest']).__name__}."
                )
            return Diagram(nodes, whole["manifest"])
        except InputError:
            raise
        except FAULTS as error:
            raise InputError(
                f"{where} is not a decision diagram: {fault_of(error)}. Train one with "
                "`counterfolio selector train`."
            ) from error


def _node(entry: dict[str, Any]) -> Node:
    if "schedule" in entry:
        return Leaf(schedule_from_json(entry["schedule"]), float(entry["purity"]))
    name, threshold = str(entry["feature"]), float(entry["threshold"])
    return Split(name, threshold, int(entry["low"]), int(entry["high"]))


def load_diagram(path: str | Path) -> Diagram:
    """Read a diagram from a file.

    Parameters
    ----------
    path : str or Path
        JSON file that holds the diagram.

    Returns
    -------
    Diagram
        The diagram.

    Raises
    ------
    InputError
        If the file cannot be read or does not hold a diagram; see :meth:`Diagram.from_json`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from selector.diagram import load_diagram
    >>> written = Path("diagram.json").write_text(explainer.diagram.to_json())
    >>> load_diagram("diagram.json") == explainer.diagram
    True
    """
    return Diagram.from_json(read_text(path, "the diagram"), str(path))


def diagram_of(source: Diagram | str | Path | None) -> Diagram:
    """Return a diagram: the one passed, the one in a file, or the default.

    The default is the diagram that the user promoted, or else the shipped one; see
    :func:`selector.diagram_places.default_place`.

    Parameters
    ----------
    source : Diagram, str, Path or None
        A diagram, the path of a JSON file, or None for the default.

    Returns
    -------
    Diagram
        The diagram.

    Raises
    ------
    InputError
        If ``source`` has another type, or its file cannot be read; see :func:`load_diagram`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from counterfolio import Diagram
    >>> from selector.diagram import Leaf, alone, diagram_of
    >>> only_search = Diagram((Leaf(alone("search")),))
    >>> written = Path("diagram.json").write_text(only_search.to_json())
    >>> diagram_of("diagram.json") == only_search, diagram_of(None) == only_search
    (True, False)
    """
    if isinstance(source, Diagram):
        return source
    if not (source is None or isinstance(source, str | Path)):
        raise InputError(f"diagram must be a Diagram or a path to a JSON file, got {source!r}.")
    if source is not None:
        return load_diagram(source)
    place = default_place()
    try:
        return load_diagram(place)
    except InputError as error:
        if place == SHIPPED:
            raise
        raise InputError(
            f"{error} It is the promoted diagram; delete {place} to go back to the shipped one."
        ) from error


def compact(nodes: list[Node]) -> tuple[Node, ...]:
    """Merge equal nodes, and drop nodes that no edge reaches.

    Parameters
    ----------
    nodes : list of Split or Leaf
        Nodes in topological order, the root first.

    Returns
    -------
    tuple of Split or Leaf
        Nodes of the equivalent smaller diagram, in topological order.

    Examples
    --------
    >>> from selector.diagram import Leaf, Split, alone, compact
    >>> same = [Split("trees", 50, 1, 2), Leaf(alone("search")), Leaf(alone("search"))]
    >>> compact(same) == (Leaf(alone("search")),)
    True
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
    # Children were placed first; reverse the order so that parents come first.
    last = len(order) - 1
    flipped = [
        Split(n.feature, n.threshold, last - n.low, last - n.high) if isinstance(n, Split) else n
        for n in reversed(order)
    ]
    return tuple(flipped[last - root :])
