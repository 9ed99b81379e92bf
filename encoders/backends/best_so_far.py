"""The best choices and bounds of a solve, reported as they improve; shared by all backends."""

import math

from encoders.backends.interface import Outcome, Request, Status, StopReason
from encoders.core.arrays import IntArray
from encoders.problem.problem import Problem

KEPT_CHOICES = 20  # limits memory; more than one, as native verification may reject the best


class BestSoFar:
    """The incumbent and the bounds of a solve.

    One thread at a time may use it, or several under the solver's own lock.

    Parameters
    ----------
    problem : Problem
        The problem that is solved.
    request : Request
        The request, whose callbacks report improvements.
    ceiling : float, default inf
        Limit of the cost; choices that cost more are ignored.

    Attributes
    ----------
    upper : float
        Cost of the incumbent, inf without one.
    lower : float
        Proved lower bound on the cost of every wanted choice.

    Examples
    --------
    >>> import numpy as np
    >>> from encoders.backends.best_so_far import BestSoFar
    >>> from encoders.backends.interface import Request
    >>> from encoders.testing import NAMED
    >>> best = BestSoFar(NAMED[0].problem, Request(60.0, 1))
    >>> best.found(np.array([2]))
    >>> best.found(np.array([1]))
    >>> best.upper, best.best.tolist()
    (0.25, [1])
    """

    def __init__(self, problem: Problem, request: Request, ceiling: float = math.inf) -> None:
        self._problem, self._request, self._ceiling = problem, request, ceiling
        self._choices: list[IntArray] = []
        self.upper = math.inf
        self.lower = 0.0

    @property
    def best(self) -> IntArray | None:
        """The incumbent, int64 array of shape (n_axes,), or None."""
        return self._choices[-1] if self._choices else None

    def found(self, levels: IntArray) -> None:
        """Record a choice, and report it if it improves on the incumbent.

        Parameters
        ----------
        levels : int64 array of shape (n_axes,)
            The choice, which is stored without a copy.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.backends.best_so_far import BestSoFar
        >>> from encoders.backends.interface import Request
        >>> from encoders.testing import NAMED
        >>> best = BestSoFar(NAMED[0].problem, Request(60.0, 1, on_choice=print))
        >>> best.found(np.array([1]))
        [1]
        >>> best.found(np.array([2]))  # more expensive, so it is not reported
        """
        distance = self._problem.distance(levels)
        if distance < self.upper and distance <= self._ceiling:
            self._choices = [*self._choices[1 - KEPT_CHOICES :], levels]
            self.upper = distance
            self._request.on_choice(levels)
            self._request.on_bounds(distance, min(self.lower, distance))

    def at_least(self, bound: float) -> None:
        """Record a lower bound, and report it if it improves on the previous one.

        Parameters
        ----------
        bound : float
            Proved lower bound on the cost of every wanted choice.

        Examples
        --------
        >>> from encoders.backends.best_so_far import BestSoFar
        >>> from encoders.backends.interface import Request
        >>> from encoders.testing import NAMED
        >>> best = BestSoFar(NAMED[0].problem, Request(60.0, 1))
        >>> best.at_least(0.2)
        >>> best.at_least(0.1)  # weaker than the known bound, so it is ignored
        >>> best.lower
        0.2
        """
        if bound > self.lower:
            self.lower = bound
            self._request.on_bounds(self.upper, min(bound, self.upper))

    def beaten(self) -> bool:
        """Return whether the incumbent is no longer wanted because another solver has a better one.

        Returns
        -------
        bool
            Whether the incumbent costs more than the current cutoff.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.backends.best_so_far import BestSoFar
        >>> from encoders.backends.interface import Request
        >>> from encoders.testing import NAMED
        >>> best = BestSoFar(NAMED[0].problem, Request(60.0, 1, rival=lambda: np.array([1])))
        >>> best.found(np.array([2]))
        >>> best.beaten()
        True
        """
        return self.upper > self._request.cutoff_now(self._problem)

    def proved(self, build_s: float, solve_s: float, raw: str, lower: float = math.inf) -> Outcome:
        """Return the outcome of a finished search: the incumbent is optimal, or there is none.

        Parameters
        ----------
        build_s : float
            Seconds spent on building.
        solve_s : float
            Seconds spent on solving.
        raw : str
            Message of the solver itself.
        lower : float, default inf
            Proved lower bound on the incumbent's cost, if it is below that cost.

        Returns
        -------
        Outcome
            The outcome "optimal" or "infeasible".

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.backends.best_so_far import BestSoFar
        >>> from encoders.backends.interface import Request
        >>> from encoders.testing import NAMED
        >>> best = BestSoFar(NAMED[0].problem, Request(60.0, 1))
        >>> best.found(np.array([1]))
        >>> outcome = best.proved(build_s=0.1, solve_s=0.5, raw="OPTIMAL")
        >>> outcome.status, outcome.upper, outcome.lower
        ('optimal', 0.25, 0.25)
        """
        status: Status = "optimal" if self._choices else "infeasible"
        return self._outcome(status, "proved", lower, build_s, solve_s, raw)

    def nothing(self, build_s: float, solve_s: float, raw: str) -> Outcome:
        """Return the outcome of a proof that no choice is wanted, and discard the choices so far.

        Parameters
        ----------
        build_s : float
            Seconds spent on building.
        solve_s : float
            Seconds spent on solving.
        raw : str
            Message of the solver itself.

        Returns
        -------
        Outcome
            The outcome "infeasible".

        Examples
        --------
        >>> from encoders.backends.best_so_far import BestSoFar
        >>> from encoders.backends.interface import Request
        >>> from encoders.testing import NAMED
        >>> best = BestSoFar(NAMED[0].problem, Request(60.0, 1))
        >>> outcome = best.nothing(build_s=0.1, solve_s=0.5, raw="UNSAT")
        >>> outcome.status, outcome.lower
        ('infeasible', inf)
        """
        self._choices, self.upper = [], math.inf
        return self._outcome("infeasible", "proved", math.inf, build_s, solve_s, raw)

    def ended(self, reason: StopReason, build_s: float, solve_s: float, raw: str) -> Outcome:
        """Return the outcome of a solve that ended without a proof.

        Parameters
        ----------
        reason : str
            Reason why it ended.
        build_s : float
            Seconds spent on building.
        solve_s : float
            Seconds spent on solving.
        raw : str
            Message of the solver itself.

        Returns
        -------
        Outcome
            The outcome "feasible" or "unknown".

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.backends.best_so_far import BestSoFar
        >>> from encoders.backends.interface import Request
        >>> from encoders.testing import NAMED
        >>> best = BestSoFar(NAMED[0].problem, Request(60.0, 1))
        >>> best.found(np.array([1]))
        >>> outcome = best.ended("time_limit", build_s=0.1, solve_s=60.0, raw="")
        >>> outcome.status, outcome.upper, outcome.lower
        ('feasible', 0.25, 0.0)
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
