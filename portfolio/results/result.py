"""The answer to a query: an immutable record that later calls do not change."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from encoders.backends.interface import Status, StopReason
from encoders.core.as_html import paragraph, table
from encoders.core.errors import InputError
from encoders.query.goal import Wanted
from portfolio.results.change import Change
from portfolio.results.codec import HIDDEN, AsJson, decode, member
from portfolio.results.printing import bounds, counted, distinct, short, unwrapped, wrapped
from portfolio.results.rows import Values, written_row
from portfolio.results.timings import Timings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from encoders.backends.attempt import Attempt
    from portfolio.model.native import Scoring
    from portfolio.model.row import Row

Bounds = tuple[float, float, float]
Function = Callable[..., Any]
PROOF_MB = 64.0  # default limit on the compressed steps of a proof, in megabytes
FIRST = ", and this is the first of all answers at this distance"
UNSETTLED = "It is not proved to be the first of all answers at this distance."
RACE_COLUMNS = [
    *("backend", "engine", "formulation", "threads", "limit_s", "status", "stop_reason"),
    *("upper", "lower", "began_s", "ended_s", "build_s", "solve_s", "peak_bytes", "raw"),
]


@dataclass(frozen=True, eq=False)
class Rounded:
    """Answer in fewer digits that costs slightly more; confirmed by the model itself.

    Attributes
    ----------
    distance : distance of this row.
    extra_cost : relative increase of the distance over the optimum, such as 0.0004.
    row : row in the model's order; :attr:`counterfactual` has the query's form.
    changed : changes as in :class:`portfolio.results.result.Result`.
    """

    distance: float
    extra_cost: float
    row: Row = field(metadata=written_row("counterfactual"))
    changed: tuple[Change, ...] = field(metadata=member(name="changes"))

    @property
    def counterfactual(self) -> Any:
        """Fresh copy of the row, in the form of the query."""
        return self.row.given()

    def __str__(self) -> str:
        reached = ", ".join(f"{change.feature} {change.reached}" for change in self.changed)
        percent = f"costs {100 * self.extra_cost:.2g} % more"
        price = percent if self.extra_cost else "at the same distance"
        return f"In fewer digits ({price}): {reached}."


@dataclass(frozen=True)
class Computed:
    """Values of a result that the model computes on demand, computed already.

    Fields have the names of attributes of :class:`Result`. If the changes in the words of
    sentences are None, they are computed on demand as well.
    """

    score: float | None
    score_before: float | None
    scored: str
    told: tuple[Change, ...] | None = None
    rounded: Rounded | None = None


class Shortening(Protocol):
    """Search for numbers with fewer digits, run on demand."""

    def told(self) -> tuple[Change, ...]:
        """Return the changes with as few digits as sentences show."""
        ...

    def fewest(self) -> Rounded | None:
        """Return an answer of almost equal cost with the fewest digits; None if none has fewer."""
        ...


@dataclass(frozen=True)
class Result(AsJson):
    """Answer to a query: a verified counterfactual, a proof that none exists, or neither.

    Attributes
    ----------
    status : {"optimal", "infeasible", "feasible", "unknown"}
        Outcome. "optimal" and "infeasible" are proved. "feasible" is a counterfactual that is not
        proved to be the closest one. "unknown" means no counterfactual and no proof.
    stop_reason : str
        Reason why the search ended: "proved", "time_limit", "memory_limit", "interrupted", "gap"
        (a solver that stops at a gap has reached it) or "error".
    distance : float
        Cost of the counterfactual, inf if there is none.
    lower_bound : float
        Proved lower bound: no counterfactual costs less. It is inf if the query is infeasible.
    backend : str
        Name of the backend that solved the query, or "reduce" or "map" if none was needed. It is
        "presolve" if the time ended before a backend started.
    target : label, goal or None
        Label that the counterfactual is predicted as, or the goal that it reaches. Without a
        counterfactual, the target of the query; None stands for any other class.
    verified : bool
        Whether the model itself predicts the target for exactly this row.
    timings : Timings
        Wall-clock seconds of each phase.
    trace : tuple of (float, float, float)
        Seconds since the call, upper bound and lower bound at each improvement.
    message : str
        Explanation if the answer is weaker than a proof, else "".
    remaining : tuple of (int, int)
        Options and leaves that remained after presolve.
    changed : tuple of Change
        Changed features, with all digits.
    attempts : tuple of Attempt
        Runs of the backends, in the order of their start. See also :attr:`race`.
    certified_by : str
        Kind of proof in a race: "proved" by one backend, or "bounds_meet" if the lower bound of
        one backend equals the cost that another one found.
    decision : str
        Path through the decision diagram if strategy "auto" chose a backend, else "".
    margin : float
        Lead, in the model's score, of the rows that the proof covers. At 0 it covers all rows for
        which the model's own predict returns the target.
    first : bool or None
        Whether this is proved to be the first of all answers at the same distance; None without
        ``tie_break``.
    second : str or None
        Name of the backend that proved on the unreduced problem that nothing is cheaper; "" if it
        did not finish, None without ``second``.
    row : Row or None
        The counterfactual as the model reads it. :attr:`counterfactual` has the query's form.
    scoring : Scoring or None
        Source of :attr:`score` and :attr:`score_before`; None after pickling.
    rounder : Shortening or None
        Source of :attr:`told` and :attr:`rounded`; None after pickling.
    regional : callable or None
        Implementation of :meth:`region`; None after pickling.
    recorder : callable or None
        Implementation of :meth:`record`; None after pickling.
    computed : Computed or None
        Values that the model computes on demand, for a result without its model.

    Examples
    --------
    >>> result = explainer.explain(row)
    >>> result.status, result.target, result.verified
    ('optimal', 'granted', True)
    """

    COMPUTED = ("score", "score_before", "gap", "rounded")
    ORDER = (
        "status", "stop_reason", "target", "score", "score_before", "distance", "lower_bound",
        "gap", "margin", "first", "second", "backend", "decision", "verified", "message",
        "remaining", "counterfactual", "changes", "rounded", "timings", "trace",
    )  # fmt: skip

    status: Status
    stop_reason: StopReason
    distance: float
    lower_bound: float
    backend: str
    target: Any
    verified: bool
    timings: Timings
    trace: tuple[Bounds, ...]
    message: str = ""
    remaining: tuple[int, int] = (0, 0)
    changed: tuple[Change, ...] = field(default=(), metadata=member(name="changes"))
    attempts: tuple[Attempt, ...] = field(default=(), metadata=HIDDEN)
    certified_by: str = field(default="", metadata=HIDDEN)
    decision: str = ""
    margin: float = 0.0
    first: bool | None = None
    second: str | None = None
    row: Row | None = field(
        default=None, repr=False, metadata=written_row("counterfactual", Values | None)
    )
    scoring: Scoring | None = field(default=None, repr=False, compare=False, metadata=HIDDEN)
    rounder: Shortening | None = field(default=None, repr=False, compare=False, metadata=HIDDEN)
    regional: Function | None = field(default=None, repr=False, compare=False, metadata=HIDDEN)
    recorder: Function | None = field(default=None, repr=False, compare=False, metadata=HIDDEN)
    computed: Computed | None = field(default=None, repr=False, compare=False, metadata=HIDDEN)

    @cached_property
    def score(self) -> float | None:
        """Score that the model itself computes for the counterfactual; None without one.

        It is the probability of the target class if the model has ``predict_proba``, a regressor's
        prediction, else votes or the raw score. The model is called at the first access only.
        """
        return self._scores[1]

    @cached_property
    def score_before(self) -> float | None:
        """Score of the query on the same scale; None without a target and a counterfactual."""
        return self._scores[0]

    @cached_property
    def _scores(self) -> tuple[float | None, float | None]:
        if self.computed is not None:
            return self.computed.score_before, self.computed.score
        return (None, None) if self.scoring is None else self.scoring.both()

    @cached_property
    def told(self) -> tuple[Change, ...]:
        """Changes as sentences show them, with few digits: within a thousandth of each change.

        Numbers are rounded away from the query, and only if the model itself still predicts the
        target. :attr:`changed` has all digits. The model is called at the first access only.
        """
        if self.computed is not None and self.computed.told is not None:
            return self.computed.told
        return self.changed if self.rounder is None else self.rounder.told()

    @cached_property
    def rounded(self) -> Rounded | None:
        """Answer with the fewest digits that costs at most 0.1 % more; None if this one is.

        It is verified as any other answer. :attr:`lower_bound` is what is proved. The model is
        called at the first access only.
        """
        if self.computed is not None:
            return self.computed.rounded
        return None if self.rounder is None else self.rounder.fewest()

    @property
    def in_fewer_digits(self) -> str:
        """Sentence about :attr:`rounded`; "" if the printed changes have its numbers already."""
        if self.rounded is None:
            return ""
        printed = [(change.feature, change.reached) for change in self.told]
        fewer = [(change.feature, change.reached) for change in self.rounded.changed]
        return "" if printed == fewer else str(self.rounded)

    def region(
        self,
        order: Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[[float, int, int], None] | None = None,
    ) -> Any:
        """Find a box around the counterfactual in which the prediction stays the same.

        Parameters
        ----------
        order : sequence of str, optional
            Features to widen first; by default those that changed.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Progress callback, as in :meth:`Explainer.region`.

        Returns
        -------
        Region
            The box, one :class:`Span` per feature.

        Raises
        ------
        InputError
            If the result does not have a counterfactual, or comes from another process.

        Examples
        --------
        >>> region = explainer.explain(row).region()
        >>> len(region.spans) == len(explainer.features.features)
        True
        """
        if self.regional is None:
            raise InputError(
                "region() needs a counterfactual and the explainer that found it in this process. "
                "Call explainer.region(row) with the row of your choice."
            )
        return self.regional(order, time_limit_s, threads, seed, on_progress)

    def record(
        self, time_limit_s: float = 60.0, reasons: Any = None, proof_mb: float = PROOF_MB
    ) -> Any:
        """Return a record of the query, the answer and a proof that others can check.

        The search runs again with the bound known, and every step is recorded. If no such
        proof is possible, or if a limit or Ctrl-C ends it, the record contains the reason.

        Parameters
        ----------
        time_limit_s : float, default 60
            Seconds for the proof; 0 for a record without a proof.
        reasons : ReasonCodes or Reasons, optional
            Result of :meth:`Explainer.reason_codes` or :meth:`Explainer.reasons` for the same row,
            to be printed in the report. The proof does not cover it.
        proof_mb : float, default PROOF_MB
            Maximum size of the compressed proof in megabytes.

        Returns
        -------
        Record
            The record, which can be saved, checked and printed as a report.

        Raises
        ------
        InputError
            If the result comes from another process or from a question of several steps, or if a
            limit is invalid.

        Examples
        --------
        >>> explainer.explain(row).record().proved
        True
        """
        if self.recorder is None:
            raise InputError(
                "record() needs the model and an answer of explain(). Call explainer.explain(row) "
                "in this process, then record() on its result."
            )
        lines = [] if reasons is None else unwrapped(str(reasons)).splitlines()
        return self.recorder(self, time_limit_s, lines, proof_mb)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the model; the values it computes are computed before."""
        scores = self.score, self.score_before, self.scored
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        without_model = dict.fromkeys(("scoring", "rounder", "regional", "recorder"))
        return own | without_model | {"computed": Computed(*scores, self.told, self.rounded)}

    @cached_property
    def scored(self) -> str:
        """Sentence with both scores; "" without scores."""
        if self.computed is not None:
            return self.computed.scored
        return scores_sentence(self.scoring, *self._scores)

    @property
    def counterfactual(self) -> Any:
        """Fresh copy of the counterfactual, in the form of the query; None if none was found."""
        return None if self.row is None else self.row.given()

    @property
    def gap(self) -> float:
        """Relative gap between the distance and the lower bound."""
        if not math.isfinite(self.distance):
            return math.inf
        if self.distance == 0:
            return 0.0
        return max(0.0, (self.distance - self.lower_bound) / self.distance)

    def changes(self) -> pd.DataFrame:
        """Return a table with one row per changed feature.

        Returns
        -------
        DataFrame
            Columns feature (as named in the query), from, to and cost.

        Examples
        --------
        >>> list(explainer.explain(row).changes().columns)
        ['feature', 'from', 'to', 'cost']
        """
        import pandas as pd

        names = {} if self.row is None else self.row.own_names()
        return pd.DataFrame(
            [(names.get(c.feature, c.feature), c.before, c.after, c.cost) for c in self.changed],
            columns=["feature", "from", "to", "cost"],
        )

    def plot(self, what: Literal["changes", "bounds"] = "changes") -> Figure:
        """Plot the changes of the answer or the bounds over time.

        Parameters
        ----------
        what : {"changes", "bounds"}, default "changes"
            Kind of plot: a waterfall of the costs of all changes, or the distance of the best
            answer and the lower bound over time.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        InputError
            If the result does not have a counterfactual whose changes could be drawn.

        Examples
        --------
        >>> result = explainer.explain(row)
        >>> result.plot().axes[0].get_xlabel(), result.plot("bounds").axes[0].get_xlabel()
        ('cost', 'seconds since the call')
        """
        from portfolio.results.plots.result import draw

        return draw(self, what)

    @property
    def race(self) -> pd.DataFrame:
        """Table of a race, one row per attempt: bounds, stop reason, seconds; empty without a race.

        :attr:`attempts` has all attempts in any case.
        """
        import pandas as pd

        shown = self.attempts if self._raced() else ()
        rows = [[getattr(attempt, name) for name in RACE_COLUMNS] for attempt in shown]
        return pd.DataFrame(rows, columns=RACE_COLUMNS)

    def _raced(self) -> bool:
        """Return whether a race ended in a proof or two attempts overlapped in time."""
        in_order = sorted(self.attempts, key=lambda attempt: attempt.began_s)
        at_once = any(b.began_s < a.ended_s for a, b in pairwise(in_order))
        return at_once or bool(self.certified_by)

    @classmethod
    def _read(cls, members: Mapping[str, Any]) -> Self:
        """Return the result with the values that it cannot compute without its model."""
        rounded = decode(Rounded | None, members["rounded"])
        computed = Computed(members["score"], members["score_before"], "", None, rounded)
        return replace(super()._read(members), computed=computed)

    def __str__(self) -> str:
        return wrapped([*self._sentences(), *(f"- {change}" for change in self.told)])

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the headline and a table of the changes."""
        headline = paragraph(self.headline)
        if not self.changed:
            return headline
        rows = [
            (shown.feature, shown.origin, shown.reached, short(change.cost))
            for shown, change in zip(self.told, self.changed, strict=True)
        ]
        return headline + table(("feature", "from", "to", "cost"), rows)

    @property
    def headline(self) -> str:
        """Sentences about status, distance, proof and scores, in one line."""
        return " ".join(self._sentences())

    def _sentences(self) -> list[str]:
        """Return the sentences above the changes, without empty ones."""
        sentences = [self._outcome()]
        if self.row is None or self.changed:
            first_open = self.status == "optimal" and self.first is False
            sentences += [UNSETTLED if first_open else "", self.message]
        return [sentence for sentence in [*sentences, self.scored] if sentence]

    def _outcome(self) -> str:
        """Return a sentence about the status."""
        if self.status == "infeasible":
            second = f"; confirmed by {self.second}" if self.second else ""
            return (
                f"Infeasible: no admissible change leads to {_words(self.target)}{self._lead()} "
                f"(proved{second})."
            )
        if self.row is None:
            return f"Unknown: no counterfactual found before the {self._stopped()}."
        if not self.changed:
            already = _reached(self.target)
            already = f"at {already}" if isinstance(self.target, Wanted) else already
            return f"Already {already}: nothing needs to change."
        way = "reach" if isinstance(self.target, Wanted) else "be"
        text = f"{counted(len(self.changed), 'change')} to {way} {_reached(self.target)}"
        if self.status == "optimal":
            proved = f"no smaller change exists{self._lead()}{FIRST if self.first else ''}"
            proved += f"; confirmed by {self.second}" if self.second else ""
            return f"Optimal: {text}, at distance {short(self.distance)} (proved: {proved})."
        lower, distance = bounds(self.lower_bound, self.distance)
        bound = f"at least {lower} is needed; stopped by the {self._stopped()}"
        return f"Feasible: {text}, at distance {distance} ({bound})."

    def _lead(self) -> str:
        return f" with a lead of {self.margin:g}" if self.margin else ""

    def _stopped(self) -> str:
        words = {
            "time_limit": "time limit",
            "memory_limit": "memory limit",
            "interrupted": "interrupt",
            "gap": "solver's own gap",
        }
        return words.get(self.stop_reason, "solver")


def without_answer(result: Result, lower_bound: float, **changes: Any) -> Result:
    """Return a result whose answer does not count; its bounds and times remain."""
    return replace(
        result,
        **{"distance": math.inf, "lower_bound": lower_bound, "verified": False}
        | {"changed": (), "row": None, "scoring": None, "rounder": None, "regional": None}
        | changes,
    )


def scores_sentence(scoring: Scoring | None, before: float | None, after: float | None) -> str:
    """Return a sentence with the scores of the query and the answer; "" without both."""
    if scoring is None or before is None or after is None:
        return ""
    if before == after:
        return f"{scoring.words()}: {short(after)}."
    first, second = distinct(before, after)
    return f"{scoring.words()}: {first} before, {second} after."


def _words(target: Any) -> str:
    if isinstance(target, Wanted):
        return target.words()
    return "another class" if target is None else repr(target)


def _reached(target: Any) -> str:
    if isinstance(target, Mapping) and any(isinstance(each, Wanted) for each in target.values()):
        return " and ".join(f"{_reached(each)} in {name!r}" for name, each in target.items())
    return _words(target) if isinstance(target, Wanted) else f"predicted as {_words(target)}"
