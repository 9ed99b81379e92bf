"""Declarations of the built-in backends."""

from encoders.backends.interface import Backend, Capability, Feature

SEARCH = Backend(
    name="search",
    title="search",
    paradigm="branch and bound",
    module="encoders.search.backend",
    requires="numba",
    distribution="numba",
    engines=("numba",),
    formulations=("boxes",),
    plain="boxes",
    capability=Capability(
        frozenset(
            {
                Feature.SUM,
                Feature.MAX,
                Feature.TELLS_CHOICES,
                Feature.TELLS_BOUNDS,
                Feature.STOPS,
                Feature.USES_RIVALS,
            }
        ),
        afresh=True,
    ),
    licence="MIT",
    colour="#0072B2",
    race_rank=0,
    votes_rank=0,
)

CP = Backend(
    name="cp",
    title="CP",
    paradigm="constraint programming",
    module="encoders.backends.cp.backend",
    requires="ortools",
    distribution="ortools",
    engines=("cp-sat",),
    formulations=("order", "plain", "published"),
    plain="plain",
    capability=Capability(
        frozenset(
            {
                Feature.SUM,
                Feature.MAX,
                Feature.TELLS_CHOICES,
                Feature.TELLS_BOUNDS,
                Feature.STOPS,
                Feature.KEEPS_MODELS,
            }
        )
    ),
    unproved=("published",),
    licence="Apache-2.0",
    colour="#D55E00",
    race_rank=2,
    votes_rank=2,
)

MILP = Backend(
    name="milp",
    title="MILP",
    paradigm="mixed-integer programming",
    module="encoders.backends.milp.backend",
    requires="highspy",
    distribution="highspy",
    engines=("auto", "highs", "gurobi"),
    formulations=("tight", "ocean"),
    plain="ocean",
    capability=Capability(
        frozenset(
            {
                Feature.SUM,
                Feature.MAX,
                Feature.TELLS_CHOICES,
                Feature.TELLS_BOUNDS,
                Feature.STOPS,
                Feature.KEEPS_MODELS,
            }
        ),
        tolerance=1e-6,
        isolated=True,
    ),
    licence="MIT",
    licence_probes=(("gurobi", "encoders.backends.milp.gurobi"),),
    colour="#009E73",
    race_rank=1,
    votes_rank=3,
)

MAXSAT = Backend(
    name="maxsat",
    title="MaxSAT",
    paradigm="maximum satisfiability",
    module="encoders.backends.maxsat.backend",
    requires="pysat",
    distribution="python-sat",
    engines=("glucose", "minisat", "cadical"),
    formulations=("cores", "linear"),
    plain="cores",
    capability=Capability(
        frozenset(
            {
                Feature.SUM,
                Feature.MAX,
                Feature.TELLS_CHOICES,
                Feature.TELLS_BOUNDS,
                Feature.STOPS,
                Feature.KEEPS_MODELS,
                Feature.USES_RIVALS,
            }
        ),
        isolated=True,
    ),
    lacks=(
        ("cadical", frozenset({Feature.STOPS})),
        ("linear", frozenset({Feature.TELLS_BOUNDS})),
    ),
    licence="MIT",
    colour="#CC79A7",
    race_rank=3,
    votes_rank=1,
)

SMT = Backend(
    name="smt",
    title="SMT",
    paradigm="satisfiability modulo theories",
    module="encoders.backends.smt.backend",
    requires="z3",
    distribution="z3-solver",
    engines=("z3",),
    formulations=("bisection",),
    plain="bisection",
    capability=Capability(
        frozenset(
            {
                Feature.SUM,
                Feature.MAX,
                Feature.TELLS_CHOICES,
                Feature.TELLS_BOUNDS,
                Feature.STOPS,
                Feature.USES_RIVALS,
            }
        ),
        epsilon=1e-3,
        isolated=True,
    ),
    licence="MIT",
    colour="#777777",
    race_rank=4,
    votes_rank=4,
)

BUILT_IN = (SEARCH, CP, MILP, MAXSAT, SMT)
