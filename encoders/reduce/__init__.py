"""Problem -> smaller equivalent problem, a good incumbent, and the way back."""

from encoders.reduce.reduction import Reduction, reduce
from encoders.reduce.solve import solve_plain, solve_reduced

__all__ = ["Reduction", "reduce", "solve_plain", "solve_reduced"]
