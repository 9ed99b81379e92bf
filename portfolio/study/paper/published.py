"""What the paper reports and claims, read from ``published.toml``."""

import statistics
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

TIMINGS = ("total", "solver", "reduced")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and how logs are asked about it.

    Attributes
    ----------
    name, source : number of our own, and place in the paper
    says, theirs : what it says in our words, and its figure, with names that
        :meth:`Published.figures` gives
    rule : name of one of :data:`portfolio.study.paper.rules.RULES`
    part, where : which runs it is about, a part's name and a condition on columns
    first, others : the backend it is about, and those it is held against
    before, after : conditions on the two runs of a pair, for rules that compare such
    bar : what the figure is to reach, for rules that have one
    timing : by which it stands or falls, one of :data:`TIMINGS`: the paper's own
    """

    name: str
    source: str
    says: str
    theirs: str
    rule: str
    part: str
    where: str
    first: str
    others: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    bar: float = 0.0
    timing: str = "total"


@dataclass(frozen=True)
class Published:
    """All of the paper that logs can be held against.

    Attributes
    ----------
    setup : machine, threads, limit and so on, as text
    datasets : table 1; the names of its columns under "columns"
    diagram : figure 1: shares of the leaves, accuracy, rows
    isolation : table 2
    parts : conditions that single out runs, by name
    claims : in the paper's order
    """

    setup: Mapping[str, str]
    datasets: Mapping[str, list[Any]]
    diagram: Mapping[str, Any]
    isolation: Mapping[str, Any]
    parts: Mapping[str, str]
    claims: tuple[Claim, ...]

    def figures(self) -> dict[str, float]:
        """What follows from the paper's tables and stands in claims."""
        table = self.isolation
        longer = {
            name: statistics.median(
                after / before
                for after, before in zip(
                    table["seconds_with"][name], table["seconds_without"][name], strict=True
                )
            )
            for name in ("cp", "milp")
        }
        plausible = statistics.mean(table["plausible"]["cp"])
        return {
            "implausible": 1 - plausible / 100,
            "cp_longer": longer["cp"],
            "milp_longer": longer["milp"],
            "cp_leaf": self.diagram["leaves"]["cp"],
        }


def published() -> Published:
    """What the package holds of the paper."""
    text = files("portfolio.study.paper").joinpath("published.toml").read_text(encoding="utf-8")
    given = tomllib.loads(text)
    claims: list[dict[str, Any]] = given.pop("claims")
    made = tuple(Claim(**claim | {"others": tuple(claim.get("others", ()))}) for claim in claims)
    return Published(claims=made, **given)
