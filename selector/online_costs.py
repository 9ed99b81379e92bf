"""What one's own sessions have taught of the leaves of a diagram: kept, shared, saved."""

import json
import math
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from encoders.errors import InputError
from encoders.text_files import FAULTS, fault_of, read_text
from encoders.whole_files import write_text
from selector import words
from selector.backend_facts import title_of
from selector.diagram import Diagram
from selector.nodes import Leaf
from selector.online import (
    NEWEST,
    SHARE,
    Asked,
    LeafCosts,
    Took,
    after_other,
    after_own,
    reserved,
    whom,
)

FORMAT = 1


class OnlineCosts:
    """What backends took at each leaf of a diagram, in sessions that were given this object.

    Sessions learn from it whom to ask, and tell it what came of it, see :mod:`selector.online`.
    The same tales in the same order lead to the same choices. Thread safe: several sessions may
    share one.

    Parameters
    ----------
    diagram : whose leaves these are; sessions have to go by the same one
    share : from 0 to 1, of the seconds that the diagram's own choices take: what asking others may
        cost at most

    Raises
    ------
    InputError
        No such share.
    """

    def __init__(self, diagram: Diagram, share: float = SHARE) -> None:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise InputError(f"share must be a number from 0 to 1, got {share!r}.")
        self._diagram, self._share = diagram, float(share)
        self._lock = threading.Lock()
        self._leaves: dict[int, LeafCosts] = {}

    @property
    def leaves(self) -> dict[int, LeafCosts]:
        """What is known by now, by the place of the leaf among the diagram's nodes; a copy."""
        with self._lock:
            return dict(sorted(self._leaves.items()))

    def check(self, diagram: Diagram) -> None:
        """Refuse another diagram than the one that these costs are about.

        Parameters
        ----------
        diagram : that a session goes by

        Raises
        ------
        InputError
            It is another one.
        """
        if diagram.digest != self._diagram.digest:
            raise InputError(
                "these online costs are of another diagram; begin anew: "
                "OnlineCosts(explainer.diagram)."
            )

    def place_of(self, leaf: Leaf) -> int:
        """Where a leaf is among the diagram's nodes.

        Parameters
        ----------
        leaf : of the diagram
        """
        return self._diagram.nodes.index(leaf)

    def whom(
        self, place: int, own: str, others: Sequence[str], limit_s: float, ready: Collection[str]
    ) -> Asked:
        """Whom to ask next, see :func:`selector.online.whom`; tell what came of it.

        Where nothing is told, what it might have cost counts as spent.

        Parameters
        ----------
        place : of the leaf
        own, others, limit_s, ready : as for :func:`selector.online.whom`
        """
        with self._lock:
            leaf = self._leaves.get(place, LeafCosts())
            asked = whom(leaf, own, others, limit_s, ready)
            self._leaves[place] = reserved(leaf, asked)
            return asked

    def tell_own(self, place: int, took: Took) -> None:
        """The diagram's own was asked, and nobody before.

        Parameters
        ----------
        place : of the leaf
        took : by the diagram's own
        """
        with self._lock:
            leaf = self._leaves.get(place, LeafCosts())
            self._leaves[place] = after_own(leaf, took, self._share)

    def tell_other(
        self, place: int, asked: Asked, own: str, took: Took, spent_s: float, own_s: float
    ) -> None:
        """Another one was asked, and the diagram's own after it if that did not prove.

        Parameters
        ----------
        place : of the leaf
        asked, own, took, spent_s, own_s : as for :func:`selector.online.after_other`
        """
        with self._lock:
            leaf = self._leaves[place]
            self._leaves[place] = after_other(leaf, asked, own, took, spent_s, own_s, self._share)

    def __str__(self) -> str:
        lines = []
        for place, leaf in self.leaves.items():
            node = self._diagram.nodes[place]
            named = words.schedule(node.schedule) if isinstance(node, Leaf) else ""
            told = [
                f"{title_of(name)} {len(seen)} times, "
                f"{math.fsum(took.seconds for took in seen) / len(seen):.3g} s on average"
                for name in sorted({took.backend for took in leaf.newest})
                for seen in [leaf.of(name)]
            ]
            lines.append(
                f"leaf {place} ({named}): {'; '.join(told)}; others may still cost "
                f"{leaf.allowance_s:.3g} s; gone back to the diagram {leaf.reverted} times"
            )
        return "\n".join(lines) or "Nothing was asked yet."

    def to_json(self) -> str:
        """One JSON object; equal costs give equal text."""
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
        """Read what :meth:`to_json` wrote.

        Parameters
        ----------
        text : JSON
        diagram : whose leaves these are
        where : what the text is called in errors, such as its file

        Raises
        ------
        InputError
            It is nothing of the kind, or of another diagram.
        """
        try:
            whole = json.loads(text)
            if whole["format"] != FORMAT:
                raise InputError(
                    f"{where} has format {whole['format']}; this version reads {FORMAT}."
                )
            if whole["diagram"] != diagram.digest:
                raise InputError(
                    f"{where} is of another diagram; begin anew: OnlineCosts(explainer.diagram)."
                )
            made = OnlineCosts(diagram, whole["share"])
            made._leaves = {int(place): _leaf(leaf) for place, leaf in whole["leaves"].items()}
            for place in made._leaves:
                if not isinstance(diagram.nodes[place], Leaf) or place < 0:
                    raise ValueError(f"node {place} of the diagram is no leaf")
        except InputError:
            raise
        except FAULTS as error:
            fault = fault_of(error)
            raise InputError(f"{where} holds no online costs: {fault}.") from error
        return made

    def save(self, path: str | Path) -> None:
        """Write all that is known, moved into place whole.

        Parameters
        ----------
        path : of the JSON file

        Raises
        ------
        InputError
            The file can't be written.
        """
        write_text(path, self.to_json())

    @staticmethod
    def load(path: str | Path, diagram: Diagram) -> "OnlineCosts":
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : of the JSON file
        diagram : whose leaves these are

        Raises
        ------
        InputError
            It can't be read, or as :meth:`from_json`.
        """
        return OnlineCosts.from_json(read_text(path, "the online costs"), diagram, str(path))


def _leaf(entry: Mapping[str, Any]) -> LeafCosts:
    allowance_s, reverted = float(entry["allowance_s"]), int(entry["reverted"])
    newest = tuple(_took(*each) for each in entry["newest"])
    if not math.isfinite(allowance_s) or reverted < 0 or len(newest) > NEWEST:
        raise ValueError("a leaf has numbers that can't be")
    return LeafCosts(newest, allowance_s, reverted)


def _took(backend: object, seconds: object, proved: object) -> Took:
    if not isinstance(backend, str) or not isinstance(proved, bool):
        raise TypeError("what a backend took must be its name, seconds, and true or false")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"seconds must be a number, not {seconds!r}")
    if not 0 < seconds < math.inf:
        raise ValueError(f"seconds must be above 0, got {seconds!r}")
    return Took(backend, float(seconds), proved)
