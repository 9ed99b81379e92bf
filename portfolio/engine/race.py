"""Races of backends on one problem, which share bounds and end at the first proof."""

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from encoders.backends.attempt import (
    Attempt,
    ConfiguredBackend,
    Provenance,
    Report,
    Trace,
    extent,
)
from encoders.backends.interface import Outcome, Request, Status, StopReason
from encoders.core.arrays import IntArray
from encoders.problem.problem import Problem
from portfolio.workers.interrupt import start_thread

LOOK_S = 0.02  # seconds between checks of stop and deadline
AT_ONCE = 2  # minimum of concurrent entrants, whatever the threads
SAME = 1e-9  # relative error of sums of the same costs; see docs/reference/tolerances.md


def race(
    entrants: Sequence[ConfiguredBackend],
    problem: Problem,
    request: Request,
    after: Sequence[float] = (),
) -> Report:
    """Return the report of the first proof, or the best of all when time is up.

    As many backends run at once as there are threads, at least two. The others start when one
    gives up. All backends share the best cost, if they support this while running. If a lower
    bound meets another backend's choice, that is a proof: ``certified_by`` is "bounds_meet".
    The losers get a stop signal and are not waited for.

    Every choice and claim is checked against the problem. A backend that reports an invalid
    choice, a wrong cost, or a bound above another's answer is excluded, and its attempt says why.
    A choice that has been cut off is rejected without further consequence.
    """
    runners = [_Runner(e, s) for e, s in zip(entrants, after or [0.0] * len(entrants), strict=True)]
    return _Race(runners, problem, request).run()


@dataclass(eq=False)
class _Runner:
    """Progress of one entrant; changed under the race's lock only."""

    entrant: ConfiguredBackend
    after_s: float
    cutoff: float = math.inf
    began_s: float = math.inf
    stop: threading.Event = field(default_factory=threading.Event)
    outcome: Outcome | None = None
    ended_s: float = math.inf
    trace: Trace = field(default_factory=lambda: Trace(lambda upper, lower: None))
    upper: float = math.inf
    lower: float = 0.0
    out: str = ""

    @property
    def running(self) -> bool:
        return math.isfinite(self.began_s) and self.outcome is None

    @property
    def uses_rivals(self) -> bool:
        return self.entrant.backend.capability.uses_rivals

    def attempt(self, problem: Problem, request: Request, now_s: float) -> Attempt:
        """Return the attempt so far."""
        outcome = self.outcome
        if outcome is None:
            status: Status = "feasible" if math.isfinite(self.upper) else "unknown"
            words = "stopped" if self.running else "not started"
            outcome = Outcome(
                status, "interrupted", (), self.upper, self.lower, 0.0,
                max(now_s - self.began_s, 0.0), words,
            )  # fmt: skip
        if self.out:
            outcome = replace(
                outcome, status="unknown", stop_reason="error", lower=0.0, raw=self.out
            )
        with_cutoff = replace(request, cutoff=self.cutoff)
        attempt = self.entrant.attempt(problem, with_cutoff, outcome, self.trace)
        return replace(attempt, began_s=min(self.began_s, now_s), ended_s=min(self.ended_s, now_s))


