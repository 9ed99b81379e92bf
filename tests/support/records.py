"""Records of runs that never happened."""

import math
from dataclasses import fields, replace

import numpy as np

from encoders.problem.descriptors import Shape
from selector.descriptors import EnsembleDescriptors
from selector.logs import LogRecord

LIMIT_S = 20.0
ENSEMBLE = EnsembleDescriptors(**{field.name: 1 for field in fields(EnsembleDescriptors)})
LEFT = Shape(
    options=100, leaves=50, open_trees=5, axes=5, axis_max=5, rows=1, slack=0.5, incumbent=math.inf
)
SOLO = LogRecord(
    run="", race="", query="", forest="", row="", dataset="", time="", mode="solo", competitors="",
    machine="", load=0.0, ensemble=ENSEMBLE, describe_s=0.001, norm="1", scale="", constraints="",
    plausible=False, target="", left=LEFT, backend="", engine="", formulation="", versions="",
    seed=0, threads=1, limit_s=LIMIT_S, memory_limit=0, pose_s=0.0, reduce_s=0.0, build_s=0.0,
    solve_s=0.0, verify_s=0.0, queue_s=0.0, stop_s=0.0, total_s=0.0, peak_bytes=0, status="optimal",
    stop_reason="proved", censored=False, upper=0.0, lower=0.0, bound_source="own",
    certified_by="", trace=(), verified=True, error="",
)  # fmt: skip


def record(query, backend, seconds, group="a", **more):
    """A solo run; ``seconds`` None for one without proof."""
    took = LIMIT_S if seconds is None else seconds
    made = replace(
        SOLO,
        run=f"{query}-{backend}-{more.get('mode', 'solo')}",
        query=query, forest=group, dataset=group, time=f"2026-01-01T00:00:{len(query):02d}",
        backend=backend, total_s=took, solve_s=took,
    )  # fmt: skip
    if seconds is None:
        made = replace(made, status="unknown", stop_reason="time_limit")
    return replace(made, **more)


def campaign(rng, groups=6, rows=30):
    """search is fast where few options are left, milp where many are; cp is in between."""
    found = []
    for group in range(groups):
        for row in range(rows):
            options = int(rng.integers(10, 1000))
            few = options < 400
            left = Shape(options, 50, 5, 5, 5, 1, 0.5, 1.0)
            query = f"{group}-{row}"
            own = {"left": left, "group": f"set{group}"}
            fast = float(rng.uniform(0.01, 0.05))
            found += [
                record(query, "search", fast if few else None, **own),
                record(query, "milp", 3.0 if few else 10 * fast, **own),
                record(query, "cp", 5.0, **own),
            ]
    return found


def campaign_of_six():
    """:func:`campaign`, always the same."""
    return campaign(np.random.default_rng(0))
