"""Declaration of the mixed-integer programming backend."""

from encoders.backends.interface import Backend, Capability, Feature

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