class _Race:
    def __init__(self, runners: list[_Runner], problem: Problem, request: Request) -> None:
        self._problem, self._request, self._runners = problem, request, runners
        slots = min(len(runners), max(AT_ONCE, request.threads))
        self._slots, self._threads = slots, max(1, request.threads // slots)
        self._began = time.perf_counter()
        self._changed = threading.Condition(threading.RLock())
        self._best: IntArray | None = None
        self._finder: _Runner | None = None
        self._upper = math.inf
        self._lower = 0.0
        self._winner: _Runner | None = None
        self._certified_by = ""
        self._over = False

    def run(self) -> Report:
        with self._changed:
            try:
                while self._winner is None:
                    self._start()
                    if not any(runner.running for runner in self._runners) or self._is_late():
                        break
                    self._changed.wait(LOOK_S)
            finally:  # also after a signal
                self._over = True
                for runner in self._runners:
                    runner.stop.set()
            return self._report()

    def _now(self) -> float:
        return time.perf_counter() - self._began

    def _is_late(self) -> bool:
        return self._request.stop.is_set() or self._now() >= self._request.time_limit_s

    def _start(self) -> None:
        """Start waiting entrants in free slots; when time is up only the first."""
        if math.isfinite(self._runners[0].began_s) and self._is_late():
            return
        busy, now = sum(runner.running for runner in self._runners), self._now()
        waiting = [r for r in self._runners if math.isinf(r.began_s)]
        ready = [r for r in waiting if now >= r.after_s] or ([] if busy else waiting[:1])
        for runner in ready[: self._slots - busy]:
            runner.began_s = now
            runner.trace = Trace(lambda upper, lower: None)
            runner.cutoff = self._cutoff
            own_request = replace(
                self._request,
                time_limit_s=self._request.time_limit_s - runner.began_s,
                threads=self._threads,
                cutoff=runner.cutoff,
                stop=runner.stop,
                on_choice=partial(self._take_choice, runner),
                on_bounds=partial(self._take_bounds, runner),
                rival=lambda: self._best,
                spare=self._spare,
                refuses=None,  # a proof without rejected choices would not hold for all racers
            )
            name = f"counterfolio-race-{runner.entrant.backend.name}"
            work = partial(self._work, runner, own_request)
            start_thread(work, name)

    def _work(self, runner: _Runner, request: Request) -> None:
        try:
            outcome = runner.entrant.solve(self._problem, request)
        except Exception as error:  # a failing backend must not end the race
            words = f"{type(error).__name__}: {error}"
            outcome = Outcome("unknown", "error", (), math.inf, 0.0, 0.0, 0.0, words)
        with self._changed:
            runner.outcome, runner.ended_s = outcome, self._now()
            if not self._over:
                self._finish(runner, outcome)
            self._changed.notify()

    def _spare(self) -> int:
        """Return how many extra threads each running entrant may use until others start."""
        busy = sum(runner.running for runner in self._runners)
        return max(0, self._request.threads // max(busy, 1) - self._threads)

    @property
    def _cutoff(self) -> float:
        return min(self._upper, self._request.cutoff)

    def _take_choice(self, runner: _Runner, levels: IntArray) -> None:
        with self._changed:
            if self._over or runner.out:
                return
            if not self._is_choice(levels):
                self._disqualify(runner, "found a choice that breaks the problem's constraints")
                return
            if self._problem.forbids(levels):
                return  # rejected natively since its start: not a false claim
            cost = self._problem.distance(levels)
            runner.upper = min(runner.upper, cost)
            if cost < self._upper:
                self._upper, self._best, self._finder = cost, levels, runner
                self._request.on_choice(levels)
                self._compare()

    def _is_choice(self, levels: IntArray) -> bool:
        problem = self._problem
        return (
            levels.shape == (problem.n_axes,)
            and bool(((levels >= 0) & (levels < problem.size)).all())
            and problem.keeps_rows(levels)
        )

    def _take_bounds(self, runner: _Runner, upper: float, lower: float) -> None:
        with self._changed:
            runner.trace.report(upper, lower)
            if not self._over and not runner.out and lower > runner.lower:
                runner.lower = lower
                self._compare()

    def _compare(self) -> None:
        """Join the bounds of all entrants, end the race if they meet, exclude refuted entrants."""
        for runner in self._runners:
            if not runner.out and self._claim(runner) > self._cutoff * (1 + self._slack(runner)):
                words = (
                    f"claimed that nothing costs less than {self._claim(runner):.9g}, "
                    f"but something costs {self._cutoff:.9g}"
                )
                self._disqualify(runner, words)
        trusted = [runner for runner in self._runners if not runner.out]
        best = max(trusted, key=lambda r: r.lower, default=None)
        self._lower = 0.0 if best is None else min(best.lower, self._cutoff)
        self._request.on_bounds(self._upper, self._lower)
        if best is None or self._winner is not None or math.isinf(self._cutoff):
            return
        if best.lower >= self._cutoff * (1 - best.entrant.backend.capability.tolerance):
            self._winner = best
            self._certified_by = "proved" if self._finder in (None, best) else "bounds_meet"
            self._changed.notify()

    def _claim(self, runner: _Runner) -> float:
        """Return an entrant's lower bound, limited to the cutoff that it knew."""
        return min(runner.lower, self._cutoff if runner.uses_rivals else runner.cutoff)

    def _slack(self, runner: _Runner) -> float:
        return max(SAME, 10 * runner.entrant.backend.capability.tolerance)

    def _finish(self, runner: _Runner, outcome: Outcome) -> None:
        if runner.out:
            return
        for levels in reversed(outcome.choices):
            self._take_choice(runner, levels)
        if runner.out:
            return
        if outcome.stop_reason == "proved":
            runner.out = self._refute(runner, outcome)
            if not runner.out and self._winner is None:
                self._winner, self._certified_by = runner, "proved"
                self._lower = self._cutoff
        elif outcome.lower > runner.lower:
            runner.lower = outcome.lower
            self._compare()

    def _refute(self, runner: _Runner, outcome: Outcome) -> str:
        """Return why a claimed proof is invalid, "" if nothing speaks against it."""
        slack = 1 + self._slack(runner)
        if outcome.status == "infeasible":
            if not runner.uses_rivals and self._cutoff * slack < runner.cutoff:
                return f"claimed that nothing costs up to {runner.cutoff:.9g}, but something does"
            return ""
        if not outcome.choices:
            return "claimed a proof without a choice"
        if self._problem.forbids(outcome.choices[0]):
            return "claimed a proof for a choice that had been cut off"
        cost = self._problem.distance(outcome.choices[0])
        if not math.isclose(cost, outcome.upper, rel_tol=SAME, abs_tol=1e-300):
            return f"claimed a cost of {outcome.upper:.9g} for a choice that costs {cost:.9g}"
        if cost > self._cutoff * slack:
            return f"claimed that {cost:.9g} is optimal, but something costs {self._cutoff:.9g}"
        return ""

    def _disqualify(self, runner: _Runner, words: str) -> None:
        runner.out, runner.lower = words, 0.0
        runner.stop.set()

    def _report(self) -> Report:
        now = self._now()
        request = replace(self._request, threads=self._threads)
        choices = () if self._best is None else (self._best,)
        status: Status
        if self._winner is None:
            status, reason = ("feasible" if choices else "unknown"), self._reason()
        else:
            status, reason = ("optimal" if choices else "infeasible"), "proved"
        lower = math.inf if status == "infeasible" else self._lower
        last = self._winner or min(self._runners, key=lambda r: r.upper)
        done = last.outcome
        outcome = Outcome(
            status=status,
            stop_reason=reason,
            choices=choices,
            upper=self._upper,
            lower=lower,
            build_s=0.0 if done is None else done.build_s,
            solve_s=now if done is None else now - done.build_s,
            raw=f"{self._certified_by or self._reason()} after {now:.3f} s",
        )
        attempts = tuple(self._attempt(r, request, now, status) for r in self._runners)
        remaining = extent(self._problem)
        name = last.entrant.backend.name
        return Report(outcome, Provenance(name, remaining, attempts, self._certified_by))

    def _attempt(self, runner: _Runner, request: Request, now: float, status: Status) -> Attempt:
        attempt = runner.attempt(self._problem, request, now)
        if runner is self._winner and self._certified_by == "proved":
            # Its bound is the proof, even if its solve has not returned yet.
            return attempt.saying(status=status, stop_reason="proved")
        return attempt

    def _reason(self) -> StopReason:
        if self._request.stop.is_set():
            return "interrupted"
        reasons = [r.outcome.stop_reason for r in self._runners if r.outcome and not r.out]
        limits = [reason for reason in reasons if reason not in ("error", "interrupted")]
        if any(runner.running for runner in self._runners):
            return "time_limit"
        return limits[0] if limits else "error"
