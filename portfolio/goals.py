"""What the user wants to reach, as goals of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from encoders.errors import InputError
from encoders.query.goal import (
    AtLeast,
    AtMost,
    Less,
    More,
    Probability,
    Scale,
    Score,
    ValueGoal,
    Wanted,
    is_number,
    limits_of,
    relative,
)

if TYPE_CHECKING:
    from encoders.arrays import FloatArray
    from portfolio.model.explained_model import ExplainedModel


def wanted_of(model: ExplainedModel, target: Any) -> Wanted | None:
    """The record that a target is, checked against the model; None for a label, or None itself."""
    regression = model.ensemble.regression
    if isinstance(target, AtLeast | AtMost | Less | More):
        if not regression:
            raise InputError(
                f"{target} is for regressors, and this model classifies; give {_targets(model)}."
            )
        return target
    if isinstance(target, Probability):
        _check_probability(model, target)
        return target
    if isinstance(target, Score):
        _check_score(model)
        return target
    if not regression:
        return None
    if isinstance(target, tuple | list) and len(target) == 2:
        return Score(*target)
    example = f"AtLeast({target})" if is_number(target) else "AtLeast(100)"
    raise InputError(
        f"this model is a regressor and has no classes, so target={target!r} says nothing; give "
        f"limits (low, high), {example}, AtMost, Less(by=...) or More(by=...)."
    )


def checked_target(model: ExplainedModel, target: Any) -> Wanted | None:
    """Return what :func:`wanted_of` does; raise InputError for an unknown class as well."""
    wanted = wanted_of(model, target)
    if wanted is None and target is not None:
        model.native.class_index(target)
    return wanted


def value_goal(model: ExplainedModel, wanted: Wanted, row: FloatArray) -> ValueGoal:
    """A record of the user's about one row."""
    scale, output = _number(model, wanted)
    _check_also(model, wanted, scale)
    now = float(model.native.values(row[None, :], scale, output)[0]) if relative(wanted) else 0.0
    low, high = limits_of(wanted, now)
    return ValueGoal(_view(model, output, low), scale, output, low, high)


def _number(model: ExplainedModel, wanted: Wanted) -> tuple[Scale, int]:
    """Which of the model's numbers is meant."""
    if model.ensemble.regression:
        return "prediction", 0
    if isinstance(wanted, Probability):
        return "probability", model.native.class_index(wanted.label)
    link = model.ensemble.link
    blend = model.ensemble.blend
    averaged = link.kind == "mean" or (blend is not None and blend.probable)
    return ("probability" if averaged else "raw"), 1


def own_number(model: ExplainedModel, target: Any) -> tuple[Scale, int] | None:
    """The number that tells how far a row is from a target; None where the target is None."""
    if target is None:
        return None
    if isinstance(target, Wanted):
        return _number(model, target)
    output = model.native.class_index(target)
    link = model.ensemble.link
    blend = model.ensemble.blend
    counts = link.kind == "none" or (blend is not None and blend.counts)
    return ("raw" if counts else "probability"), output


def _view(model: ExplainedModel, output: int, low: float) -> int:
    """The class whose isolation forest answers must please: the one that they lean to."""
    classes = model.native.classes
    if not classes or low > float("-inf"):
        return output
    if len(classes) == 2:
        return 1 - output
    forests = {id(forest) for view in model.views for forest in view.forests}
    if len(forests) > 1:
        raise InputError(
            "with an isolation forest per class, at_most alone does not say whose is meant; give "
            "at_least, or Plausibility one forest for all classes."
        )
    return output


def _check_also(model: ExplainedModel, wanted: Wanted, scale: Scale) -> None:
    """Raise :class:`InputError` unless the number is one that further models have, too."""
    for at, own in enumerate(model.also):
        link = own.ensemble.link
        if scale == "raw":
            raise InputError(
                f"{wanted} is about the model's own score, which says nothing of other models'; "
                "with also ask for a class or a Probability."
            )
        if own.ensemble.votes or link.kind in ("none", "softmax", "blend"):
            raise InputError(
                f"{wanted}: also[{at}] has no number of that kind that one sum of its leaves "
                "decides; ask for a class."
            )


def _check_probability(model: ExplainedModel, wanted: Probability) -> None:
    if model.ensemble.regression:
        raise InputError(
            f"{wanted}: this model is a regressor and predicts no probabilities; give limits "
            "(low, high), AtLeast or AtMost."
        )
    model.native.class_index(wanted.label)
    link = model.ensemble.link
    blend = model.ensemble.blend
    if model.ensemble.votes or (blend is not None and blend.counts):
        raise InputError(
            f"{wanted}: hard voting counts votes and has no probabilities; give {_targets(model)}."
        )
    if link.kind == "none":
        raise InputError(
            f"{wanted}: this model has no probabilities that follow from its trees exactly; give "
            f"{_targets(model)}."
        )


def _check_score(model: ExplainedModel) -> None:
    if not model.ensemble.regression and len(model.native.classes) != 2:
        raise InputError(
            f"Score is for models with one score; this one has {len(model.native.classes)} "
            f"classes; give {_targets(model)}."
        )


def _targets(model: ExplainedModel) -> str:
    """Return the targets that a classifier takes, in words."""
    link, blend = model.ensemble.link, model.ensemble.blend
    votes = model.ensemble.votes or (blend is not None and blend.counts)
    known = ["a class with or without a margin"]
    if link.kind != "none" and not votes:
        known.append("Probability(label, at_least=...)")
    if len(model.native.classes) == 2:
        known.append("Score(low, high)")
    return " or ".join(known)
