"""The answer to a query: an immutable record that shares nothing with later calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from encoders.as_html import paragraph, table
from encoders.errors import InputError
from encoders.query.goal import Wanted
from portfolio.as_json import AsJson, as_plain, by_name
from portfolio.change import Change, in_short
from portfolio.proofs.size import PROOF_MB

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from encoders.backends.attempt import Attempt
    from encoders.backends.interface import Status, StopReason
    from portfolio.model.row import Row
    from portfolio.model.scoring import Scoring
    from portfolio.solving.rounder import Rounded, Rounder
    from portfolio.timings import Timings

Bounds = tuple[float, float, float]
FIRST = ", and of all as small this is the first"
UNSETTLED = " Whether it is the first of all as small is not known."
RACE_COLUMNS = [
    *("backend", "engine", "formulation", "threads", "limit_s", "status", "stop_reason"),
    *("upper", "lower", "began_s", "ended_s", "build_s", "solve_s", "peak_bytes", "raw"),
]


@dataclass(frozen=True)
class Result(AsJson):
    """A verified counterfactual, or a proof that there is none, or an honest neither.

    Attributes
    ----------
    status : "optimal" and "infeasible" are proofs; "feasible" is an answer without proof of
        minimality, "unknown" is neither
    stop_reason : "proved", "time_limit", "memory_limit", "interrupted", "gap" (a solver that
        stops at a gap has reached it) or "error"
    distance : cost of the counterfactual, inf without one
    lower_bound : no counterfactual costs less (inf if infeasible)
    gap : (distance - lower_bound) / distance; 0 at distance 0, inf without a counterfactual
    backend : what answered
    target : label that the counterfactual is predicted as, or the goal that it reaches; without
        one what was asked for (None: any other class)
    verified : the model itself gave what was asked for on exactly this row
    trace : (seconds since the call, upper bound, lower bound), best so far at each improvement
    remaining : options and leaves that were left to decide among after reduction
    message : why the answer is weaker than a proof, "" if it is not
    attempts : what each backend that was asked did, in the order asked; see also :attr:`race`
    certified_by : in a race what the proof is, "proved" by one backend or "bounds_meet": one's
        lower bound met another's counterfactual
    decision : for "auto", the path through the decision diagram to the backends, in words; ""
        where reduction alone proved
    margin : the lead, in the model's score, of the rows that the proof is about; 0 for all that
        the model's own predict decides as wanted
    first : with ``tie_break``, whether it is proved to be the first of all answers that cost the
        same; else None
    second : with ``second=name``, the backend that proved once more that nothing is cheaper, on the
        unreduced problem; "" if it did not get to it, None if nobody was asked
    row : the counterfactual as the model reads it; :attr:`counterfactual` gives it as the query was
    scoring : what :attr:`score` and :attr:`score_before` ask the model with
    rounder : what :attr:`told` and :attr:`rounded` ask the model with
    regional : what :meth:`region` asks the model with
    recorder : what :meth:`record` proves and tells with
    """

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
    changed: tuple[Change, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    certified_by: str = ""
    decision: str = ""
    margin: float = 0.0
    first: bool | None = None
    second: str | None = None
    row: Row | None = field(default=None, repr=False)
    scoring: Scoring | None = field(default=None, repr=False, compare=False)
    rounder: Rounder | None = field(default=None, repr=False, compare=False)
    regional: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    recorder: Callable[..., Any] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def score(self) -> float | None:
        """What the model itself gives for the counterfactual; None without one.

        The probability of the target class where there is ``predict_proba``, a regressor's
        prediction, else votes or the raw score. The model is asked once, at the first look.
        """
        return self._scores[1]

    @cached_property
    def score_before(self) -> float | None:
        """The same number for the query; None where no target was asked for nor found."""
        return self._scores[0]

    @cached_property
    def _scores(self) -> tuple[float | None, float | None]:
        return (None, None) if self.scoring is None else self.scoring.both()

    @cached_property
    def told(self) -> tuple[Change, ...]:
        """The changes as sentences tell them, in as few digits as keep a thousandth of each.

        Numbers are rounded away from the query, and only as far as the model itself still decides
        as wanted. :attr:`changed` has all digits. The model is asked once, at the first look.
        """
        return self.changed if self.rounder is None else self.rounder.told()

    @cached_property
    def rounded(self) -> Rounded | None:
        """The answer with the fewest digits that costs at most 0.1 % more; None if this one is.

        It is verified like any answer; what is proved is :attr:`lower_bound`. The model is asked at
        the first look.
        """
        return None if self.rounder is None else self.rounder.fewest()

    @property
    def in_fewer_digits(self) -> str:
        """A sentence about :attr:`rounded`; "" if the changes are printed with its numbers."""
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
        """A box around the counterfactual in which the model decides every row alike.

        Parameters
        ----------
        order : features to widen first; by default those that changed
        time_limit_s, threads, seed, on_progress : as for :meth:`Explainer.region`

        Returns
        -------
        Region

        Raises
        ------
        InputError
            There is no counterfactual, or the result came from another process.
        """
        if self.regional is None:
            raise InputError(
                "a region is drawn around a counterfactual, and by the explainer that found it; "
                "use explainer.region(result.counterfactual)."
            )
        return self.regional(order, time_limit_s, threads, seed, on_progress)

    def record(
        self, time_limit_s: float = 60.0, reasons: Any = None, proof_mb: float = PROOF_MB
    ) -> Any:
        """What was asked, answered and proved, with a proof that others can check.

        The search walks once more, with the bound known, and every step is written down. Where
        there can be no such proof, or a limit or Ctrl-C ends it, the record says why.

        Parameters
        ----------
        time_limit_s : for the proof; 0 for a record without one
        reasons : what :meth:`Explainer.reason_codes` or :meth:`Explainer.reasons` said of the same
            row, to be told beside the answer; the proof is not about it
        proof_mb : megabytes of the proof's steps, compressed

        Returns
        -------
        Record

        Raises
        ------
        InputError
            The result came from another process, or from a question of many steps; or bad limits.
        """
        if self.recorder is None:
            raise InputError(
                "a record is made where the model is, of an answer to explain; ask "
                "explainer.explain in this process and take its record."
            )
        told = [] if reasons is None else str(reasons).splitlines()
        return self.recorder(self, time_limit_s, told, proof_mb)

    def __getstate__(self) -> dict[str, Any]:
        """The model stays where it is: what it says is looked up before a result leaves."""
        names = ("score", "score_before", "scored", "told", "rounded")
        known = {name: getattr(self, name) for name in names}
        gone = dict.fromkeys(("scoring", "rounder", "regional", "recorder"))
        return self.__dict__ | known | gone

    @cached_property
    def scored(self) -> str:
        """The two numbers as a sentence; "" where there are none."""
        if self.scoring is None or self.score is None or self.score_before is None:
            return ""
        words = self.scoring.words()
        if self.score == self.score_before:
            return f"{words}: {self.score:.6g}."
        return f"{words}: {self.score_before:.6g} before, {self.score:.6g} after."

    @property
    def counterfactual(self) -> Any:
        """A fresh copy of the row, shaped like the query; None if none was found."""
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
        """One row per changed feature, by the query's own name of it: feature, from, to, cost."""
        import pandas as pd

        names = {} if self.row is None else self.row.own_names()
        return pd.DataFrame(
            [(names.get(c.feature, c.feature), c.before, c.after, c.cost) for c in self.changed],
            columns=["feature", "from", "to", "cost"],
        )

    def plot(self, what: Literal["changes", "bounds"] = "changes") -> Figure:
        """A picture of the answer, or of the way to it.

        Parameters
        ----------
        what : "changes", a waterfall of what each change costs, or "bounds", how the best answer
            and what is proved to be needed came nearer to each other

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            There is no counterfactual whose changes could be drawn.
        """
        from portfolio.plots.result import draw

        return draw(self, what)

    @property
    def race(self) -> pd.DataFrame:
        """One row per attempt: bounds, why it stopped, seconds; none where nothing raced.

        :attr:`attempts` has them in any case.
        """
        import pandas as pd

        shown = self.attempts if self._raced() else ()
        rows = [[getattr(attempt, name) for name in RACE_COLUMNS] for attempt in shown]
        return pd.DataFrame(rows, columns=RACE_COLUMNS)

    def _raced(self) -> bool:
        """Whether a race ended in a proof, or two attempts were under way at once."""
        in_order = sorted(self.attempts, key=lambda attempt: attempt.began_s)
        at_once = any(b.began_s < a.ended_s for a, b in pairwise(in_order))
        return at_once or bool(self.certified_by)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; infinite numbers become None."""
        rounded = self.rounded
        plain: dict[str, Any] = as_plain(
            {
                "status": self.status,
                "stop_reason": self.stop_reason,
                "target": self.target,
                "score": self.score,
                "score_before": self.score_before,
                "distance": self.distance,
                "lower_bound": self.lower_bound,
                "gap": self.gap,
                "margin": self.margin,
                "first": self.first,
                "second": self.second,
                "backend": self.backend,
                "decision": self.decision,
                "verified": self.verified,
                "message": self.message,
                "left": self.remaining,
                "counterfactual": None if self.row is None else by_name(self.row.named()),
                "changes": [each.to_dict() for each in self.changed],
                "rounded": None
                if rounded is None
                else {
                    "distance": rounded.distance,
                    "dearer": rounded.dearer,
                    "counterfactual": by_name(rounded.row.named()),
                    "changes": [each.to_dict() for each in rounded.changed],
                },
                "timings": vars(self.timings),
                "trace": self.trace,
            }
        )
        return plain

    def __str__(self) -> str:
        headline = " ".join(filter(None, [self._headline(), self.scored]))
        return "\n".join([headline, *(f"- {change}" for change in self.told)])

    def _repr_html_(self) -> str:
        """What a notebook shows: the headline, and a table of the changes."""
        headline = paragraph(" ".join(filter(None, [self._headline(), self.scored])))
        if not self.changed:
            return headline
        rows = [
            (told.feature, in_short(told.before), told.reached, f"{change.cost:.6g}")
            for told, change in zip(self.told, self.changed, strict=True)
        ]
        return headline + table(("feature", "from", "to", "cost"), rows)

    def _headline(self) -> str:
        why = f" {self.message}" if self.message else ""
        if self.status == "infeasible":
            return (
                f"Infeasible: no admissible change leads to {_words(self.target)}{self._lead()} "
                f"(proved{f', and once more by {self.second}' if self.second else ''}).{why}"
            )
        if self.row is None:
            return f"Unknown: no counterfactual found before the {self._stopped()}.{why}"
        if not self.changed:
            already = _reached(self.target)
            already = f"at {already}" if isinstance(self.target, Wanted) else already
            return f"Already {already}: nothing needs to change."
        count = f"{len(self.changed)} change{'s' if len(self.changed) > 1 else ''}"
        way = "reach" if isinstance(self.target, Wanted) else "be"
        text = f"{count} to {way} {_reached(self.target)}, at distance {self.distance:.6g}"
        if self.status == "optimal":
            proved = f"no smaller change exists{self._lead()}{FIRST if self.first else ''}"
            proved += f", as {self.second} proved once more" if self.second else ""
            open_ = UNSETTLED if self.first is False else ""
            return f"Optimal: {text} (proved: {proved}).{open_}{why}"
        bound = f"at least {self.lower_bound:.6g} is needed; stopped by the {self._stopped()}"
        return f"Feasible: {text} ({bound}).{why}"

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


def _words(target: Any) -> str:
    if isinstance(target, Wanted):
        return target.words()
    return "another class" if target is None else repr(target)


def _reached(target: Any) -> str:
    return _words(target) if isinstance(target, Wanted) else f"predicted as {_words(target)}"
