"""The conformance suite: does a backend do what it declares?

Named problems with optima known by hand, and random ones whose optimum is found by trying every
choice, are given to each engine and formulation. Every feature that is declared is tried.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.backends.interface import Backend, Feature, Outcome, Request
from encoders.backends.prepared import PreparedModel
from encoders.problem.problem import Problem
from encoders.testing.answers import check_outcome
from encoders.testing.enumeration import optimum
from encoders.testing.hard_problem import small_hard_problem
from encoders.testing.named_problems import NAMED, Named
from encoders.testing.random_problems import random_problem

LIMIT_S = 60.0  # seconds: no test problem takes long; a backend that hangs is told of
RUN_S = 1.0  # before it is told to stop
STOP_S = 20.0  # seconds for a stop to be heard, on a machine that does much else


@dataclass(frozen=True)
class Configuration:
    """A backend by one of its engines and formulations.

    Attributes
    ----------
    backend : need not be registered
    engine, formulation : names
    """

    backend: Backend
    engine: str
    formulation: str

    def __str__(self) -> str:
        return f"{self.backend.name}/{self.engine}:{self.formulation}"

    def has(self, feature: Feature) -> bool:
        """Whether the feature is declared.

        Parameters
        ----------
        feature : of :class:`encoders.backends.interface.Feature`
        """
        return feature in self.backend.features(self.engine, self.formulation)

    def takes(self, problem: Problem) -> bool:
        """Whether the problem's objective is one that is declared.

        Parameters
        ----------
        problem : of which the objective is looked at
        """
        return problem.aggregate in self.backend.capability.aggregates

    def solve(self, problem: Problem, request: Request) -> Outcome:
        """Solve by this engine and formulation, here.

        Parameters
        ----------
        problem : to solve
        request : its engine and formulation are replaced
        """
        asked = replace(request, engine=self.engine, formulation=self.formulation)
        return self.backend.load()(problem, asked)


def configurations(backend: Backend) -> tuple[Configuration, ...]:
    """All that can prove: engines times formulations, without "auto" and published ones.

    Parameters
    ----------
    backend : need not be registered
    """
    return tuple(
        Configuration(backend, engine, formulation)
        for engine in backend.engines
        for formulation in backend.formulations
        if engine != "auto" and formulation not in backend.unproved
    )


def check_backend(backend: Backend, seeds: int = 100) -> None:
    """Run the whole suite.

    Parameters
    ----------
    backend : need not be registered
    seeds : how many random problems

    Raises
    ------
    AssertionError
        What it did, by which engine and formulation, on which problem.
    UnavailableBackendError
        Its package is not installed.
    """
    for configuration in configurations(backend):
        for named in NAMED:
            check_named(configuration, named)
        for seed in range(seeds):
            check_random(configuration, seed)
        check_features(configuration, seeds)


def check_named(configuration: Configuration, named: Named) -> None:
    """One named problem; passed over where its objective is not declared.

    Parameters
    ----------
    configuration : what is tried
    named : problem

    Raises
    ------
    AssertionError
        What it did.
    """
    if configuration.takes(named.problem):
        with _about(configuration, named.name):
            outcome = configuration.solve(named.problem, Request(LIMIT_S, 1))
            capability = configuration.backend.capability
            check_outcome(named.problem, outcome, named.optimum, capability)


def check_random(configuration: Configuration, seed: int) -> None:
    """One random problem: optimum, bounds and choices told on the way, and cutoffs.

    Parameters
    ----------
    configuration : what is tried
    seed : of the problem

    Raises
    ------
    AssertionError
        What it did.
    """
    problem = random_problem(seed)
    if not configuration.takes(problem):
        return
    with _about(configuration, f"random_problem({seed})"):
        cost, _ = optimum(problem)
        told = _Told()
        outcome = configuration.solve(problem, told.request())
        check_outcome(problem, outcome, cost, configuration.backend.capability)
        told.check(problem, outcome, cost)
        if 0 < cost < float("inf"):
            _check_cutoffs(configuration, problem, cost)


def check_features(configuration: Configuration, seeds: int) -> None:
    """Every feature that is declared; see :class:`encoders.backends.interface.Feature`.

    Parameters
    ----------
    configuration : what is tried
    seeds : how many random problems

    Raises
    ------
    AssertionError
        What it did.
    """
    problems = [p for p in map(random_problem, range(seeds)) if configuration.takes(p)]
    with _about(configuration, "a stop before the start"):
        _check_early_stop(configuration, problems[0])
    for feature, check in (
        (Feature.TELLS_CHOICES, _check_tells_choices),
        (Feature.TELLS_BOUNDS, _check_tells_bounds),
        (Feature.STOPS, _check_stops),
        (Feature.KEEPS_MODELS, _check_keeps_models),
        (Feature.USES_RIVALS, _check_uses_rivals),
    ):
        if configuration.has(feature):
            with _about(configuration, f"the feature {feature.name}, {feature}"):
                check(configuration, problems)


class _Told:
    """What is told while a backend runs."""

    def __init__(self) -> None:
        self.choices: list[IntArray] = []
        self.bounds: list[tuple[float, float]] = []

    def request(self) -> Request:
        return Request(
            LIMIT_S,
            1,
            on_choice=self.choices.append,
            on_bounds=lambda upper, lower: self.bounds.append((upper, lower)),
        )

    def check(self, problem: Problem, outcome: Outcome, cost: float) -> None:
        """No bound beyond the other or the optimum, no choice that is none."""
        assert all(lower <= upper for upper, lower in self.bounds), "bounds that cross were told"
        assert all(lower <= cost + 1e-9 for _, lower in self.bounds), "too high a bound was told"
        assert all(map(problem.admits, self.choices)), "a choice that is none was told"
        if outcome.choices and self.choices:
            assert outcome.upper <= min(map(problem.distance, self.choices)), "a choice was lost"


def _check_cutoffs(configuration: Configuration, problem: Problem, cost: float) -> None:
    below = configuration.solve(problem, Request(LIMIT_S, 1, cutoff=cost * 0.99))
    none = below.status == "infeasible" and below.choices == ()
    assert none, f"a cutoff below the optimum gave {below.status}"
    above = configuration.solve(problem, Request(LIMIT_S, 1, cutoff=cost * 1.01))
    check_outcome(problem, above, cost, configuration.backend.capability)


def _check_early_stop(configuration: Configuration, problem: Problem) -> None:
    stop = threading.Event()
    stop.set()
    outcome = configuration.solve(problem, Request(LIMIT_S, 1, stop=stop))
    ended = (outcome.status, outcome.stop_reason)
    assert ended == ("unknown", "interrupted"), f"it gave {ended}"


def _check_tells_choices(configuration: Configuration, problems: list[Problem]) -> None:
    for problem in problems:
        told = _Told()
        outcome = configuration.solve(problem, told.request())
        if outcome.choices:
            assert told.choices, "no choice was told"
            best = min(map(problem.distance, told.choices))
            assert best <= outcome.upper * (1 + 1e-9), "the best choice was not told"


def _check_tells_bounds(configuration: Configuration, problems: list[Problem]) -> None:
    for problem in problems:
        told = _Told()
        configuration.solve(problem, told.request())
        if any(lower > 0 for _, lower in told.bounds):
            return
    raise AssertionError("no lower bound was told for any of the random problems")


def _check_stops(configuration: Configuration, _: list[Problem]) -> None:
    """Stopped while it is at a problem that it can't be through with, it ends soon, and says so."""
    problem, stop = small_hard_problem(), threading.Event()
    threading.Timer(RUN_S, stop.set).start()
    began = time.perf_counter()
    outcome = configuration.solve(problem, Request(LIMIT_S, 1, stop=stop))
    assert outcome.stop_reason == "interrupted", f"it ended by {outcome.stop_reason}"
    assert time.perf_counter() - began < RUN_S + STOP_S, "it went on"
    assert all(map(problem.admits, outcome.choices)), "what it held was no choice"


