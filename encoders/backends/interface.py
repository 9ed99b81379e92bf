"""The interface between the package and its solvers.

A solver is a pure function from a :class:`encoders.problem.problem.Problem` and a
:class:`Request` to an :class:`Outcome`. The ``spec.py`` in its folder defines a :class:`Backend`,
which lists its abilities without importing it. ``registry.py`` lists all backends.
"""

import importlib
import importlib.util
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Literal, Optional, Protocol, cast

from encoders.core.arrays import IntArray
from encoders.core.errors import UnavailableBackendError
from encoders.problem.problem import OnBounds, Problem

if TYPE_CHECKING:
    from encoders.presolve.bounds.prices import Prices

Status = Literal["optimal", "feasible", "infeasible", "unknown"]
StopReason = Literal["proved", "time_limit", "memory_limit", "interrupted", "gap", "error"]
OnChoice = Callable[[IntArray], None]


@dataclass(frozen=True)
class SolveSettings:
    """Settings of a solve that can be sent to another process.

    Attributes
    ----------
    time_limit_s : float
        Limit in seconds for building and solving.
    threads : int
        Number of solver threads.
    seed : int
        Random seed.
    cutoff : float
        Upper limit of the cost; choices that cost more are not wanted.
    formulation : str
        Name of one of the backend's formulations, "" for its best one.
    engine : str
        Name of one of the backend's engines, "" for its first one.

    Examples
    --------
    >>> from encoders.backends.interface import Request
    >>> Request(time_limit_s=60.0, threads=2, seed=7, on_choice=print).settings
    SolveSettings(time_limit_s=60.0, threads=2, seed=7, cutoff=inf, formulation='', engine='')
    """

    time_limit_s: float
    threads: int
    seed: int = 0
    cutoff: float = float("inf")
    formulation: str = ""
    engine: str = ""


