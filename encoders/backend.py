"""The one interface of all solvers, what each can take, and the registry."""

import importlib
import importlib.util
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, cast

from encoders.arrays import IntArray
from encoders.errors import InputError, UnavailableBackendError
from encoders.problem import Problem
from encoders.shape import Shape

Status = Literal["optimal", "feasible", "infeasible", "unknown"]
StopReason = Literal["proved", "time_limit", "memory_limit", "interrupted", "gap", "error"]
OnBounds = Callable[[float, float], None]
OnChoice = Callable[[IntArray], None]


@dataclass(frozen=True)
class Request:
    """How to solve, apart from what.

    Attributes
    ----------
    time_limit_s : seconds for building and solving
    threads : solver threads
    seed : random seed
    hint : a choice of levels to start from, int64 (n_axes,), or None
    cutoff : only choices that cost at most this are of interest
    formulation : name of the backend's formulation, "" for its best
    engine : name of the backend's engine, "" for its first
    stop : set it, from any thread, to end the solve
    on_choice : called with every better choice found, before it is reported in ``on_bounds``
    on_bounds : called with (upper, lower) whenever one improves, from the solver's threads
    rival : the best choice that others have found by now, or None; may be asked at any time.
        Only what costs less is still of interest: a proof that there is nothing is "infeasible"
    """

    time_limit_s: float
    threads: int
    seed: int = 0
    hint: IntArray | None = None
    cutoff: float = float("inf")
    formulation: str = ""
    engine: str = ""
    stop: threading.Event = field(default_factory=threading.Event)
    on_choice: OnChoice = lambda levels: None
    on_bounds: OnBounds = lambda upper, lower: None
    rival: Callable[[], IntArray | None] = lambda: None

    def worth(self, problem: Problem) -> float:
        """The most that a choice may cost to be of interest by now."""
        rival = self.rival()
        return self.cutoff if rival is None else min(self.cutoff, problem.distance(rival))


@dataclass(frozen=True)
class Attempt:
    """What one backend did for a query; bounds are its own.

    Attributes
    ----------
    began_s, ended_s : seconds since the first attempt on this problem was begun; a backend that
        was told to stop ends a moment later
    limit_s, threads : what it was given
    trace : (seconds since it began, upper, lower) at each improvement it told of
    shape : the problem it was given
    peak_bytes : largest resident memory so far of the process it ran in
    raw : the solver's own words, or why it counts for nothing
    """

    backend: str
    engine: str
    formulation: str
    threads: int
    limit_s: float
    status: Status
    stop_reason: StopReason
    upper: float
    lower: float
    began_s: float
    ended_s: float
    build_s: float
    solve_s: float
    trace: tuple[tuple[float, float, float], ...]
    shape: Shape
    peak_bytes: int
    raw: str


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a solver holds, and why it stopped.

    Attributes
    ----------
    status : a proof only if "optimal" or "infeasible" (of the problem under the cutoff)
    choices : choices of levels found, best first
    upper, lower : bounds on the optimal cost; inf where nothing was found
    build_s, solve_s, reduce_s : seconds
    raw : the solver's own words
    backend : its name, "reduce" if no solver was needed
    left : options (beyond one per axis) and leaves that a solver had to decide among
    attempts : what each backend that was asked did
    peak_bytes : largest resident memory so far of the process it ran in, 0 if not known
    certified_by : in a race what the proof is, "proved" by one backend or "bounds_meet"
    decision : why these backends were asked, in words
    """

    status: Status
    stop_reason: StopReason
    choices: tuple[IntArray, ...]
    upper: float
    lower: float
    build_s: float
    solve_s: float
    raw: str
    reduce_s: float = 0.0
    backend: str = ""
    left: tuple[int, int] = (0, 0)
    attempts: tuple[Attempt, ...] = ()
    certified_by: str = ""
    decision: str = ""
    peak_bytes: int = 0


@dataclass(frozen=True)
class Capability:
    """What a backend can take and report.

    Attributes
    ----------
    tolerance : gap, relative to the answer, within which it says "optimal"
    epsilon : absolute gap at which it stops, "feasible" with stop reason "gap"; 0 if it goes on
    isolated : it may ignore a stop or hold the interpreter, so it is run in a worker process
    sessions : it can keep a model of all but the costs for many queries
    follows : it takes up :attr:`Request.rival` while it runs
    """

    aggregates: frozenset[str]
    anytime_upper: bool
    anytime_lower: bool
    interrupt: bool
    warm_start: bool
    licence: str
    tolerance: float = 1e-9
    epsilon: float = 0.0
    isolated: bool = False
    sessions: bool = False
    follows: bool = False


class Solve(Protocol):
    """A pure function: solves may run at once, nothing is left behind."""

    def __call__(self, problem: Problem, request: Request) -> Outcome: ...


class Prepare(Protocol):
    """Builds what does not depend on costs, by the request's formulation and engine.

    What it returns solves every problem that differs from this one in its costs only. It may be
    used by one thread at a time; its time limit starts when it is called.
    """

    def __call__(self, problem: Problem, request: Request) -> Solve: ...


@dataclass(frozen=True)
class Backend:
    """A registered solver; its module, and the solver with it, is imported on first use.

    Attributes
    ----------
    engines : names accepted by :attr:`Request.engine`, the default first
    formulations : names accepted by :attr:`Request.formulation`, the best first
    unproved : those of them that are run as published and whose answers are no proofs
    plain : the formulation to compare with, for unreduced problems
    requires : the module that must be importable
    distribution : the package on the index that brings it, and the solver with it
    """

    name: str
    paradigm: str
    module: str
    requires: str
    distribution: str
    engines: tuple[str, ...]
    formulations: tuple[str, ...]
    plain: str
    capability: Capability
    unproved: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        return importlib.util.find_spec(self.requires) is not None

    def require(self) -> None:
        """Make sure that the package it needs is there, without importing it.

        Raises
        ------
        UnavailableBackendError
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
        """The function that builds a model for many queries; see :attr:`Capability.sessions`.

        Raises
        ------
        UnavailableBackendError
            The package it needs is not installed.
        """
        self.require()
        return cast(Prepare, importlib.import_module(self.module).prepare)


