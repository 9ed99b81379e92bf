"""The conformance suite for backends.

Each engine and formulation solves named problems with known optima, and random problems whose
optimum is computed by enumeration. Every declared feature has a test.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from encoders.backends.interface import Backend, Feature, Outcome, Request
from encoders.backends.prepared import PreparedModel
from encoders.core.arrays import FloatArray, IntArray
from encoders.problem.problem import Problem
from encoders.testing.answers import check_outcome
from encoders.testing.enumeration import optimum
from encoders.testing.hard_problem import small_hard_problem
from encoders.testing.named_problems import NAMED, Named
from encoders.testing.random_problems import random_problem

LIMIT_S = 60.0  # time limit; every test problem is easy, so that only a hanging backend reaches it
RUN_S = 1.0  # seconds before the stop event is set
STOP_S = 20.0  # seconds within which the backend must stop, also on a busy machine


@dataclass(frozen=True)
class Configuration:
    """Pair of an engine and a formulation of a backend.

    Attributes
    ----------
    backend : Backend
        The backend; it need not be registered.
    engine : str
        Name of the engine.
    formulation : str
        Name of the formulation.

    Examples
    --------
    >>> from encoders.backends.registry import find_backend
    >>> from encoders.testing.conformance import configurations
    >>> print(configurations(find_backend("search"))[0].backend.name)
    search
    """

    backend: Backend
    engine: str
    formulation: str

    def __str__(self) -> str:
        return f"{self.backend.name}/{self.engine}:{self.formulation}"

    def has(self, feature: Feature) -> bool:
        """Return whether the backend declares a feature.

        Parameters
        ----------
        feature : Feature
            The feature, such as ``Feature.STOPS``.

        Returns
        -------
        bool
            Whether this engine and formulation declare the feature.

        Examples
        --------
        >>> from encoders.backends.interface import Feature
        >>> from encoders.backends.registry import find_backend
        >>> from encoders.testing.conformance import Configuration
        >>> configuration = Configuration(find_backend("maxsat"), "cadical", "")
        >>> configuration.has(Feature.STOPS), configuration.has(Feature.SUM)
        (False, True)
        """
        return feature in self.backend.features(self.engine, self.formulation)

    def takes(self, problem: Problem) -> bool:
        """Return whether the backend supports the objective of a problem.

        Parameters
        ----------
        problem : Problem
            The problem, with the objective "sum" or "max".

        Returns
        -------
        bool
            Whether the backend declares this objective.

        Examples
        --------
        >>> from encoders.backends.registry import find_backend
        >>> from encoders.testing import NAMED
        >>> from encoders.testing.conformance import configurations
        >>> configuration = configurations(find_backend("maxsat"))[0]
        >>> NAMED[0].problem.aggregate, configuration.takes(NAMED[0].problem)
        ('sum', True)
        """
        return problem.aggregate in self.backend.capability.aggregates

    def solve(self, problem: Problem, request: Request) -> Outcome:
        """Solve a problem in this process by this engine and formulation.

        Parameters
        ----------
        problem : Problem
            The problem to solve.
        request : Request
            Settings and callbacks; engine and formulation are replaced.

        Returns
        -------
        Outcome
            The result of the backend.

        Examples
        --------
        >>> from encoders.backends.interface import Request
        >>> from encoders.backends.registry import find_backend
        >>> from encoders.testing import NAMED
        >>> from encoders.testing.conformance import configurations
        >>> configuration = configurations(find_backend("search"))[0]
        >>> configuration.solve(NAMED[0].problem, Request(60.0, 1)).upper
        0.25
        """
        request = replace(request, engine=self.engine, formulation=self.formulation)
        return self.backend.load()(problem, request)


def configurations(backend: Backend) -> tuple[Configuration, ...]:
    """Return every engine and formulation of a backend that can prove optimality.

    The engine "auto" and the formulations in ``backend.unproved`` are left out.

    Parameters
    ----------
    backend : Backend
        The backend; it need not be registered.

    Returns
    -------
    tuple of Configuration
        All pairs of an engine and a formulation.

    Examples
    --------
    >>> from encoders.backends.registry import find_backend
    >>> from encoders.testing.conformance import configurations
    >>> len(configurations(find_backend("search"))) > 0
    True
    """
    return tuple(
        Configuration(backend, engine, formulation)
        for engine in backend.engines
        for formulation in backend.formulations
        if engine != "auto" and formulation not in backend.unproved
    )


def check_backend(backend: Backend, seeds: int = 100) -> None:
    """Run the whole conformance suite on a backend.

    Parameters
    ----------
    backend : Backend
        The backend; it need not be registered.
    seeds : int, default 100
        Number of random problems.

    Raises
    ------
    AssertionError
        If the backend violates the interface. The message names the engine, the formulation and
        the problem.
    UnavailableBackendError
        If the package of the backend is not installed.

    See Also
    --------
    check_outcome : Check one outcome against a known optimum.

    Examples
    --------
    >>> from encoders.backends.registry import find_backend
    >>> from encoders.testing import check_backend
    >>> check_backend(find_backend("search"), seeds=1)  # use more seeds for a new backend
    """
    for configuration in configurations(backend):
        for named in NAMED:
            check_named(configuration, named)
        for seed in range(seeds):
            check_random(configuration, seed)
        check_features(configuration, seeds)


def check_named(configuration: Configuration, named: Named) -> None:
    """Check one named problem; skip it if the backend does not support its objective.

    Parameters
    ----------
    configuration : Configuration
        The engine and formulation to test.
    named : Named
        The problem and its optimum.

    Raises
    ------
    AssertionError
        If the outcome is wrong.

    Examples
    --------
    >>> from encoders.backends.registry import find_backend
    >>> from encoders.testing import NAMED
    >>> from encoders.testing.conformance import check_named, configurations
    >>> for configuration in configurations(find_backend("search")):
    ...     check_named(configuration, NAMED[0])
    """
    if configuration.takes(named.problem):
        with _about(configuration, named.name):
            outcome = configuration.solve(named.problem, Request(LIMIT_S, 1))
            capability = configuration.backend.capability
            check_outcome(named.problem, outcome, named.optimum, capability)


def check_random(configuration: Configuration, seed: int) -> None:
    """Check one random problem: the optimum, reported bounds and choices, and cutoffs.

    Parameters
    ----------
    configuration : Configuration
        The engine and formulation to test.
    seed : int
        Seed of the problem.

    Raises
    ------
    AssertionError
        If the outcome, a reported bound or a reported choice is wrong.

    Examples
    --------
    >>> from encoders.backends.registry import find_backend
    >>> from encoders.testing.conformance import check_random, configurations
    >>> for configuration in configurations(find_backend("search")):
    ...     check_random(configuration, seed=0)
    """
    problem = random_problem(seed)
    if not configuration.takes(problem):
        return
    with _about(configuration, f"random_problem({seed})"):
        cost, _ = optimum(problem)
        reports = _Reports()
        outcome = configuration.solve(problem, reports.request())
        check_outcome(problem, outcome, cost, configuration.backend.capability)
        reports.check(problem, outcome, cost)
        if 0 < cost < float("inf"):
            _check_cutoffs(configuration, problem, cost)


def check_features(configuration: Configuration, seeds: int) -> None:
    """Check every declared feature; see :class:`encoders.backends.interface.Feature`.

    Parameters
    ----------
    configuration : Configuration
        The engine and formulation to test.
    seeds : int
        Number of random problems.

    Raises
    ------
    AssertionError
        If the backend does not do what a declared feature demands.

    Examples
    --------
    >>> from encoders.backends.registry import find_backend
    >>> from encoders.testing.conformance import check_features, configurations
    >>> check_features(configurations(find_backend("search"))[0], seeds=1)
    """
    problems = [p for p in map(random_problem, range(seeds)) if configuration.takes(p)]
    with _about(configuration, "a stop before the start"):
        _check_early_stop(configuration, problems[0])
    for feature, check in (
        (Feature.TELLS_CHOICES, _check_reported_choices),
        (Feature.TELLS_BOUNDS, _check_reported_bounds),
        (Feature.STOPS, _check_stops),
        (Feature.KEEPS_MODELS, _check_keeps_models),
        (Feature.USES_RIVALS, _check_uses_rivals),
    ):
        if configuration.has(feature):
            with _about(configuration, f"the feature {feature.name}, {feature}"):
                check(configuration, problems)


class _Reports:
    """Choices and bounds that a backend reports while it runs."""

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
        """Raise AssertionError if reported bounds cross or are wrong, or a choice is infeasible."""
        ordered = all(lower <= upper for upper, lower in self.bounds)
        assert ordered, "a reported lower bound exceeds the upper bound"
        valid = all(lower <= cost + 1e-9 for _, lower in self.bounds)
        assert valid, "a reported lower bound exceeds the optimum"
        feasible = all(map(problem.admits, self.choices))
        assert feasible, "a reported choice violates the constraints"
        if outcome.choices and self.choices:
            least = min(map(problem.distance, self.choices))
            assert outcome.upper <= least, "a reported choice is better than the result"


def _check_cutoffs(configuration: Configuration, problem: Problem, cost: float) -> None:
    below = configuration.solve(problem, Request(LIMIT_S, 1, cutoff=cost * 0.99))
    none = below.status == "infeasible" and below.choices == ()
    assert none, f"a cutoff below the optimum returned {below.status}, expected infeasible"
    above = configuration.solve(problem, Request(LIMIT_S, 1, cutoff=cost * 1.01))
    check_outcome(problem, above, cost, configuration.backend.capability)


def _check_early_stop(configuration: Configuration, problem: Problem) -> None:
    stop = threading.Event()
    stop.set()
    outcome = configuration.solve(problem, Request(LIMIT_S, 1, stop=stop))
    result = (outcome.status, outcome.stop_reason)
    assert result == ("unknown", "interrupted"), f"expected unknown, interrupted, got {result}"


def _check_reported_choices(configuration: Configuration, problems: list[Problem]) -> None:
    for problem in problems:
        reports = _Reports()
        outcome = configuration.solve(problem, reports.request())
        if outcome.choices:
            assert reports.choices, "no choice was reported"
            best = min(map(problem.distance, reports.choices))
            assert best <= outcome.upper * (1 + 1e-9), "the best choice was not reported"


def _check_reported_bounds(configuration: Configuration, problems: list[Problem]) -> None:
    for problem in problems:
        reports = _Reports()
        configuration.solve(problem, reports.request())
        if any(lower > 0 for _, lower in reports.bounds):
            return
    raise AssertionError("no lower bound was reported for any of the random problems")


def _check_stops(configuration: Configuration, _: list[Problem]) -> None:
    """Check that the backend stops soon, and says so, on a problem too hard to finish."""
    problem, stop = small_hard_problem(), threading.Event()
    threading.Timer(RUN_S, stop.set).start()
    began = time.perf_counter()
    outcome = configuration.solve(problem, Request(LIMIT_S, 1, stop=stop))
    reason = outcome.stop_reason
    assert reason == "interrupted", f"expected stop reason interrupted, got {reason}"
    took = time.perf_counter() - began - RUN_S
    assert took < STOP_S, f"it ran on for {took:.3g} s after the stop"
    assert all(map(problem.admits, outcome.choices)), "a returned choice violates the constraints"


def _check_keeps_models(configuration: Configuration, problems: list[Problem]) -> None:
    """Check that a prepared model solves changed costs like a newly built one."""
    prepared = PreparedModel()
    request = Request(
        LIMIT_S, 1, engine=configuration.engine, formulation=configuration.formulation
    )
    for first in problems[:10]:
        for factor in (1.0, 0.01, 300.0):
            problem = replace(first, cost=_reversed_costs(first) * factor)
            outcome = prepared.solve(configuration.backend, problem, request)
            cost, _ = optimum(problem)
            check_outcome(problem, outcome, cost, configuration.backend.capability)


def _reversed_costs(problem: Problem) -> FloatArray:
    """Return the costs with those of each axis in reverse order, float64 (n_levels,)."""
    axes = np.split(problem.cost, problem.level_start[1:-1])
    return np.concatenate([cost[::-1] for cost in axes])


def _check_uses_rivals(configuration: Configuration, problems: list[Problem]) -> None:
    """Check that nothing is found if every choice costs at least as much as the rival."""
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
        message = f"expected infeasible below an optimal rival, got {outcome.status}"
        assert nothing or (gap and outcome.stop_reason == "gap"), message


def _same(levels: IntArray) -> IntArray:
    return levels


@contextmanager
def _about(configuration: Configuration, what: str) -> Iterator[None]:
    """Add the configuration and the problem to the message of an AssertionError."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{configuration}, {what}: {error}") from error
