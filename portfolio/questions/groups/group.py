"""A few actions that give recourse to as many rows as possible."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from encoders.backends.interface import Status, StopReason
from encoders.errors import InputError
from portfolio.as_json import AsJson, as_plain
from portfolio.questions.groups.group_action import GroupStep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

State = Literal["served", "not served", "out of reach", "already there"]
MOST_NAMED = 12  # rows that a sentence names


@dataclass(frozen=True)
class GroupAction:
    """One action, and the rows that it gives recourse to.

    Attributes
    ----------
    steps : what it asks for, all of it
    rows : ids of the rows that take it: those it serves at least cost
    mean_cost : of these rows
    """

    steps: tuple[GroupStep, ...]
    rows: tuple[Any, ...]
    mean_cost: float

    def __str__(self) -> str:
        asked = "; ".join(str(step) for step in self.steps) or "Change nothing"
        one = len(self.rows) == 1
        return (
            f"{asked}. Serves {len(self.rows)} row{'' if one else 's'}, "
            f"at a cost of {self.mean_cost:.4g}{'' if one else ' on average'}."
        )


@dataclass(frozen=True)
class GroupMember:
    """What became of one row.

    Attributes
    ----------
    id : of the row
    state : "served"; "not served"; "out of reach": no action serves it within the budget (proved);
        "already there": it reaches the target as it is
    action : place of the action that it takes, from 1; 0 for none
    distance : what that costs it, inf for none
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
    status : "optimal": no actions serve more rows (proved); "feasible": maybe some do, at most
        ``bound``; "infeasible": no action serves any row (proved); "unknown": none was found
    stop_reason : why the work ended
    target : that was asked for
    budget : of each row, inf for none
    actions : those that serve most rows first, at most as many as were asked for
    members : one per row, in the order given
    covered : how many rows the actions serve
    bound : no actions serve more rows
    asked : how many problems were solved
    seconds : from the call to the result
    message : why it is weaker than a proof, "" if it is not
    counterfactuals : DataFrame of the rows that are served, after their action, in the order of
        ``members``; of pandas with the ids as its index, or of the library of the rows
    """

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
    counterfactuals: Any = field(default_factory=pd.DataFrame, repr=False, compare=False)

    @property
    def rows(self) -> int:
        """How many rows need recourse: all but those that are there already."""
        return sum(member.state != "already there" for member in self.members)

    def table(self) -> pd.DataFrame:
        """One row per row: id, state, action, distance."""
        told = [(m.id, m.state, m.action, m.distance) for m in self.members]
        return pd.DataFrame(told, columns=["id", "state", "action", "distance"])

    def plot(self) -> "Figure":
        """How many rows each action serves, and all together.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            No action was found.
        """
        from portfolio.plots.bars import Bar, draw

        if not self.actions:
            raise InputError("there is no action to draw.")
        names = [", ".join(step.feature for step in action.steps) for action in self.actions]
        served = [len(action.rows) for action in self.actions]
        counted = enumerate(zip(names, served, strict=True), 1)
        bars = [Bar(f"{at}. {name}", count) for at, (name, count) in counted]
        if len(bars) > 1:
            bars.append(Bar("all together", self.covered))
        return draw(bars, f"of {self.rows} rows", self.bound)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        told = {name: value for name, value in vars(self).items() if name != "counterfactuals"}
        told["rows"] = self.rows
        told["members"] = [vars(member) for member in self.members]
        told["actions"] = [
            vars(action) | {"steps": [vars(step) for step in action.steps]}
            for action in self.actions
        ]
        return dict(as_plain(told))

    def __str__(self) -> str:
        lines = [self._headline()]
        lines += [f"{at}. {action}" for at, action in enumerate(self.actions, 1)]
        for state, words in (
            ("out of reach", "Out of reach of every action within the budget (proved)"),
            ("already there", "There already"),
        ):
            ids = [member.id for member in self.members if member.state == state]
            if ids:
                named = ", ".join(map(str, ids[:MOST_NAMED]))
                lines.append(f"{words}: {named}{', …' if len(ids) > MOST_NAMED else ''}.")
        return "\n".join(lines)

    def _headline(self) -> str:
        within = "" if math.isinf(self.budget) else f" within {self.budget:g}"
        why = f" {self.message}" if self.message else ""
        if not self.rows:
            return f"Every row reaches {self.target!r} as it is."
        if self.status == "infeasible":
            return f"Infeasible: no action gives any of {self.rows} rows recourse{within} (proved)."
        if self.status == "unknown":
            return f"Unknown: no action found; stopped by: {self.stop_reason}.{why}"
        n = len(self.actions)
        sure = "proved to be the most" if self.status == "optimal" else f"at most {self.bound}"
        return (
            f"{n} action{'' if n == 1 else 's'} give{'s' if n == 1 else ''} {self.covered} of "
            f"{self.rows} rows recourse{within} ({sure}).{why}"
        )
