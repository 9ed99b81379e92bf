"""Audits: cost of recourse in the groups of an attribute, and differences between groups."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from encoders.backends.interface import Status, StopReason
from portfolio.questions.groups.audit_statistics import Estimate
from portfolio.results.codec import HIDDEN, AsJson
from portfolio.results.printing import counted, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class AuditGroup:
    """Numbers of one group.

    Attributes
    ----------
    name : object
        Value of the attribute.
    rows : int
        Number of rows in the group.
    adverse : int
        Number of rows that do not reach the target.
    adverse_share : Estimate
        Share of adverse rows, with Wilson's interval.
    without : Estimate or None
        Share of adverse rows without recourse (proved); None if no row is adverse.
    mean, median : Estimate or None
        Mean and median cost of recourse of the rows that have it; None if none is known to have it.
    unproved : int
        Number of adverse rows for which not everything is proved.

    Examples
    --------
    >>> group = explainer.audit(X_train[:40], by="sex", target="granted").groups[0]
    >>> group.name, group.rows, group.adverse
    (0, 21, 17)
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
        rows = counted(self.rows, "row")
        is_are = "is" if self.adverse == 1 else "are"
        lines = [f"{self.name}: {self.adverse} of {rows} {is_are} adverse."]
        if self.without is None:
            return lines[0]
        if self.mean is None:
            lines.append("- recourse: none known")
        else:
            lines += [f"- mean cost: {self.mean}", f"- median cost: {self.median}"]
        lines.append(f"- share without recourse: {self.without}")
        if self.unproved:
            lines.append(f"- rows not proved: {self.unproved}")
        return wrapped(lines)


@dataclass(frozen=True)
class AuditDifference:
    """Comparison of one group with the reference group.

    Attributes
    ----------
    name, reference : object
        The two groups.
    mean : Estimate or None
        Mean cost minus that of the reference; None if one of them has no known recourse.
    mean_p : float or None
        p-value of a permutation test; None if costs are only bounded or there are too few rows.
    without : Estimate
        Share of adverse rows without recourse minus that of the reference.
    without_p : float or None
        p-value of Fisher's exact test; None if some rows are undecided.

    Examples
    --------
    >>> audit = explainer.audit(X_train[:40], by="sex", target="granted")
    >>> difference = audit.differences[0]
    >>> difference.name, difference.reference, difference.without_p
    (1, 0, 1.0)
    """

    name: Any
    reference: Any
    mean: Estimate | None
    mean_p: float | None
    without: Estimate
    without_p: float | None

    def __str__(self) -> str:
        lines = [f"Difference {self.name} minus {self.reference}:"]
        for words, estimate, p_value in (
            ("mean cost", self.mean, self.mean_p),
            ("share without recourse", self.without, self.without_p),
        ):
            if estimate is not None:
                p_words = "" if p_value is None else f", p = {p_value:.2g}"
                lines.append(f"- {words}: {estimate}{p_words}")
        return wrapped(lines)


@dataclass(frozen=True)
class Audit(AsJson):
    """Cost of recourse in each group, exact where it is proved.

    Attributes
    ----------
    status : {"optimal", "feasible", "unknown"}
        "optimal" if every adverse row is proved. "feasible" if the numbers include bounds because
        some rows are not proved. "unknown" if nothing is known about any adverse row.
    stop_reason : str
        "proved", or the reason why the first unproved row is not proved.
    by : str
        Name of the attribute.
    target : label or goal
        Favourable outcome.
    confidence : float
        Confidence level of all intervals.
    groups : tuple of AuditGroup
        Groups, the largest first; bands in ascending order.
    differences : tuple of AuditDifference
        Comparisons of the other groups with the reference group.
    seconds : float
        Time from the call to the result.
    answers : DataFrame
        One row per adverse row as in :meth:`Explainer.explain_batch`, with a column ``group``.

    Examples
    --------
    >>> audit = explainer.audit(X_train[:40], by="sex", target="granted")
    >>> audit.status, [group.adverse for group in audit.groups]
    ('optimal', [17, 18])
    """

    status: Status
    stop_reason: StopReason
    by: str
    target: Any
    confidence: float
    groups: tuple[AuditGroup, ...]
    differences: tuple[AuditDifference, ...]
    seconds: float
    answers: pd.DataFrame = field(
        default_factory=pd.DataFrame, repr=False, compare=False, metadata=HIDDEN
    )

    def table(self) -> pd.DataFrame:
        """Return one row per group: counts, and each number with the ends of its interval.

        Returns
        -------
        DataFrame
            Columns such as ``mean_low``, ``mean_high``, ``mean_ci_low`` and ``mean_ci_high``; NaN
            for unknown numbers.

        Examples
        --------
        >>> audit = explainer.audit(X_train[:12], by="sex", target="granted")
        >>> audit.table()[["group", "rows", "adverse", "unproved"]]
           group  rows  adverse  unproved
        0      1     7        6         0
        1      0     5        3         0
        """
        rows = []
        for group in self.groups:
            row: dict[str, Any] = {
                "group": group.name,
                "rows": group.rows,
                "adverse": group.adverse,
                "unproved": group.unproved,
            }
            for name in ("adverse_share", "without", "mean", "median"):
                estimate: Estimate | None = getattr(group, name)
                for end in ("low", "high", "ci_low", "ci_high"):
                    value = None if estimate is None else getattr(estimate, end)
                    row[f"{name}_{end}"] = math.nan if value is None else value
            rows.append(row)
        return pd.DataFrame(rows)

    def plot(self) -> "Figure":
        """Draw mean cost and share without recourse of each group, with confidence intervals.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Examples
        --------
        >>> figure = explainer.audit(X_train[:12], by="sex", target="granted").plot()
        >>> [axes.get_xlabel() for axes in figure.axes]
        ['mean cost of recourse', 'share without recourse']
        """
        from portfolio.questions.groups.audit_picture import draw

        return draw(
            [str(group.name) for group in self.groups],
            [group.mean for group in self.groups],
            [group.without for group in self.groups],
        )

    def __str__(self) -> str:
        lines = [f"{self.by} {group}" for group in self.groups]
        lines += [str(difference) for difference in self.differences]
        lines.append(f"Intervals in parentheses have confidence level {self.confidence:g}.")
        unproved = sum(group.unproved for group in self.groups)
        if unproved:
            lines.append(
                f"{unproved} row{' is' if unproved == 1 else 's are'} not proved, so some numbers "
                f"are ranges (stop reason: {self.stop_reason})."
            )
        return wrapped(lines)
