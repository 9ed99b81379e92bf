"""What every solver is asked and what it answers, and how it declares itself.

A solver is a pure function from a :class:`encoders.problem.problem.Problem` and a
:class:`Request` to an :class:`Outcome`. Its folder's ``spec.py`` holds a :class:`Backend`, which
tells what it can do without importing it; ``registry.py`` lists them.
"""

import importlib
import importlib.util
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Literal, Optional, Protocol, cast

from encoders.arrays import IntArray
from encoders.errors import UnavailableBackendError
from encoders.problem.problem import OnBounds, Problem

if TYPE_CHECKING:
    from encoders.bounds.prices import Prices

Status = Literal["optimal", "feasible", "infeasible", "unknown"]
StopReason = Literal["proved", "time_limit", "memory_limit", "interrupted", "gap", "error"]
OnChoice = Callable[[IntArray], None]


@dataclass(frozen=True)
class SolveSettings:
    """How to solve, apart from what; can be sent to another process.

    Attributes
    ----------
    time_limit_s : seconds for building and solving
    threads : solver threads
    seed : random seed
    cutoff : only choices that cost at most this are of interest
    formulation : name of the backend's formulation, "" for its best
    engine : name of the backend's engine, "" for its first
    """

    time_limit_s: float
    threads: int
    seed: int = 0
    cutoff: float = float("inf")
    formulation: str = ""
    engine: str = ""


