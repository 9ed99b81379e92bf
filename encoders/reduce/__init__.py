"""Problem -> smaller equivalent problem, a good incumbent, and the way back."""

from encoders.reduce.reduction import Reduction, reduce

__all__ = ["Reduction", "reduce"]
