"""A backend that tries every choice, as in docs/internals/adding-a-backend.md."""

import time

import numpy as np

from encoders.backends.best_so_far import BestSoFar
from encoders.backends.interface import Backend, Capability, Feature
from encoders.backends.stopping import why

ENUMERATING = Backend(
    name="enumerating",
    title="enumeration",
    paradigm="brute force",
    module="tests.conformance.enumerating",
    requires="numpy",
    distribution="numpy",
    engines=("numpy",),
    formulations=("all",),
    plain="all",
    capability=Capability(
        frozenset({Feature.SUM, Feature.MAX, Feature.TELLS_CHOICES, Feature.STOPS})
    ),
)


def solve(problem, request):
    began = time.perf_counter()
    best = BestSoFar(problem, request, request.cutoff)
    for index in np.ndindex(*problem.size.tolist()):
        late = time.perf_counter() - began >= request.time_limit_s
        if late or request.stop.is_set():
            return best.ended(why(request), 0.0, time.perf_counter() - began, "stopped")
        levels = np.array(index, dtype=np.int64)
        if problem.distance(levels) < best.upper and problem.admits(levels):
            best.found(levels)
    return best.proved(0.0, time.perf_counter() - began, "all choices tried")