@dataclass(frozen=True)
class Request(SolveSettings):
    """Settings, and the channel between who asks and who solves.

    Attributes
    ----------
    stop : set it, from any thread, to end the solve
    on_choice : called with every better choice found, int64 (n_axes,), before it is reported in
        ``on_bounds``
    on_bounds : called with (upper, lower) whenever one improves, from the solver's threads
    rival : the best choice that others have found by now, or None; may be asked at any time.
        Only what costs less is still of interest: a proof that there is nothing is "infeasible"
    spare : how many more threads nobody uses at the moment; may be asked at any time
    refuses : whether a choice is no answer after all, which takes a while to say; None: all are.
        Who solves may go on without it, and without all that shares its leaves
    prices : of the problem's leaves and levels, which bound what costs less than the cutoff; None
        if nobody has found any
    """

    stop: threading.Event = field(default_factory=threading.Event)
    on_choice: OnChoice = lambda levels: None
    on_bounds: OnBounds = lambda upper, lower: None
    rival: Callable[[], IntArray | None] = lambda: None
    spare: Callable[[], int] = lambda: 0
    refuses: Callable[[IntArray], bool] | None = None
    prices: Optional["Prices"] = None

    def cutoff_now(self, problem: Problem) -> float:
        """The most that a choice may cost to be of interest by now.

        Parameters
        ----------
        problem : that is solved

        Returns
        -------
        The cutoff, or the cost of a rival's choice if that is less.
        """
        rival = self.rival()
        return self.cutoff if rival is None else min(self.cutoff, problem.distance(rival))

    @property
    def settings(self) -> SolveSettings:
        """What can be sent."""
        return SolveSettings(
            self.time_limit_s, self.threads, self.seed, self.cutoff, self.formulation, self.engine
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a solver holds, and why it stopped.

    Attributes
    ----------
    status : a proof only if "optimal" or "infeasible" (of the problem under the cutoff)
    stop_reason : why it stopped
    choices : choices of levels found, best first, each int64 (n_axes,)
    upper, lower : bounds on the optimal cost; inf where nothing was found
    build_s, solve_s : seconds
    raw : the solver's own words
    peak_bytes : largest resident memory so far of the process it ran in, 0 if not known
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
    """What a backend can do; the value says it to people. Each has a conformance test."""

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
    """What a backend can take and report.

    Attributes
    ----------
    features : what it can do
    tolerance : gap, relative to the answer, within which it says "optimal"
    epsilon : absolute gap at which it stops, "feasible" with stop reason "gap"; 0 if it goes on
    isolated : it may ignore a stop, crash, or hold the interpreter, so it is run in a worker
        process
    afresh : it starts so soon that there is no model to keep: in a session, too, it is given what
        reduction leaves of each query
    """

    features: frozenset[Feature]
    tolerance: float = 1e-9
    epsilon: float = 0.0
    isolated: bool = False
    afresh: bool = False

    @property
    def aggregates(self) -> frozenset[str]:
        """The objectives that it takes: "sum" and "max" of the chosen levels' costs."""
        return frozenset(name for name, feature in AGGREGATES.items() if feature in self.features)

    @property
    def sessions(self) -> bool:
        """It can answer many queries in a row: it keeps a model, or needs none."""
        return self.afresh or Feature.KEEPS_MODELS in self.features

    @property
    def uses_rivals(self) -> bool:
        """It takes up :attr:`Request.rival` while it runs."""
        return Feature.USES_RIVALS in self.features


class Solve(Protocol):
    """A pure function: solves may run at once, nothing is left behind."""

    def __call__(self, problem: Problem, request: Request) -> Outcome:
        """Solve a problem, within the request's limits.

        Parameters
        ----------
        problem : its objective is one that the backend declares; it must not be changed
        request : how, and whom to tell

        Returns
        -------
        What is held when it ended: also at a stop or the time limit, without raising.

        Raises
        ------
        UnavailableBackendError
            A package or licence is missing.
        MemoryError
            There is not enough; workers report it as stop reason "memory_limit".
        """
        ...


class Prepare(Protocol):
    """Builds what does not depend on costs, by the request's formulation and engine.

    What it returns solves every problem that differs from this one in its costs only. It may be
    used by one thread at a time; its time limit starts when it is called.
    """

    def __call__(self, problem: Problem, request: Request) -> Solve:
        """Build a model.

        Parameters
        ----------
        problem : its costs are not to be looked at
        request : its formulation and engine are looked at

        Raises
        ------
        UnavailableBackendError
            A package or licence is missing.
        """
        ...


@dataclass(frozen=True)
class Backend:
    """A registered solver; its module, and the solver with it, is imported on first use.

    Attributes
    ----------
    name : by which users ask for it
    title : its name as the field writes it
    paradigm : the field that it is from
    module : defines ``solve`` (:class:`Solve`), and ``prepare`` (:class:`Prepare`) if it keeps
        models
    requires : the module that must be importable
    distribution : the package on the index that brings it, and the solver with it
    engines : names accepted by :attr:`SolveSettings.engine`, the default first
    formulations : names accepted by :attr:`SolveSettings.formulation`, the best first
    plain : the formulation to compare with, for unreduced problems
    capability : what it can take and report
    unproved : formulations that are run as published and whose answers are no proofs
    lacks : pairs of an engine or formulation and the features that it does not share
    licence : of the solver
    licence_probes : pairs of an engine and a module whose ``licence()`` says in words what the
        licence found on this machine allows
    colour : in pictures, "#rrggbb"
    race_rank, votes_rank : place in line for a race, the least first; ``votes_rank`` where every
        leaf counts one or nothing
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
        """Whether the module it requires can be imported."""
        return _can_import(self.requires)

    def features(self, engine: str = "", formulation: str = "") -> frozenset[Feature]:
        """What it can do by an engine and a formulation, "" for the first of each.

        Parameters
        ----------
        engine : one of ``engines``
        formulation : one of ``formulations``
        """
        used = (engine or self.engines[0], formulation or self.formulations[0])
        return self.capability.features.difference(*(f for name, f in self.lacks if name in used))

    def require(self) -> None:
        """Make sure that the package it needs is there, without importing it.

        Raises
        ------
        UnavailableBackendError
            It is not installed.
        """
        if not self.available:
            raise UnavailableBackendError(
                f"backend {self.name} needs the package {self.distribution}; "
                f"install it with: pip install {self.distribution}"
            )

    def load(self) -> Solve:
        """The solve function.

        Raises
        ------
        UnavailableBackendError
            The package it needs is not installed.
        """
        self.require()
        return cast(Solve, importlib.import_module(self.module).solve)

    def load_prepare(self) -> Prepare:
        """The function that builds a model for many queries; see :class:`Prepare`.

        Raises
        ------
        UnavailableBackendError
            The package it needs is not installed.
        """
        self.require()
        return cast(Prepare, importlib.import_module(self.module).prepare)


@cache
def _can_import(module: str) -> bool:
    """Every question asks so of every backend, and looking through folders takes its time."""
    return importlib.util.find_spec(module) is not None
