"""Where programs written for 0.1 import it from; new ones take it from ``counterfolio``."""

from portfolio.running.ray.executor import RayExecutor

__all__ = ["RayExecutor"]
