"""Recourse for groups: a few actions that help as many rows as possible."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from encoders.backends.interface import Status, StopReason
from encoders.core.errors import InputError
from portfolio.questions.groups.group_action import GroupStep
from portfolio.results.codec import HIDDEN, AsJson
from portfolio.results.printing import counted, short, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

State = Literal["served", "not served", "out of reach", "already there"]
MOST_NAMED = 12  # ids that a sentence lists


@dataclass(frozen=True)
class GroupAction:
    """Action with the rows that take it.

    Attributes
    ----------
    steps : tuple of GroupStep
        Steps of the action; all of them are required.
    rows : tuple of object
        Ids of the rows that take the action because it serves them at the lowest cost.
    mean_cost : float
        Mean cost of these rows.

    Examples
    --------
    >>> action = explainer.explain_group(X, actions=1).actions[0]
    >>> len(action.rows)
    4
    """

    steps: tuple[GroupStep, ...]
    rows: tuple[Any, ...]
    mean_cost: float

    def __str__(self) -> str:
        steps = "; ".join(str(step) for step in self.steps) or "Change nothing"
        one = len(self.rows) == 1
        return (
            f"{steps}.\n   Serves {counted(len(self.rows), 'row')} at "
            f"{'a' if one else 'a mean'} cost of {short(self.mean_cost)}."
        )


@dataclass(frozen=True)
class GroupMember:
    """Outcome for one row.

    Attributes
    ----------
    id : object
        Id of the row.
    state : {"served", "not served", "out of reach", "already there"}
        "out of reach" if no action serves the row within the budget (proved). "already there" if
        the row reaches the target unchanged.
    action : int
        Number of the action that the row takes, from 1; 0 for none.
    distance : float
        Cost of that action for the row, inf for none.

    Examples
    --------
    >>> member = explainer.explain_group(X, actions=1).members[0]
    >>> member.state, member.action
    ('served', 1)
    """

    id: Any
    state: State
    action: int
    distance: float


@dataclass(frozen=True)
class GroupRecourse(AsJson):
    """Actions that together serve as many rows as possible.

    Attributes
    ----------
    status : {"optimal", "feasible", "infeasible", "unknown"}
        "optimal" if no actions serve more rows (proved). "feasible" if they serve at most
        ``bound``. "infeasible" if no action serves any row (proved). "unknown" if no action was
        found.
    stop_reason : str
        Reason why the search ended.
    target : label or goal
        Requested target; None for the other one of two classes.
    budget : float
        Largest cost for each row, inf without a limit.
    actions : tuple of GroupAction
        Actions, those that serve most rows first.
    members : tuple of GroupMember
        Outcome for each row, in the order of the rows.
    covered : int
        Number of rows that the actions serve.
    bound : int
        Proved upper bound on the number of rows that any actions serve.
    asked : int
        Number of problems solved.
    seconds : float
        Time from the call to the result.
    message : str
        Reason why the result is weaker than a proof, or "".
    counterfactuals : DataFrame
        Served rows after their action, in the order of ``members``. A frame of pandas has the ids
        as its index; otherwise it is of the library of the given rows.

    Examples
    --------
    >>> group = explainer.explain_group(X, actions=1)
    >>> group.covered, group.rows, group.status
    (4, 4, 'optimal')
    """

    COMPUTED = ("rows",)

    status: Status
    stop_reason: StopReason
    target: Any
    budget: float
    actions: tuple[GroupAction, ...]
    members: tuple[GroupMember, ...]
    covered: int
    bound: int
    asked: int
    seconds: float
    message: str = ""
    counterfactuals: Any = field(
        default_factory=pd.DataFrame, repr=False, compare=False, metadata=HIDDEN
    )

    @property
    def rows(self) -> int:
        """Number of rows that need recourse, without those that already reach the target."""
        return sum(member.state != "already there" for member in self.members)

    def table(self) -> pd.DataFrame:
        """Return a table of the outcomes: id, state, action and distance of each row.

        Returns
        -------
        DataFrame
            One line per row, in the order of the rows.

        Examples
        --------
        >>> explainer.explain_group(X, actions=1).table()[["id", "state", "action"]].head(2)
           id   state  action
        0   0  served       1
        1   1  served       1
        """
        rows = [(m.id, m.state, m.action, m.distance) for m in self.members]
        return pd.DataFrame(rows, columns=["id", "state", "action", "distance"])

    def plot(self) -> "Figure":
        """Draw the number of rows that each action serves, and all together.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Raises
        ------
        InputError
            If no action was found.

        Examples
        --------
        >>> figure = explainer.explain_group(X, actions=1).plot()
        >>> figure.axes[0].get_xlabel()
        'number of rows served, of 4'
        """
        from portfolio.results.plots.bars import Bar, draw

        if not self.actions:
            raise InputError(
                f"cannot draw actions: none was found (status {self.status!r}). Check status first."
            )
        names = [", ".join(step.feature for step in action.steps) for action in self.actions]
        served = [len(action.rows) for action in self.actions]
        counted = enumerate(zip(names, served, strict=True), 1)
        bars = [Bar(f"{at}. {name}", count) for at, (name, count) in counted]
        if len(bars) > 1:
            bars.append(Bar("all together", self.covered))
        return draw(bars, f"number of rows served, of {self.rows}", self.bound)

    def __str__(self) -> str:
        lines = [self._headline()]
        lines += [f"{at}. {action}" for at, action in enumerate(self.actions, 1)]
        for state, words in (
            ("out of reach", "Out of reach of any action within the budget (proved)"),
            ("already there", "Already at the target"),
        ):
            ids = [member.id for member in self.members if member.state == state]
            if ids:
                shown = ", ".join(map(str, ids[:MOST_NAMED]))
                lines.append(f"{words}: {shown}{', …' if len(ids) > MOST_NAMED else ''}.")
        return wrapped(lines)

    def _headline(self) -> str:
        within = "" if math.isinf(self.budget) else f" within a budget of {self.budget:g}"
        message = f" {self.message}" if self.message else ""
        if not self.rows:
            target = "the target" if self.target is None else repr(self.target)
            return f"All rows already reach {target}."
        rows = counted(self.rows, "row")
        if self.status == "infeasible":
            return f"Infeasible: no action gives any of {rows} recourse{within} (proved)."
        if self.status == "unknown":
            return f"Unknown: no action found (stop reason: {self.stop_reason}).{message}"
        n = len(self.actions)
        sure = "proved to be the most" if self.status == "optimal" else f"at most {self.bound}"
        return (
            f"{n} action{'' if n == 1 else 's'} give{'s' if n == 1 else ''} {self.covered} of "
            f"{rows} recourse{within} ({sure}).{message}"
        )
