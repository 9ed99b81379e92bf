"""Which backend should answer a query. Depends on ``encoders`` only."""

from selector.choose import Choice, Plan, Selector, check_name, keeps_models, line_up, named
from selector.diagram import Diagram, diagram_of
from selector.vector import Case, Metric

__all__ = [
    "Case",
    "Choice",
    "Diagram",
    "Metric",
    "Plan",
    "Selector",
    "check_name",
    "diagram_of",
    "keeps_models",
    "line_up",
    "named",
]