BACKENDS: tuple[Backend, ...] = (
    Backend(
        name="search",
        paradigm="branch and bound",
        module="encoders.search",
        requires="numba",
        distribution="numba",
        engines=("numba",),
        formulations=("boxes",),
        plain="boxes",
        capability=Capability(
            frozenset({"sum", "max"}), True, True, True, True, "MIT", follows=True
        ),
    ),
    Backend(
        name="cp",
        paradigm="constraint programming",
        module="encoders.cp",
        requires="ortools",
        distribution="ortools",
        engines=("cp-sat",),
        formulations=("order", "plain", "published"),
        plain="plain",
        capability=Capability(
            frozenset({"sum", "max"}), True, True, True, True, "Apache-2.0", sessions=True
        ),
        unproved=("published",),
    ),
    Backend(
        name="milp",
        paradigm="mixed-integer programming",
        module="encoders.milp",
        requires="highspy",
        distribution="highspy",
        engines=("auto", "highs", "gurobi"),
        formulations=("tight", "ocean"),
        plain="ocean",
        capability=Capability(
            frozenset({"sum", "max"}),
            True,
            True,
            True,
            True,
            "MIT",
            1e-6,
            isolated=True,
            sessions=True,
        ),
    ),
    Backend(
        name="maxsat",
        paradigm="maximum satisfiability",
        module="encoders.maxsat",
        requires="pysat",
        distribution="python-sat",
        engines=("glucose", "minisat", "cadical"),
        formulations=("cores", "linear"),
        plain="cores",
        capability=Capability(
            frozenset({"sum", "max"}),
            True,
            True,
            True,
            False,
            "MIT",
            isolated=True,
            sessions=True,
            follows=True,
        ),
    ),
    Backend(
        name="smt",
        paradigm="satisfiability modulo theories",
        module="encoders.smt",
        requires="z3",
        distribution="z3-solver",
        engines=("z3",),
        formulations=("bisection",),
        plain="bisection",
        capability=Capability(
            frozenset({"sum", "max"}),
            True,
            True,
            True,
            False,
            "MIT",
            epsilon=1e-3,
            isolated=True,
            follows=True,
        ),
    ),
)


def find_backend(name: str) -> Backend:
    """The backend of that name.

    Raises
    ------
    InputError
        There is none.
    """
    for backend in BACKENDS:
        if backend.name == name:
            return backend
    known = ", ".join(["auto", *(backend.name for backend in BACKENDS)])
    raise InputError(f"there is no backend {name!r}; known are {known}.")
