"""Problem -> smaller equivalent problem, a good incumbent, and the way back."""

from encoders.reduce.reduction import Reduction, reduce
from encoders.reduce.solve import Run, Step, solve_reduced, solve_whole

__all__ = ["Reduction", "Run", "Step", "reduce", "solve_reduced", "solve_whole"]
