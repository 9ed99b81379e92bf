"""Our own branch and bound over boxes of levels, compiled."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from encoders.backends.best_so_far import BestSoFar
from encoders.backends.interface import Outcome, Request, StopReason
from encoders.backends.stopping import why
from encoders.core.arrays import IntArray, starts
from encoders.core.errors import OutOfTimeError, Over, look, never
from encoders.presolve.bounds.coupling import couple
from encoders.presolve.bounds.lagrange import FEW_STEPS, ROUNDING, STEPS, bound_by_prices
from encoders.presolve.bounds.multipliers import zero_multipliers
from encoders.presolve.bounds.prices import Prices, no_prices
from encoders.problem.cost_unit import below, ceiling_below, unit_of
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem
from encoders.search.dive import Repricing, no_repricing
from encoders.search.improve import Improver
from encoders.search.loop import run_slice
from encoders.search.narrow import PRICED_DIVE
from encoders.search.open_nodes import FREE, NODES, Pool, push_others
from encoders.search.team import Team
from encoders.search.trials import Trial, next_limit

# Nodes after which better prices are worth their time; with fewer, easy searches pay for them.
HARD = 200
# Nodes after which boxes get prices of their own, which take as long as some ten nodes. With as few
# as above, forests with 500 isolation trees on BC take 1.5 times as long.
VERY_HARD = 1000
# Scanned leaves, a tenth of a second, after which a better incumbent is searched for and nodes get
# local prices.
LONG = 1_000_000
# Iterations of the search for a better incumbent, and scanned leaves until the next ones; then
# trials begin, which make shorter searches a fifth slower. With all iterations at once, searches on
# digits, whose incumbents are optimal, take 1.2 times as long.
IMPROVEMENTS = ((10, 8_000_000), (50, 16_000_000))
# A trial that scans that many times the leaves of the search so far is given up: choices between
# its limit and the incumbent are not found meanwhile.
PATIENCE = 2
Cell = tuple[IntArray, IntArray]  # the first and the last level of each axis


def solve(problem: Problem, request: Request) -> Outcome:
    """Best-first branch and bound.

    A node is a box of levels. Its cheapest choice bounds its cost; the best leaves that fit the
    box and can be paid for bound every row. It is split where the near side loses most of a
    row's slack and the far side costs most. Open nodes take at most 256 MiB; when they run
    short, the search goes depth first.

    The lower bound is the least bound of all open nodes. Pure and thread safe; runs outside the
    interpreter lock. Once there is enough to do it is done by several threads, see
    :mod:`encoders.search.team`; which of several cheapest choices is found then depends
    on who comes first.
    """
    began = built = time.perf_counter()
    best, search = BestSoFar(problem, request), None
    reason: StopReason = "proved"

    def over() -> bool:
        return request.stop.is_set() or time.perf_counter() - began >= request.time_limit_s

    try:
        search = _Search(problem, request, best, over)
        built = time.perf_counter()
        search.run()
    except OutOfTimeError:
        reason = why(request)
    nodes = 0 if search is None else search.nodes
    build_s = built - began
    solve_s, raw = time.perf_counter() - began - build_s, f"{nodes} nodes"
    if search is None or reason != "proved":
        return best.ended(reason, build_s, solve_s, raw)
    held = (best.nothing if best.beaten() else best.proved)(build_s, solve_s, raw)
    return replace(held, lower=min(held.lower, search.refused.lower))


class _Refused:
    """Choices that who asks does not take, cut off with all that shares their leaves here.

    The problem may be a reduced one, whose leaves may be several of what was asked. So some of what
    is cut off may be an answer all the same, and the lower bound takes that into account.

    Attributes
    ----------
    boxes : all that is forbidden, as :func:`forbidden_boxes` gives it
    lower : nothing that was cut off costs less
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._cells: list[Cell] = []
        self.boxes, self.lower = forbidden_boxes(problem), np.inf

    def cell_of(self, choice: IntArray) -> Cell | None:
        """Return the cell that another thread cut off around this choice, None if there is none."""
        for low, high in self._cells:
            if (low <= choice).all() and (choice <= high).all():
                return low, high
        return None

    def cut(self, choice: IntArray) -> Cell:
        """Cut off a choice, and all that shares its leaves: the first and the last level of it."""
        (box,) = replace(self._problem, forbidden=()).without(choice).forbidden
        low, high = np.zeros(choice.size, dtype=np.int64), self._problem.size - 1
        low[box.axis], high[box.axis] = box.lo, box.hi
        self._cells.append((low, high))
        rows, start = self.boxes
        own = np.stack([box.axis, box.lo, box.hi], axis=1)
        self.boxes = np.concatenate([rows, own]), np.append(start, len(rows) + len(own))
        self.lower = min(self.lower, self._problem.least_in(low, high))
        return low, high


