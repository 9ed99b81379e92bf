"""The selector of counterfolio: picks the backend that solves a query.

Depends on ``encoders`` only.
"""

from selector.candidates import BackendTurn, check_name, line_up, named, takes_sessions
from selector.choose import Plan, Selector
from selector.descriptors import Case, Metric
from selector.diagram import Diagram, diagram_of
from selector.online_costs import OnlineCosts
from selector.portfolios import Portfolio, portfolio_of

__all__ = [
    "BackendTurn",
    "Case",
    "Diagram",
    "Metric",
    "OnlineCosts",
    "Plan",
    "Portfolio",
    "Selector",
    "check_name",
    "diagram_of",
    "line_up",
    "named",
    "portfolio_of",
    "takes_sessions",
]
