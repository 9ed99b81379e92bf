"""Explanations in pipelines of Ray Data, which need the extra ``ray``."""

from portfolio.api.ray_data import CounterfolioUDF as CounterfolioUDF
from portfolio.api.ray_data import explain_dataset as explain_dataset

__all__ = ["CounterfolioUDF", "explain_dataset"]
