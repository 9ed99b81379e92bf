"""Problem -> smaller equivalent problem, a good incumbent, and the way back."""

from encoders.presolve.reduction import Reduction, reduce, reduce_more

__all__ = ["Reduction", "reduce", "reduce_more"]
