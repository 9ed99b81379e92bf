"""Problem -> smaller equivalent problem, a good incumbent, and the way back."""

from encoders.reduce.reduction import Reduction, reduce
from encoders.reduce.solve import Plan, Step, solve_reduced

__all__ = ["Plan", "Reduction", "Step", "reduce", "solve_reduced"]
