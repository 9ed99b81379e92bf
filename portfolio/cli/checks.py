"""Checks of options that run before data and model are read."""

from pathlib import Path
from typing import Any

from encoders.core.errors import InputError
from portfolio.cli.options import ModelOptions, QuestionOptions


def check_options(
    model: ModelOptions,
    question: QuestionOptions,
    limits: dict[str, Any] | None = None,
    portfolio: str | None = None,
) -> None:
    """Raise :class:`InputError` if an option is invalid regardless of data and model."""
    from encoders.query.cost import make_cost
    from encoders.query.features import FeatureSpace
    from portfolio.engine.question import MAP, Options, strategy_name
    from selector import portfolio_of

    model.check()
    for path in (model.model, *(model.also or ())):
        _check_file(path, "model")
    question.constraints()
    if not _may_have_outputs(model, question):
        question.goal((), {})
    make_cost(FeatureSpace((), ()), question.norm, question.scale, None)
    strategy = question.chosen_strategy()  # batches also accept a map
    name = strategy if strategy == MAP else strategy_name(strategy)
    Options(name, **(limits or {}), portfolio=portfolio_of(portfolio))
    if question.features is not None:
        from encoders.query.overrides import as_entries

        as_entries(question.features)
    if question.diagram is not None:
        from selector import diagram_of

        diagram_of(question.diagram)


def _may_have_outputs(model: ModelOptions, question: QuestionOptions) -> bool:
    """Return whether the options of the goal may be about a model of several outputs."""
    by_name = any("=" in text for text in question.target or ())
    return model.train is None and (model.outputs is not None or by_name)


def _check_file(path: Path | None, kind: str) -> None:
    from portfolio.model.saved import is_saved

    if path is not None and not (path.is_file() or is_saved(path)):
        if path.is_dir():
            raise InputError(
                f"{path} is a folder, but not that of a saved explainer. Give a model file."
            )
        raise InputError(f"{kind} file {path} does not exist. Check the path.")
