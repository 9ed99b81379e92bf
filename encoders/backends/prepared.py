"""A solver's model without costs, built once and used for many queries."""

import hashlib
import time
from dataclasses import replace

import numpy as np

from encoders.backends.interface import Backend, Outcome, Prepare, Request, Solve
from encoders.problem.problem import Problem


def prepared(prepare: Prepare, problem: Problem, request: Request) -> Outcome:
    """Build a model for this problem alone and solve it."""
    began = time.perf_counter()
    return _after(began, prepare(problem, request), problem, request)


class PreparedModel:
    """The model that was built last; a problem of another structure replaces it.

    It is not thread-safe.
    """

    def __init__(self) -> None:
        self._key = b""
        self._solve: Solve | None = None

    def solve(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve a problem; ``build_s`` only includes the time that this query took."""
        began = time.perf_counter()
        variant = f"{backend.name} {request.engine} {request.formulation}".encode()
        key = variant + structure_key(problem)
        if self._solve is None or key != self._key:
            self._solve, self._key = backend.load_prepare()(problem, request), key
        return _after(began, self._solve, problem, request)


def _after(began: float, solve: Solve, problem: Problem, request: Request) -> Outcome:
    build_s = time.perf_counter() - began
    outcome = solve(problem, replace(request, time_limit_s=request.time_limit_s - build_s))
    return replace(outcome, build_s=outcome.build_s + build_s)


def structure_key(problem: Problem) -> bytes:
    """Return a digest of everything that a model without costs depends on."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{problem.aggregate} {problem.exact}".encode())
    parts = [
        problem.level_start,
        *problem.one_hot,
        problem.tree_start,
        problem.leaf_start,
        problem.axis,
        problem.lo,
        problem.hi,
    ]
    for row in problem.leaf_rows:
        parts += [row.weight, np.array([row.minimum])]
    for level_row in problem.level_rows:
        parts += [level_row.weight, np.array([level_row.maximum])]
    for box in problem.forbidden:
        parts += [box.axis, box.lo, box.hi]
    for part in parts:
        digest.update(f"{part.dtype} {part.size} ".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()