class _Search:
    """State that the threads of a solve share: tables, prices, and the incumbent.

    Attributes
    ----------
    nodes : nodes expanded so far
    upper : cost of the incumbent, or the cutoff
    """

    def __init__(self, problem: Problem, request: Request, best: BestSoFar, over: Over) -> None:
        self._problem, self._request, self._over = problem, request, over
        self._tables, self._unit = tabulate(problem, over), unit_of(problem)
        self.nodes, self._trial = 0, np.inf
        self.refused = _Refused(problem)
        self._found = threading.Lock()
        self.best, self.upper = best, request.cutoff
        self._coupled: Repricing | None = None
        prices = request.prices
        if prices is None:
            ceiling = ceiling_below(request.cutoff, self._unit)
            prices = prices_of(problem, self._tables, ceiling, FEW_STEPS, over)
        self._prices, self._repricing = prices, no_repricing()

    def run(self) -> None:
        """Search until all is proved; OutOfTimeError if that takes too long."""
        request = self._request

        def threads() -> int:
            return request.threads + request.spare()

        most = threads()
        with ThreadPoolExecutor(max(1, most - 1)) as executor:

            def team() -> Team:
                return Team(self._problem, executor, most, threads)

            whole = team()
            self._expand_all(whole, LONG)
            if whole.is_open and self._coupled is not None:
                self._repricing = self._coupled
                self._improve_between(whole)
            if not (whole.is_open and self._prove_by_trials(team, whole)):
                self._expand_all(whole)

    def _improve_between(self, team: Team) -> None:
        """Search for a better incumbent and expand nodes in turn."""
        problem, tables, prices = self._problem, self._tables, self._prices
        seed = self._request.seed
        improver = Improver(problem, tables, prices, self._offer, seed, self._over)
        for iterations, looked in IMPROVEMENTS:
            improver.iterate(iterations)
            self._expand_all(team, looked)
            if not team.is_open:
                break

    def _prove_by_trials(self, team: Callable[[], Team], whole: Team) -> bool:
        """Prove that nothing costs less than ever higher limits; return whether that was all."""
        floor, looked = max(whole.floor, self._prices.bound), whole.looked
        trials: list[Trial] = []
        while (limit := next_limit(trials, floor, self.upper)) is not None:
            if below(limit, self._unit) >= below(self.upper, self._unit):
                break
            self._trial, trial = limit, team()
            self._expand_all(trial, PATIENCE * looked)
            if trial.is_open:
                break
            if self.upper <= limit:
                return True
            looked += trial.looked
            trials.append(Trial(limit, trial.nodes))
        self._trial = np.inf
        return False

    def _expand_all(self, team: Team, looked: float = np.inf) -> None:
        """Let a team expand nodes until none is left, or prices are better and leaves scanned."""
        others = self.nodes - team.nodes
        while team.is_open and (team.looked < looked or self._coupled is None):
            look(self._over)
            self._look_up(team.looked)
            # The last node may begin a dive, and each wants room for one.
            team.expand(partial(self.expand, team.reserve), 2 * PRICED_DIVE, self._over)
            self.nodes = others + team.nodes
            floor = max(team.floor, self._prices.bound - ROUNDING * self._limit)
            self.best.at_least(min(floor, self._limit, self.refused.lower))

    @property
    def _limit(self) -> float:
        """Cost that choices of the current search must undercut."""
        return min(self.upper, self._trial)

    def _look_up(self, looked: int) -> None:
        """See what rivals have; after much work look for better prices, after more of boxes."""
        nodes = self.nodes
        self.upper = min(self.upper, self._request.cutoff_now(self._problem))
        if self._problem.aggregate != "sum" or not np.isfinite(self.upper):
            return
        if self._coupled is None and (nodes >= HARD or looked >= LONG):
            limit, coupling = below(self.upper, self._unit), couple(self._tables, self._over)
            root = zero_multipliers(coupling)
            self._prices = bound_by_prices(self._tables, limit, STEPS, self._over, coupling, root)
            self._coupled = Repricing(coupling, root)
        if nodes >= VERY_HARD and self._coupled is not None:
            self._repricing = self._coupled

    def expand(self, reserve: int, pool: Pool, n_nodes: int) -> None:
        """Expand nodes of a pool, and take what is found on the way; thread safe."""
        end = pool.counts[NODES] + n_nodes
        point = np.zeros(self._problem.n_axes, dtype=np.int64)
        cost = 0.0
        while np.isfinite(cost) and (left := int(end - pool.counts[NODES])) > 0:
            limit, boxes = below(self._limit, self._unit), self.refused.boxes
            cost = run_slice(
                self._tables, self._prices, self._repricing, pool, point, limit, boxes, left,
                reserve + PRICED_DIVE, PRICED_DIVE, None, None,
            )  # fmt: skip
            if np.isfinite(cost):
                with self._found:
                    cell = self._take(point.copy(), int(pool.counts[FREE]) - reserve)
                if cell is not None:
                    push_others(pool, *cell, cost)

    def _offer(self, choice: IntArray, cost: float) -> None:
        """Record a choice as incumbent if it is cheaper and not rejected."""
        refuses = self._request.refuses
        if cost < self.upper and (refuses is None or not refuses(choice)):
            self.best.found(choice)
            self.upper = min(self.upper, self.best.upper)

    def _take(self, choice: IntArray, room: int) -> Cell | None:
        """Store a choice that keeps every row; return the cell to cut off if it is rejected.

        Native verification is skipped if the pool has too few free slots for the rest of the box.
        """
        refuses = self._request.refuses
        if refuses is not None and room >= 2 * choice.size:
            if self._problem.distance(choice) >= self.upper:  # another thread was sooner
                return None
            cell = self.refused.cell_of(choice)
            if cell is None and refuses(choice):
                cell = self.refused.cut(choice)
            if cell is not None:
                return cell
        self.best.found(choice)
        self.upper = min(self.upper, self.best.upper)
        return None


def prices_of(
    problem: Problem, tables: Tables, upper: float, steps: int = STEPS, over: Over = never
) -> Prices:
    """Return bound and reduced costs for summed costs and a finite ``upper``, else zeros."""
    if problem.aggregate == "sum" and np.isfinite(upper):
        return bound_by_prices(tables, upper, steps, over)
    return no_prices(tables)


def forbidden_boxes(problem: Problem) -> tuple[IntArray, IntArray]:
    """Forbidden boxes as rows of (axis, lo, hi), and where each begins."""
    rows = [np.stack([box.axis, box.lo, box.hi], axis=1) for box in problem.forbidden]
    start = starts(np.array([len(row) for row in rows], dtype=np.int64))
    return np.concatenate([np.zeros((0, 3), dtype=np.int64), *rows]), start
