"""Declaration of the project's own branch and bound."""

from encoders.backends.interface import Backend, Capability, Feature

SEARCH = Backend(
    name="search",
    title="search",
    paradigm="branch and bound",
    module="encoders.backends.search.backend",
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