def _check_keeps_models(configuration: Configuration, problems: list[Problem]) -> None:
    """A kept model answers other costs as one that is built for them would."""
    kept = PreparedModel()
    request = Request(
        LIMIT_S, 1, engine=configuration.engine, formulation=configuration.formulation
    )
    for first in problems[:10]:
        for factor in (1.0, 0.01, 300.0):
            problem = replace(first, cost=_turned(first) * factor)
            outcome = kept.solve(configuration.backend, problem, request)
            cost, _ = optimum(problem)
            check_outcome(problem, outcome, cost, configuration.backend.capability)


def _turned(problem: Problem) -> FloatArray:
    """The costs of each axis in reverse order."""
    axes = np.split(problem.cost, problem.level_start[1:-1])
    return np.concatenate([cost[::-1] for cost in axes])


def _check_uses_rivals(configuration: Configuration, problems: list[Problem]) -> None:
    """Where all that costs no more than the rival is cut off, there is nothing to find."""
    gap = configuration.backend.capability.epsilon > 0
    for whole in problems:
        cost, rival = optimum(whole)
        if rival is None:
            continue
        problem = whole.without(rival)
        if optimum(problem)[0] <= cost:
            continue
        outcome = configuration.solve(problem, Request(LIMIT_S, 1, rival=partial(_same, rival)))
        nothing = outcome.status == "infeasible" and not outcome.choices
        told = f"a rival that can't be undercut gave {outcome.status}"
        assert nothing or (gap and outcome.stop_reason == "gap"), told


def _same(levels: IntArray) -> IntArray:
    return levels


@contextmanager
def _about(configuration: Configuration, what: str) -> Iterator[None]:
    """Says which configuration and problem an assertion is about."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{configuration}, {what}: {error}") from error
