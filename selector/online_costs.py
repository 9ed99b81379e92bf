"""Observed times of backends at the leaves of a diagram, shared by sessions and saved to files."""

import json
import math
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from encoders.core.errors import InputError
from encoders.core.text_files import FAULTS, fault_of, read_text
from encoders.core.whole_files import write_text
from selector import words
from selector.candidates import title_of
from selector.diagram import Diagram
from selector.online import (
    NEWEST,
    SHARE,
    Asked,
    LeafCosts,
    Took,
    after_other,
    after_own,
    next_backend,
    reserved,
)
from selector.schedule import Leaf

FORMAT = 1


class OnlineCosts:
    """Observed times of backends at each leaf of a diagram, from which sessions learn.

    Sessions choose backends by these observations and add new ones; see :mod:`selector.online`.
    The policy is deterministic: the same observations in the same order give the same choices.
    Several sessions and threads can share one object.

    Parameters
    ----------
    diagram : Diagram
        Diagram whose leaves are observed; sessions must use the same one.
    share : float, default 0.05
        Largest share of the time of the diagram's choices that trying alternatives may cost, from 0
        to 1.

    Raises
    ------
    InputError
        If ``share`` is not a number from 0 to 1.

    Examples
    --------
    >>> from counterfolio import OnlineCosts
    >>> costs = OnlineCosts(explainer.diagram)
    >>> with explainer.session(online=costs) as session:
    ...     print(session.explain(row).status)
    optimal
    """

    def __init__(self, diagram: Diagram, share: float = SHARE) -> None:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise InputError(f"share must be a number from 0 to 1, got {share!r}.")
        self._diagram, self._share = diagram, float(share)
        self._lock = threading.Lock()
        self._leaves: dict[int, LeafCosts] = {}

    @property
    def leaves(self) -> dict[int, LeafCosts]:
        """Copy of the observations, by the index of the leaf among the nodes of the diagram."""
        with self._lock:
            return dict(sorted(self._leaves.items()))

    def check(self, diagram: Diagram) -> None:
        """Raise InputError if a diagram differs from the one that was observed.

        Parameters
        ----------
        diagram : Diagram
            Diagram of a session.

        Raises
        ------
        InputError
            If the diagrams differ.

        Examples
        --------
        >>> from counterfolio import OnlineCosts
        >>> OnlineCosts(explainer.diagram).check(explainer.diagram)
        """
        if diagram.digest != self._diagram.digest:
            raise InputError(
                f"These online costs belong to another diagram ({self._diagram.digest}, not "
                f"{diagram.digest}). Start new ones: OnlineCosts(explainer.diagram)."
            )

    def place_of(self, leaf: Leaf) -> int:
        """Return the index of a leaf among the nodes of the diagram.

        Parameters
        ----------
        leaf : Leaf
            A leaf of the diagram.

        Returns
        -------
        int
            Index of the node.

        Examples
        --------
        >>> from counterfolio import OnlineCosts
        >>> OnlineCosts(explainer.diagram).place_of(explainer.diagram.nodes[-1])
        0
        """
        return self._diagram.nodes.index(leaf)

    def next_backend(
        self,
        place: int,
        default: str,
        others: Sequence[str],
        limit_s: float,
        ready: Collection[str],
    ) -> Asked:
        """Choose the backend to run next, and reserve its time.

        The rule is :func:`selector.online.next_backend`. The caller reports the outcome with
        :meth:`record_default` or :meth:`record_alternative`. Without a report the reserved time
        counts as spent.

        Parameters
        ----------
        place : int
            Index of the leaf among the nodes of the diagram.
        default : str
            Name of the diagram's backend.
        others : sequence of str
            Names of the alternatives.
        limit_s : float
            Time limit of the problem in seconds.
        ready : collection of str
            Names of the backends that have already built their model.

        Returns
        -------
        Asked
            The backend and its time limit.

        Examples
        --------
        >>> from counterfolio import OnlineCosts
        >>> costs = OnlineCosts(explainer.diagram)
        >>> costs.next_backend(0, "search", ["cp"], limit_s=60, ready=[]).backend
        'search'
        """
        with self._lock:
            leaf = self._leaves.get(place, LeafCosts())
            turn = next_backend(leaf, default, others, limit_s, ready)
            self._leaves[place] = reserved(leaf, turn)
            return turn

    def record_default(self, place: int, took: Took) -> None:
        """Record a run of the diagram's backend alone.

        Parameters
        ----------
        place : int
            Index of the leaf among the nodes of the diagram.
        took : Took
            Observation of the diagram's backend.

        Examples
        --------
        >>> from counterfolio import OnlineCosts
        >>> from selector.online import Took
        >>> costs = OnlineCosts(explainer.diagram)
        >>> costs.record_default(0, Took("search", 0.5, True))
        >>> len(costs.leaves[0].newest)
        1
        """
        with self._lock:
            leaf = self._leaves.get(place, LeafCosts())
            self._leaves[place] = after_own(leaf, took, self._share)

    def record_alternative(
        self, place: int, asked: Asked, default: str, took: Took, spent_s: float, own_s: float
    ) -> None:
        """Record a run of an alternative, and of the diagram's backend after it if it ran.

        Parameters
        ----------
        place : int
            Index of the leaf among the nodes of the diagram.
        asked : Asked
            Result of :meth:`next_backend`.
        default : str
            Name of the diagram's backend.
        took : Took
            Observation of the alternative.
        spent_s : float
            Wall-clock seconds of the alternative, including start and model building.
        own_s : float
            Seconds of the diagram's backend after it, nan if it did not run.

        Examples
        --------
        >>> import math
        >>> from counterfolio import OnlineCosts
        >>> from selector.online import Asked, Took
        >>> costs = OnlineCosts(explainer.diagram)
        >>> costs.record_default(0, Took("search", 1.0, True))
        >>> asked, took = Asked("cp", seconds=2.0, usual_s=1.0), Took("cp", 0.5, True)
        >>> costs.record_alternative(0, asked, "search", took, spent_s=0.5, own_s=math.nan)
        >>> [took.backend for took in costs.leaves[0].newest]
        ['search', 'cp']
        """
        with self._lock:
            leaf = self._leaves[place]
            self._leaves[place] = after_other(
                leaf, asked, default, took, spent_s, own_s, self._share
            )

    def __str__(self) -> str:
        lines = []
        for place, leaf in self.leaves.items():
            node = self._diagram.nodes[place]
            named = words.schedule(node.schedule) if isinstance(node, Leaf) else ""
            times = [
                f"{title_of(name)}: {_counted(len(seen))}, "
                f"{math.fsum(took.seconds for took in seen) / len(seen):.3g} s on average"
                for name in sorted({took.backend for took in leaf.newest})
                for seen in [leaf.of(name)]
            ]
            lines.append(
                f"leaf {place} ({named}): {'; '.join(times)}; allowance for alternatives "
                f"{leaf.allowance_s:.3g} s; {leaf.reverted} dropped as no longer better"
            )
        return "\n".join(lines) or "No observations yet."

    def to_json(self) -> str:
        """Return the observations as a JSON object; equal observations give equal text.

        Returns
        -------
        str
            JSON that :meth:`from_json` reads.

        Examples
        --------
        >>> import json
        >>> from counterfolio import OnlineCosts
        >>> from selector.online import Took
        >>> costs = OnlineCosts(explainer.diagram)
        >>> costs.record_default(0, Took("search", 0.5, True))
        >>> json.loads(costs.to_json())["leaves"]["0"]["newest"]
        [['search', 0.5, True]]
        """
        leaves = {
            str(place): {
                "allowance_s": leaf.allowance_s,
                "reverted": leaf.reverted,
                "newest": [[took.backend, took.seconds, took.proved] for took in leaf.newest],
            }
            for place, leaf in self.leaves.items()
        }
        whole = {
            "format": FORMAT,
            "diagram": self._diagram.digest,
            "share": self._share,
            "leaves": leaves,
        }
        return json.dumps(whole, indent=1) + "\n"

    @staticmethod
    def from_json(text: str, diagram: Diagram, where: str) -> "OnlineCosts":
        """Read observations from the JSON that :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            JSON of the observations.
        diagram : Diagram
            Diagram whose leaves were observed.
        where : str
            Name of the text in error messages, such as the path of its file.

        Returns
        -------
        OnlineCosts
            The observations.

        Raises
        ------
        InputError
            If the text does not hold online costs, or those of another diagram.

        Examples
        --------
        >>> from counterfolio import OnlineCosts
        >>> text = OnlineCosts(explainer.diagram).to_json()
        >>> print(OnlineCosts.from_json(text, explainer.diagram, "my costs"))
        No observations yet.
        """
        try:
            whole = json.loads(text)
            if whole["format"] != FORMAT:
                raise InputError(
                    f"{where} has format {whole['format']}, but this version reads format "
                    f"{FORMAT}. Start new online costs: OnlineCosts(explainer.diagram)."
                )
            if whole["diagram"] != diagram.digest:
                raise InputError(
                    f"{where} belongs to another diagram ({whole['diagram']}, not "
                    f"{diagram.digest}). Start new online costs: OnlineCosts(explainer.diagram)."
                )
            costs = OnlineCosts(diagram, whole["share"])
            costs._leaves = {int(place): _leaf(leaf) for place, leaf in whole["leaves"].items()}
            for place in costs._leaves:
                if not isinstance(diagram.nodes[place], Leaf) or place < 0:
                    raise ValueError(f"node {place} of the diagram is not a leaf")
        except InputError:
            raise
        except FAULTS as error:
            raise InputError(
                f"{where} does not hold online costs: {fault_of(error)}. Give a file that "
                "OnlineCosts.save wrote."
            ) from error
        return costs

    def save(self, path: str | Path) -> None:
        """Write the observations to a JSON file, atomically.

        Parameters
        ----------
        path : str or Path
            JSON file to write.

        Raises
        ------
        InputError
            If the file cannot be written.

        Examples
        --------
        >>> from counterfolio import OnlineCosts
        >>> from selector.online import Took
        >>> costs = OnlineCosts(explainer.diagram)
        >>> costs.record_default(0, Took("search", 0.5, True))
        >>> costs.save("costs.json")
        >>> OnlineCosts.load("costs.json", explainer.diagram).leaves[0].newest
        (Took(backend='search', seconds=0.5, proved=True),)
        """
        write_text(path, self.to_json())

    @staticmethod
    def load(path: str | Path, diagram: Diagram) -> "OnlineCosts":
        """Read observations from a file that :meth:`save` wrote.

        Parameters
        ----------
        path : str or Path
            JSON file to read.
        diagram : Diagram
            Diagram whose leaves were observed.

        Returns
        -------
        OnlineCosts
            The observations.

        Raises
        ------
        InputError
            If the file cannot be read, does not hold online costs, or those of another diagram.

        Examples
        --------
        >>> from counterfolio import OnlineCosts
        >>> OnlineCosts(explainer.diagram).save("costs.json")
        >>> print(OnlineCosts.load("costs.json", explainer.diagram))
        No observations yet.
        """
        return OnlineCosts.from_json(read_text(path, "the online costs"), diagram, str(path))


def _counted(runs: int) -> str:
    return f"{runs} run" if runs == 1 else f"{runs} runs"


def _leaf(entry: Mapping[str, Any]) -> LeafCosts:
    allowance_s, reverted = float(entry["allowance_s"]), int(entry["reverted"])
    newest = tuple(_took(*each) for each in entry["newest"])
    if not math.isfinite(allowance_s) or reverted < 0 or len(newest) > NEWEST:
        raise ValueError("a leaf has an invalid allowance, count or number of observations")
    return LeafCosts(newest, allowance_s, reverted)


def _took(backend: object, seconds: object, proved: object) -> Took:
    if not isinstance(backend, str) or not isinstance(proved, bool):
        raise TypeError("an observation must be a backend name, seconds, and true or false")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"seconds must be a number, got {seconds!r}")
    if not 0 < seconds < math.inf:
        raise ValueError(f"seconds must be above 0, got {seconds!r}")
    return Took(backend, float(seconds), proved)
