"""Declaration of the constraint programming backend."""

from encoders.backends.interface import Backend, Capability, Feature

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
