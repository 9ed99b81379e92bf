"""Declaration of the satisfiability modulo theories (SMT) backend."""

from encoders.backends.interface import Backend, Capability, Feature

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
