"""Declaration of the MaxSAT backend."""

from encoders.backends.interface import Backend, Capability, Feature

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
