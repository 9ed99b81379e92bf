"""What recourse costs the groups of a protected attribute, and whether they differ."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from encoders.backends.interface import Status, StopReason
from portfolio.as_json import AsJson, as_plain
from portfolio.questions.groups.audit_statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class AuditGroup:
    """One group.

    Attributes
    ----------
    name : the value of the attribute
    rows : how many rows it has
    adverse : how many of them are not decided as wanted
    adverse_share : their share, with Wilson's interval
    without : share of the adverse rows that have no recourse (proved); None if none is adverse
    mean, median : cost of recourse of those that have one; None if none is known to
    unproved : adverse rows of which not everything is proved
    """

    name: Any
    rows: int
    adverse: int
    adverse_share: Estimate
    without: Estimate | None
    mean: Estimate | None
    median: Estimate | None
    unproved: int

    def __str__(self) -> str:
        told = f"{self.name}: {self.adverse} of {self.rows} rows are adverse"
        if self.without is None:
            return f"{told}."
        cost = "none of them is known to have recourse"
        if self.mean is not None:
            cost = f"recourse costs {self.mean} on average, {self.median} in the median"
        unproved = f" {self.unproved} not proved." if self.unproved else ""
        return f"{told}; {cost}; share without recourse {self.without}.{unproved}"


@dataclass(frozen=True)
class AuditDifference:
    """One group compared with the reference group.

    Attributes
    ----------
    name, reference : the two groups
    mean : mean cost of the one minus that of the other; None where one has no known recourse
    mean_p : p-value of a permutation test; None where costs are only bounded, or rows too few
    without : share without recourse of the one minus that of the other
    without_p : p-value of Fisher's exact test; None where not every row is settled
    """

    name: Any
    reference: Any
    mean: Estimate | None
    mean_p: float | None
    without: Estimate
    without_p: float | None

    def __str__(self) -> str:
        parts = []
        for words, found, p_value in (
            ("mean cost", self.mean, self.mean_p),
            ("share without recourse", self.without, self.without_p),
        ):
            if found is not None:
                sure = "" if p_value is None else f", p = {p_value:.2g}"
                parts.append(f"{words} {found}{sure}")
        return f"{self.name} minus {self.reference}: {'; '.join(parts)}."


@dataclass(frozen=True)
class Audit(AsJson):
    """The exact cost of recourse in each group.

    Attributes
    ----------
    status : "optimal": every adverse row is proved; "feasible": some are not, and what is told has
        bounds; "unknown": of no adverse row anything is known
    stop_reason : "proved", or why the first unproved row was not
    by : the attribute
    target : that was asked for
    confidence : of all intervals
    groups : the largest first
    differences : of every other group from the reference
    seconds : from the call to the result
    answers : one row per adverse row, as of :meth:`Explainer.explain_batch`, with a column
        ``group``
    """

    status: Status
    stop_reason: StopReason
    by: str
    target: Any
    confidence: float
    groups: tuple[AuditGroup, ...]
    differences: tuple[AuditDifference, ...]
    seconds: float
    answers: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False, compare=False)

    def table(self) -> pd.DataFrame:
        """One row per group: counts, and each number with the ends of its interval."""
        found = []
        for group in self.groups:
            told: dict[str, Any] = {
                "group": group.name,
                "rows": group.rows,
                "adverse": group.adverse,
                "unproved": group.unproved,
            }
            for name in ("adverse_share", "without", "mean", "median"):
                own: Estimate | None = getattr(group, name)
                for end in ("low", "high", "ci_low", "ci_high"):
                    value = None if own is None else getattr(own, end)
                    told[f"{name}_{end}"] = math.nan if value is None else value
            found.append(told)
        return pd.DataFrame(found)

    def plot(self) -> "Figure":
        """Mean cost and share without recourse of each group, with confidence intervals.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from portfolio.questions.groups.audit_picture import draw

        return draw(
            [str(group.name) for group in self.groups],
            [group.mean for group in self.groups],
            [group.without for group in self.groups],
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; without the answers."""
        told = {name: value for name, value in vars(self).items() if name != "answers"}
        told["groups"] = [_plain(group) for group in self.groups]
        told["differences"] = [_plain(difference) for difference in self.differences]
        return dict(as_plain(told))

    def __str__(self) -> str:
        lines = [f"{self.by} {group}" for group in self.groups]
        lines += [str(difference) for difference in self.differences]
        unproved = sum(group.unproved for group in self.groups)
        if unproved:
            lines.append(
                f"{unproved} row{' is' if unproved == 1 else 's are'} not proved; numbers are told "
                f"from the least to the most that they may be. Stopped by: {self.stop_reason}."
            )
        return "\n".join(lines)


def _plain(record: AuditGroup | AuditDifference) -> dict[str, Any]:
    return {
        name: vars(value) if isinstance(value, Estimate) else value
        for name, value in vars(record).items()
    }
