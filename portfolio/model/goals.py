"""Checks of targets against a model, and their conversion to goals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from encoders.core.errors import InputError
from encoders.query.goal import (
    AtLeast,
    AtMost,
    Beat,
    ClassGoal,
    Goal,
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
from encoders.readers.kinds import predictor
from portfolio.model.native import predict_one
from portfolio.model.plausibility import is_forest
from portfolio.model.tabular import read_row

if TYPE_CHECKING:
    from encoders.core.arrays import FloatArray
    from portfolio.model.explained_model import ExplainedModel


def wanted_of(model: ExplainedModel, target: Any) -> Wanted | None:
    """Return a target as a goal, checked against the model; None for a label and for None."""
    regression = model.ensemble.regression
    if isinstance(target, Mapping):
        raise InputError(
            f"target {dict(target)!r} is neither a label nor a goal, and the model has one output. "
            f"Goals are {', '.join(kind.__name__ for kind in get_args(Wanted))}."
        )
    if isinstance(target, AtLeast | AtMost | Less | More):
        if not regression and not is_forest(model.native.model):
            raise InputError(
                f"{target} supports regressors and isolation forests, and the model is a "
                f"classifier. Use {_targets(model)}."
            )
        return target
    if isinstance(target, Probability):
        _check_probability(model, target)
        return target
    if isinstance(target, Score | Beat):
        _check_score(model, target)
        return target
    if not regression:
        return None
    if isinstance(target, tuple | list) and len(target) == 2:
        return Score(*target)
    example = f"AtLeast({target})" if is_number(target) else "AtLeast(100)"
    raise InputError(
        f"the model is a regressor and has no classes, got target={target!r}. Use limits "
        f"(low, high), {example}, AtMost, Less(by=...), More(by=...) or Beat(row)."
    )


def checked_target(model: ExplainedModel, target: Any) -> Wanted | None:
    """Return what :func:`wanted_of` does; raise InputError for an unknown class as well."""
    wanted = wanted_of(model, target)
    if wanted is None and target is not None:
        model.native.class_index(target)
    return wanted


def value_goal(model: ExplainedModel, wanted: Wanted, row: FloatArray) -> ValueGoal:
    """Return a goal of the user as limits on one output of the model, for one row."""
    scale, output = _number(model, wanted)
    _check_also(model, wanted, scale)
    reference = _reference(model, wanted, row)
    now = 0.0 if reference is None else float(model.native.values(reference, scale, output)[0])
    if isinstance(wanted, Beat) and not math.isfinite(now):
        raise InputError(f"the model's score of the row of Beat is {now}. Use another row.")
    low, high = limits_of(wanted, now)
    return ValueGoal(_view(model, output, low), scale, output, low, high)


def _reference(model: ExplainedModel, target: Wanted, row: FloatArray) -> FloatArray | None:
    """Return the row whose number sets the limits of a goal, float64 (1, n_columns), or None."""
    if relative(target):
        return row[None, :]
    if not isinstance(target, Beat):
        return None
    try:
        other = read_row(target.values(), model.space, model.input_type, model.native.table)
    except InputError as error:
        raise InputError(f"the row of Beat: {error}") from error
    return other.values[None, :]


def label_of(model: ExplainedModel, target: Any, row: FloatArray, question: str) -> Any:
    """Return a class label; without a target, the other one of two classes."""
    classes = model.native.classes
    if target is not None:
        return classes[model.native.class_index(target)]
    if len(classes) != 2:
        raise InputError(
            f"{question} needs a target because the model has {len(classes)} classes. Set target "
            "to one of them."
        )
    return classes[1 - predict_one(model.ensemble, model.native, row)]


def goal_of(model: ExplainedModel, target: Any, row: FloatArray, question: str) -> Goal:
    """Return the goal of one row; without a target, the other one of two classes."""
    wanted = wanted_of(model, target)
    if wanted is not None:
        return value_goal(model, wanted, row)
    return ClassGoal(model.native.class_index(label_of(model, target, row, question)))


def _number(model: ExplainedModel, wanted: Wanted) -> tuple[Scale, int]:
    """Return the scale and the index of the output that a goal limits."""
    if model.ensemble.regression:
        return "prediction", 0
    if isinstance(wanted, Probability):
        return "probability", model.native.class_index(wanted.label)
    link = model.ensemble.link
    blend = model.ensemble.blend
    averaged = link.kind == "mean" or (blend is not None and blend.probable and not blend.scored)
    return ("probability" if averaged else "raw"), 1


def own_number(model: ExplainedModel, target: Any) -> tuple[Scale, int] | None:
    """Return the scale and the index of the output that measures a target; None without one."""
    if target is None:
        return None
    if isinstance(target, Wanted):
        return _number(model, target)
    output = model.native.class_index(target)
    link = model.ensemble.link
    blend = model.ensemble.blend
    counts = link.kind == "none" or (blend is not None and not blend.has_probabilities)
    return ("raw" if counts else "probability"), output


def _view(model: ExplainedModel, output: int, low: float) -> int:
    """Return the class whose isolation forest applies: the one that the goal favours."""
    classes = model.native.classes
    if not classes or low > float("-inf"):
        return output
    if len(classes) == 2:
        return 1 - output
    forests = {id(forest) for view in model.views for forest in view.forests}
    if len(forests) > 1:
        raise InputError(
            "at_most alone does not determine which of the isolation forests applies. Set at_least "
            "as well, or pass Plausibility one forest for all classes."
        )
    return output


def _check_also(model: ExplainedModel, wanted: Wanted, scale: Scale) -> None:
    """Raise InputError unless the models of ``also`` have an output on the same scale."""
    for at, other in enumerate(model.also):
        link = other.ensemble.link
        if scale == "raw":
            raise InputError(
                f"{wanted} limits the score of one model, and also adds models with other scores. "
                "Use a class label or a Probability."
            )
        if other.ensemble.votes or link.kind in ("none", "softmax", "blend"):
            name = f"also[{at}]" if model.aim is None else "another output of the target"
            raise InputError(f"{wanted}: {name} does not support this target. Use a class label.")


def _check_probability(model: ExplainedModel, wanted: Probability) -> None:
    if model.ensemble.regression:
        raise InputError(
            f"{wanted}: the model is a regressor and predicts no probabilities. Use limits "
            "(low, high), AtLeast or AtMost."
        )
    model.native.class_index(wanted.label)
    link = model.ensemble.link
    blend = model.ensemble.blend
    if model.ensemble.votes:
        raise InputError(
            f"{wanted}: a hard-voting model has no probabilities. Use {_targets(model)}."
        )
    if link.kind == "none" or (blend is not None and not blend.has_probabilities):
        name = type(predictor(model.native.model)).__name__
        raise InputError(f"{wanted}: {_without_probabilities(model, name)}. Use {_targets(model)}.")


def _without_probabilities(model: ExplainedModel, name: str) -> str:
    """Return the reason why probabilities of a classifier are not supported as targets."""
    native = model.native.model
    if not hasattr(native, "predict_proba"):
        return f"a {name} has no probabilities"
    return f"this {name} has no probabilities that follow from its trees or sums exactly"


def _check_score(model: ExplainedModel, target: Score | Beat) -> None:
    if not model.ensemble.regression and len(model.native.classes) != 2:
        raise InputError(
            f"{type(target).__name__} supports models with one score; this one has "
            f"{len(model.native.classes)} classes. Use {_targets(model)}."
        )


def _targets(model: ExplainedModel) -> str:
    """Return the targets that a classifier supports, in words."""
    link, blend = model.ensemble.link, model.ensemble.blend
    votes = model.ensemble.votes or (blend is not None and not blend.has_probabilities)
    targets = ["a class label (with or without a margin)"]
    if link.kind != "none" and not votes:
        targets.append("Probability(label, at_least=...)")
    if len(model.native.classes) == 2:
        targets += ["Score(low, high)", "Beat(row)"]
    return " or ".join(targets)
