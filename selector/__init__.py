"""Which backend should answer a query. Depends on ``encoders`` only."""

from selector.choose import Choice, check_name, choose, keeps_models, line_up

__all__ = ["Choice", "check_name", "choose", "keeps_models", "line_up"]
