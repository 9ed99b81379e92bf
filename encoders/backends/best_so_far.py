"""The best choices and bounds of a solve, reported as they improve; the same for all backends."""

import math

from encoders.arrays import IntArray
from encoders.backends.interface import Outcome, Request, Status, StopReason
from encoders.problem.problem import Problem

KEPT_CHOICES = 20  # choices: the native model may refuse the best ones; memory stays small


class BestSoFar:
    """What a solve holds.

    Used by one thread at a time, or under the solver's own lock.

    Parameters
    ----------
    problem : what choices are choices of
    request : whom to tell of them
    ceiling : choices that cost more are passed over

    Attributes
    ----------
    upper : cost of the best choice, inf without one
    lower : no choice of interest costs less
    """

    def __init__(self, problem: Problem, request: Request, ceiling: float = math.inf) -> None:
        self._problem, self._request, self._ceiling = problem, request, ceiling
        self._choices: list[IntArray] = []
        self.upper = math.inf
        self.lower = 0.0

    @property
    def best(self) -> IntArray | None:
        """The cheapest choice, int64 (n_axes,), or None."""
        return self._choices[-1] if self._choices else None

    def found(self, levels: IntArray) -> None:
        """Take a choice, and report it if it is better than all before.

        Parameters
        ----------
        levels : int64 (n_axes,); kept as it is, so hand over a copy
        """
        distance = self._problem.distance(levels)
        if distance < self.upper and distance <= self._ceiling:
            self._choices = [*self._choices[1 - KEPT_CHOICES :], levels]
            self.upper = distance
            self._request.on_choice(levels)
            self._request.on_bounds(distance, min(self.lower, distance))

    def at_least(self, bound: float) -> None:
        """Take a lower bound, and report it if it is better than all before.

        Parameters
        ----------
        bound : no choice of interest costs less
        """
        if bound > self.lower:
            self.lower = bound
            self._request.on_bounds(self.upper, min(bound, self.upper))

    def beaten(self) -> bool:
        """Whether what is held costs more than is of interest by now: a rival's is better."""
        return self.upper > self._request.cutoff_now(self._problem)

    def proved(self, build_s: float, solve_s: float, raw: str, lower: float = math.inf) -> Outcome:
        """Nothing cheaper is of interest: the best choice is optimal, or there is none.

        Parameters
        ----------
        build_s : seconds for building
        solve_s : seconds for solving
        raw : the solver's own words
        lower : what was proved of the best choice's cost, where that is less than the cost
        """
        status: Status = "optimal" if self._choices else "infeasible"
        return self._outcome(status, "proved", lower, build_s, solve_s, raw)

    def nothing(self, build_s: float, solve_s: float, raw: str) -> Outcome:
        """There is a proof that nothing is of interest, whatever had been found.

        Parameters
        ----------
        build_s : seconds for building
        solve_s : seconds for solving
        raw : the solver's own words
        """
        self._choices, self.upper = [], math.inf
        return self._outcome("infeasible", "proved", math.inf, build_s, solve_s, raw)

    def ended(self, reason: StopReason, build_s: float, solve_s: float, raw: str) -> Outcome:
        """What is held although nothing was proved.

        Parameters
        ----------
        reason : why it stopped
        build_s : seconds for building
        solve_s : seconds for solving
        raw : the solver's own words
        """
        status: Status = "feasible" if self._choices else "unknown"
        return self._outcome(status, reason, self.lower, build_s, solve_s, raw)

    def _outcome(
        self,
        status: Status,
        reason: StopReason,
        lower: float,
        build_s: float,
        solve_s: float,
        raw: str,
    ) -> Outcome:
        return Outcome(
            status=status,
            stop_reason=reason,
            choices=tuple(reversed(self._choices)),
            upper=self.upper,
            lower=min(lower, self.upper),
            build_s=build_s,
            solve_s=solve_s,
            raw=raw,
        )
