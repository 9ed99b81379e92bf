"""Settings of a query as the user passes them, and their conversion to a query of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.core.errors import InputError, Over, never
from encoders.query.admissible import resolve
from encoders.query.constraints import Constraint, listed
from encoders.query.cost import LARGEST, Cost, Norm, make_cost
from encoders.query.goal import Goal, ValueGoal
from encoders.query.query import Query
from encoders.query.related import relate
from encoders.query.relations import Relation
from portfolio.model.fingerprint import fingerprint
from selector import Metric, Portfolio, check_name
from selector.candidates import AUTO

if TYPE_CHECKING:
    from encoders.query.features import FeatureSpace
    from portfolio.model.explained_model import ExplainedModel
    from portfolio.model.row import Row

RACE = "race"
MAP = "map"  # strategy of batches and sessions, and backend of the answers that a map proves
PLAIN = "plain-"  # prefix of backends that solve the published formulation without presolve
OWN = "own"
MAX_THREADS = 1024
LONGEST_S = 1e6  # longer time limits are cut to this, as threads cannot wait forever

# A name, or the names of racing backends, the most promising first.
StrategyName = str | tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Question:
    """Settings of a query that do not depend on the row; see :meth:`Explainer.explain`.

    Immutable, and shared by all rows of a batch. Digests of batches include the name of this class
    and its fields in this order.

    Attributes
    ----------
    target : label, goal of :mod:`encoders.query.goal`, or pair of limits for regressors; None for
        any class other than the row's.
    norm : number p from 0 to 100, "inf", function, or costs per feature.
    scale : "range", "std", "mad" or "none".
    weights : factor per feature, by name or in order; None for 1.
    constraints : sequence of constraints, stored as a tuple.
    margin : lead over every other class in the model's score, votes in hard voting; None for 0.
    """

    target: Any = None
    norm: Norm = 1
    scale: str = "range"
    weights: Mapping[str, float] | Sequence[float] | None = None
    constraints: Sequence[Constraint] = ()
    margin: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "constraints", listed(self.constraints))

    @property
    def measure(self) -> str:
        """Norm as text; "own" for costs that the user defines."""
        return str(self.norm) if isinstance(self.norm, int | float | str) else OWN

    @property
    def digest(self) -> str:
        """Digest of the settings that :attr:`measure` and the scale do not contain."""
        costs = [self.norm] if self.measure == OWN else []
        return fingerprint(self.weights, self.constraints, self.margin, *costs)

    def query(self, model: ExplainedModel, row: Row, goal: Goal, over: Over = never) -> Query:
        """Return the query of one row and one goal."""
        space = model.space
        margin = self.lead(model.ensemble.votes)
        if margin > 0 and isinstance(goal, ValueGoal):
            raise InputError(
                f"margin is a lead over the other classes and does not support {self.target!r}. "
                "Use a stricter limit instead of a margin.",
                "margin-of-goal",
            )
        before = space.values(row.values)
        admissible, max_changes = resolve(space, before, self.constraints)
        cost = self.cost(space)
        relations = [each for each in self.constraints if isinstance(each, Relation)]
        related = None
        if relations:
            related, admissible = relate(
                relations, space, before, admissible, cost, bool(max_changes), over
            )
        return Query(
            row=row.values,
            goal=goal,
            cost=cost,
            admissible=admissible,
            max_changes=max_changes,
            margin=margin,
            related=related,
        )

    def cost(self, space: FeatureSpace) -> Cost:
        """Return the cost function of changes."""
        return make_cost(space, self.norm, self.scale, self.weights)

    def lead(self, votes: bool) -> float:
        """Return the margin as a number; votes are rounded up to whole ones."""
        margin = self.margin
        if margin is None:
            return 0.0
        number = isinstance(margin, int | float | np.number) and not isinstance(margin, bool)
        if not (number and 0 <= margin <= LARGEST):
            raise InputError(f"margin must be a finite number, 0 or above, got {margin!r}.")
        return float(ceil(margin)) if votes else float(margin)


@dataclass(frozen=True)
class Options:
    """Strategy and limits with which a query is solved.

    Values are stored as passed, because digests of batches include them. Picklable.

    Attributes
    ----------
    strategy : name of a strategy or of racing backends, see :meth:`Explainer.explain`.
    time_limit_s : seconds from the call, verification included.
    threads : number of solver threads; None for all cores that this process may use.
    seed : random seed of the solvers.
    metric : time that "auto" minimises, "total" or "solver" seconds.
    cutoff : float, cost; only cheaper answers are searched for.
    tie_break : bool, whether the first of all answers at the same distance is searched for.
    portfolio : backends among which "auto" chooses and which race, None for all.
    """

    strategy: StrategyName = AUTO
    time_limit_s: float = 60.0
    threads: int | None = None
    seed: int = 0
    metric: Metric = "total"
    cutoff: float = inf
    tie_break: bool = False
    portfolio: Portfolio | None = None

    def __post_init__(self) -> None:
        check_seconds(self.time_limit_s)
        threads, seed = self.threads, self.seed
        fits = isinstance(threads, Integral) and 1 <= threads <= MAX_THREADS
        if threads is not None and not fits:
            raise InputError(
                f"threads must be at least 1 and at most {MAX_THREADS}, got {threads!r}."
            )
        if not isinstance(seed, Integral) or not 0 <= seed < 2**31:
            raise InputError(f"seed must be a whole number from 0 to 2**31 - 1, got {seed!r}.")
        if self.metric not in ("total", "solver"):
            raise InputError(f"metric must be 'total' or 'solver', got {self.metric!r}.")
        if not isinstance(self.tie_break, bool):
            raise InputError(f"tie_break must be True or False, got {self.tie_break!r}.")
        if self.portfolio is not None and self.strategy not in (AUTO, RACE):
            raise InputError(
                f"portfolio needs strategy 'auto' or 'race', got {self.strategy!r}. Omit one of "
                "them."
            )

    def by(self, strategy: str, **limits: Any) -> Options:
        """Return the options of one backend, which no portfolio limits."""
        return replace(self, strategy=strategy, portfolio=None, **limits)


def check_seconds(seconds: float, name: str = "time_limit_s") -> None:
    """Raise InputError unless a time limit is a number above 0."""
    if not isinstance(seconds, Real) or not seconds > 0:
        raise InputError(f"{name} must be above 0 seconds, got {seconds!r}.")


def check_progress(on_progress: object) -> None:
    """Raise InputError unless ``on_progress`` is None or callable."""
    if on_progress is not None and not callable(on_progress):
        raise InputError(f"on_progress must be a function or None, got {on_progress!r}.")


def check_from_0(name: str, number: object) -> None:
    """Raise InputError unless an argument is a number of at least 0."""
    try:
        valid = isinstance(number, Real) and float(number) >= 0
    except OverflowError as error:
        raise InputError(f"{name} must be a number that fits in a float.") from error
    if not valid:
        raise InputError(f"{name} must be a number of at least 0, got {number!r}.")


def strategy_name(strategy: str | Sequence[str] | None) -> StrategyName:
    """Return a checked name of a strategy, or the names of backends that race."""
    if strategy is None:
        return "auto"
    if isinstance(strategy, str):
        if strategy == MAP:
            raise InputError(
                "strategy='map' is for many rows. Use it with session() or explain_batch(), or "
                "call explainer.with_map() first."
            )
        if strategy != RACE:
            check_name(strategy.removeprefix(PLAIN))
        return strategy
    if not isinstance(strategy, Sequence) or not strategy:
        raise InputError(
            f"strategy must be a name such as 'auto', or a list of backends to race, got "
            f"{strategy!r}."
        )
    for name in strategy:
        if name == "auto":
            raise InputError("'auto' cannot take part in a race. Name backends.")
        check_name(name)
    return tuple(strategy)
