"""Where programs written for 0.1 import it from; new ones take it from ``counterfolio``."""

from portfolio.running.local_executor import LocalExecutor

__all__ = ["LocalExecutor"]
