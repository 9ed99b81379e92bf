"""Which backend should answer a query. Depends on ``encoders`` only."""

from selector.choose import check_name, choose, keeps_models

__all__ = ["check_name", "choose", "keeps_models"]
