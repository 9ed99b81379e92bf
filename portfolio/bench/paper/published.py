"""Figures and claims of the paper, read from ``published.toml``."""

import statistics
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

TIMINGS = ("total", "solver", "reduced")


@dataclass(frozen=True)
class Claim:
    """Claim of the paper, and the rule that checks it with logs.

    Attributes
    ----------
    name, source : number on the page, and place in the paper.
    says, theirs : paraphrase of the claim, and the paper's figure with names that
        :meth:`Published.figures` defines.
    rule : name of a rule in :data:`portfolio.bench.paper.rules.RULES`.
    part, where : runs that the claim covers: name of a part, and a condition on columns.
    first, others : backend of the claim, and the backends it is compared with.
    before, after : conditions on the two runs of a pair, for rules that compare pairs.
    bar : threshold of the figure, for rules that have one.
    timing : timing that the paper measured, one of :data:`TIMINGS`.
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
    """Figures and claims of the paper that logs can be compared with."""

    setup: Mapping[str, str]  # machine, threads, limit and so on, as text
    datasets: Mapping[str, list[Any]]  # table 1; the names of its columns are in "columns"
    diagram: Mapping[str, Any]  # figure 1: shares of the leaves, accuracy, rows
    isolation: Mapping[str, Any]  # table 2
    parts: Mapping[str, str]  # conditions that select runs, by name
    claims: tuple[Claim, ...]  # claims in the paper's order

    def figures(self) -> dict[str, float]:
        """Return the figures in claims that follow from the paper's tables, by name."""
        table = self.isolation
        longer = {
            name: float(np.median(np.divide(after, table["seconds_without"][name])))
            for name, after in table["seconds_with"].items()
        }
        return {
            "implausible": 1 - statistics.mean(table["plausible"]["cp"]) / 100,
            "cp_longer": longer["cp"],
            "milp_longer": longer["milp"],
            "cp_leaf": self.diagram["leaves"]["cp"],
        }


def published() -> Published:
    """Return the figures and claims of the paper."""
    text = files("portfolio.bench.paper").joinpath("published.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    tables: list[dict[str, Any]] = content.pop("claims")
    claims = tuple(Claim(**each | {"others": tuple(each.get("others", ()))}) for each in tables)
    return Published(claims=claims, **content)