@dataclass(frozen=True)
class Request(SolveSettings):
    """Settings of a solve, and the callbacks between the caller and the solver.

    Attributes
    ----------
    stop : threading.Event
        Event that ends the solve; any thread may set it.
    on_choice : callable
        Function that is called with every improved choice, int64 array of shape (n_axes,), before
        ``on_bounds`` reports its cost.
    on_bounds : callable
        Function that is called with (upper, lower) whenever one of them improves. Calls come from
        the solver's threads.
    rival : callable
        Function that returns the best choice of the other solvers so far, or None. The solver may
        call it at any time. Only choices that cost less are still wanted: a proof that there are
        none is reported as "infeasible".
    spare : callable
        Function that returns how many more threads are idle at the moment. The solver may call it
        at any time.
    refuses : callable or None
        Function that returns whether native verification rejects a choice, which takes a while.
        None accepts every choice. The solver may continue without a rejected choice and without
        all choices that share its leaves.
    turn_s : float
        Limit in seconds for solving what remains after presolve. It is for callers with several
        problems, who come back to this one later.
    prices : Prices or None
        Lagrangian lower bound on the cost of choices below the cutoff, by leaf and level; None if
        it has not been computed.

    Examples
    --------
    >>> from encoders.backends.interface import Request
    >>> from encoders.backends.registry import find_backend
    >>> from encoders.testing import NAMED
    >>> bounds = []
    >>> request = Request(60.0, 1, on_bounds=lambda upper, lower: bounds.append((upper, lower)))
    >>> outcome = find_backend("search").load()(NAMED[0].problem, request)
    >>> bounds[-1][0]
    0.25
    """

    stop: threading.Event = field(default_factory=threading.Event)
    on_choice: OnChoice = lambda levels: None
    on_bounds: OnBounds = lambda upper, lower: None
    rival: Callable[[], IntArray | None] = lambda: None
    spare: Callable[[], int] = lambda: 0
    refuses: Callable[[IntArray], bool] | None = None
    turn_s: float = float("inf")
    prices: Optional["Prices"] = None

    def cutoff_now(self, problem: Problem) -> float:
        """Return the largest cost that is still wanted.

        Parameters
        ----------
        problem : Problem
            The problem that is solved.

        Returns
        -------
        float
            The cutoff, or the cost of the rival's choice if that is less.

        Examples
        --------
        >>> import numpy as np
        >>> from encoders.backends.interface import Request
        >>> from encoders.testing import NAMED
        >>> problem = NAMED[0].problem
        >>> Request(60.0, 1, cutoff=0.8).cutoff_now(problem)
        0.8
        >>> Request(60.0, 1, cutoff=0.8, rival=lambda: np.array([1])).cutoff_now(problem)
        0.25
        """
        rival = self.rival()
        return self.cutoff if rival is None else min(self.cutoff, problem.distance(rival))

    @property
    def settings(self) -> SolveSettings:
        """The settings that can be sent to another process."""
        return SolveSettings(
            self.time_limit_s, self.threads, self.seed, self.cutoff, self.formulation, self.engine
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of a solve, and why it ended.

    Attributes
    ----------
    status : {"optimal", "feasible", "infeasible", "unknown"}
        Status of the problem under the cutoff. Only "optimal" and "infeasible" are proofs.
    stop_reason : {"proved", "time_limit", "memory_limit", "interrupted", "gap", "error"}
        Reason why the solve ended.
    choices : tuple of int64 arrays of shape (n_axes,)
        Choices of levels, the best one first.
    upper, lower : float
        Bounds on the optimal cost. ``upper`` is inf without a choice.
    build_s, solve_s : float
        Seconds spent on building and on solving.
    raw : str
        Message of the solver itself.
    peak_bytes : int
        Peak resident memory of the process so far in bytes, 0 if unknown.

    Examples
    --------
    >>> from encoders.backends.interface import Request
    >>> from encoders.backends.registry import find_backend
    >>> from encoders.testing import NAMED
    >>> outcome = find_backend("search").load()(NAMED[0].problem, Request(60.0, 1))
    >>> outcome.status, outcome.upper, outcome.lower, outcome.choices[0].tolist()
    ('optimal', 0.25, 0.25, [1])
    """

    status: Status
    stop_reason: StopReason
    choices: tuple[IntArray, ...]
    upper: float
    lower: float
    build_s: float
    solve_s: float
    raw: str
    peak_bytes: int = 0


class Feature(StrEnum):
    """Abilities that a backend can declare.

    The value is a description for users. Each ability has a conformance test.

    Examples
    --------
    >>> from encoders.backends.interface import Feature
    >>> from encoders.backends.registry import all_backends
    >>> [each.name for each in all_backends() if Feature.USES_RIVALS in each.capability.features]
    ['search', 'maxsat', 'smt']
    """

    SUM = "sum of costs"
    MAX = "largest cost"
    TELLS_CHOICES = "better answers while it runs"
    TELLS_BOUNDS = "bounds while it runs"
    STOPS = "stops when asked"
    KEEPS_MODELS = "keeps models"
    USES_RIVALS = "undercuts rivals while it runs"


AGGREGATES = {"sum": Feature.SUM, "max": Feature.MAX}


@dataclass(frozen=True)
class Capability:
    """Abilities and tolerances of a backend.

    Attributes
    ----------
    features : frozenset of Feature
        Abilities of the backend.
    tolerance : float
        Gap, relative to the cost, within which the backend reports "optimal".
    epsilon : float
        Absolute gap at which the backend stops with the status "feasible" and the stop reason
        "gap"; 0 if it never does.
    isolated : bool
        Whether the backend runs in a worker process, because it may ignore a stop, crash, or block
        the interpreter.
    afresh : bool
        Whether the backend starts so fast that it needs no stored model. A session then also
        reduces the problem of every query before it calls the backend.

    Examples
    --------
    >>> from encoders.backends.interface import Capability, Feature
    >>> capability = Capability(frozenset({Feature.SUM, Feature.KEEPS_MODELS}))
    >>> sorted(capability.aggregates), capability.sessions, capability.uses_rivals
    (['sum'], True, False)
    """

    features: frozenset[Feature]
    tolerance: float = 1e-9
    epsilon: float = 0.0
    isolated: bool = False
    afresh: bool = False

    @property
    def aggregates(self) -> frozenset[str]:
        """Supported objectives: "sum" and "max" of the costs of the chosen levels."""
        return frozenset(name for name, feature in AGGREGATES.items() if feature in self.features)

    @property
    def sessions(self) -> bool:
        """Return whether the backend can answer many queries in a row, storing a model or not."""
        return self.afresh or Feature.KEEPS_MODELS in self.features

    @property
    def uses_rivals(self) -> bool:
        """Return whether the backend calls :attr:`Request.rival` while it runs."""
        return Feature.USES_RIVALS in self.features


class Solve(Protocol):
    """A pure function that solves a problem; several calls may run at once.

    Examples
    --------
    >>> from encoders.backends.interface import Outcome, Request
    >>> from encoders.testing import NAMED, optimum
    >>> def solve(problem, request):  # a solver by enumeration
    ...     cost, levels = optimum(problem)
    ...     return Outcome("optimal", "proved", (levels,), cost, cost, 0.0, 0.0, "")
    >>> solve(NAMED[0].problem, Request(60.0, 1)).upper
    0.25
    """

    def __call__(self, problem: Problem, request: Request) -> Outcome:
        """Solve a problem within the limits of a request.

        Parameters
        ----------
        problem : Problem
            The problem, which must not be changed. The backend declares its objective.
        request : Request
            Settings and callbacks.

        Returns
        -------
        Outcome
            The best choices and bounds so far. A stop or the time limit does not raise.

        Raises
        ------
        UnavailableBackendError
            If a package or a licence is missing.
        MemoryError
            If memory runs out; workers report it as stop reason "memory_limit".
        """
        ...


class Prepare(Protocol):
    """A function that builds the part of a model that does not depend on costs.

    The returned function solves every problem that differs from this one in its costs only. One
    thread at a time may call it; the time limit starts with the call.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from encoders.backends.interface import Request
    >>> from encoders.backends.registry import find_backend
    >>> from encoders.testing import NAMED
    >>> problem, request = NAMED[0].problem, Request(60.0, 1)
    >>> solve = find_backend("cp").load_prepare()(problem, request)
    >>> [solve(replace(problem, cost=factor * problem.cost), request).upper for factor in (1, 2)]
    [0.25, 0.5]
    """

    def __call__(self, problem: Problem, request: Request) -> Solve:
        """Build a model without costs.

        Parameters
        ----------
        problem : Problem
            The problem, whose costs must not be read.
        request : Request
            Settings, of which the formulation and the engine are read.

        Returns
        -------
        Solve
            The function that solves problems of this structure.

        Raises
        ------
        UnavailableBackendError
            If a package or a licence is missing.
        """
        ...


@dataclass(frozen=True)
class Backend:
    """A registered solver; its module and the solver library are imported on first use.

    Attributes
    ----------
    name : str
        Name, as in ``strategy="cp"``.
    title : str
        Name as written in the literature.
    paradigm : str
        Name of the research field, such as "constraint programming".
    module : str
        Module that defines ``solve`` (:class:`Solve`), and ``prepare`` (:class:`Prepare`) if the
        backend stores models.
    requires : str
        Module that must be importable.
    distribution : str
        Distribution on the package index that provides that module and the solver.
    engines : tuple of str
        Names for :attr:`SolveSettings.engine`, the default first.
    formulations : tuple of str
        Names for :attr:`SolveSettings.formulation`, the best first.
    plain : str
        Formulation for comparisons on unreduced problems.
    capability : Capability
        Abilities and tolerances.
    unproved : tuple of str
        Formulations that run as published and whose results are not proofs.
    lacks : tuple of (str, frozenset of Feature)
        Engines or formulations, each with the features that it does not support.
    licence : str
        Licence of the solver.
    licence_probes : tuple of (str, str)
        Engines, each with a module whose ``licence()`` describes what the licence on this machine
        allows.
    colour : str
        Colour in plots, "#rrggbb".
    race_rank : int
        Position in a race, the smallest first.
    votes_rank : int
        Position in a race if every leaf has the weight 0 or 1.

    Examples
    --------
    >>> from encoders.backends.registry import find_backend
    >>> backend = find_backend("maxsat")
    >>> backend.title, backend.paradigm, backend.engines
    ('MaxSAT', 'maximum satisfiability', ('glucose', 'minisat', 'cadical'))
    """

    name: str
    title: str
    paradigm: str
    module: str
    requires: str
    distribution: str
    engines: tuple[str, ...]
    formulations: tuple[str, ...]
    plain: str
    capability: Capability
    unproved: tuple[str, ...] = ()
    lacks: tuple[tuple[str, frozenset[Feature]], ...] = ()
    licence: str = ""
    licence_probes: tuple[tuple[str, str], ...] = ()
    colour: str = "#000000"
    race_rank: int = 100
    votes_rank: int = 100

    @property
    def available(self) -> bool:
        """Return whether the required module can be imported."""
        return _can_import(self.requires)

    def features(self, engine: str = "", formulation: str = "") -> frozenset[Feature]:
        """Return the features of an engine and a formulation.

        Parameters
        ----------
        engine : str, default ""
            One of ``engines``, "" for the first one.
        formulation : str, default ""
            One of ``formulations``, "" for the first one.

        Returns
        -------
        frozenset of Feature
            The features that both support.

        Examples
        --------
        >>> from encoders.backends.registry import find_backend
        >>> "STOPS" in {feature.name for feature in find_backend("maxsat").features("cadical")}
        False
        """
        used = (engine or self.engines[0], formulation or self.formulations[0])
        return self.capability.features.difference(*(f for name, f in self.lacks if name in used))

    def require(self) -> None:
        """Raise an error if the required package is not installed, without importing it.

        Raises
        ------
        UnavailableBackendError
            If the package is not installed.

        Examples
        --------
        >>> from dataclasses import replace
        >>> from encoders.backends.registry import find_backend
        >>> backend = replace(find_backend("cp"), requires="missing", distribution="missing")
        >>> try:
        ...     backend.require()
        ... except UnavailableBackendError:
        ...     print("install the package first")
        install the package first
        """
        if not self.available:
            raise UnavailableBackendError(
                f"backend {self.name!r} needs the package {self.distribution}, which is not "
                f"installed. Install it with: pip install {self.distribution}"
            )

    def load(self) -> Solve:
        """Import the backend's module and return its solve function.

        Returns
        -------
        Solve
            The function that solves a problem.

        Raises
        ------
        UnavailableBackendError
            If the package is not installed.

        Examples
        --------
        >>> from encoders.backends.interface import Request
        >>> from encoders.backends.registry import find_backend
        >>> from encoders.testing import NAMED
        >>> solve = find_backend("search").load()
        >>> solve(NAMED[0].problem, Request(time_limit_s=60.0, threads=1)).upper
        0.25
        """
        self.require()
        return cast(Solve, importlib.import_module(self.module).solve)

    def load_prepare(self) -> Prepare:
        """Import the backend's module and return the function that builds reusable models.

        Returns
        -------
        Prepare
            The function that builds a model for many queries.

        Raises
        ------
        UnavailableBackendError
            If the package is not installed.

        Examples
        --------
        >>> from encoders.backends.interface import Request
        >>> from encoders.backends.registry import find_backend
        >>> from encoders.testing import NAMED
        >>> prepare, problem = find_backend("cp").load_prepare(), NAMED[0].problem
        >>> solve = prepare(problem, Request(60.0, 1))  # builds the model once
        >>> solve(problem, Request(60.0, 1)).status
        'optimal'
        """
        self.require()
        return cast(Prepare, importlib.import_module(self.module).prepare)


@cache
def _can_import(module: str) -> bool:
    """Return whether a module can be imported; cached, since every query checks every backend."""
    return importlib.util.find_spec(module) is not None
