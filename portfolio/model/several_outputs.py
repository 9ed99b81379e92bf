"""Targets of several outputs of a model at once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from encoders.core.errors import InputError
from encoders.query.goal import ClassGoal, Goal, relative
from encoders.trees.blend import Blend
from portfolio.model.explained_model import ExplainedModel, ModelOutput
from portfolio.model.goals import checked_target, value_goal, wanted_of
from portfolio.model.oracle import Oracle

AnyQuestion = TypeVar("AnyQuestion")  # record of a question


def reaching(model: ExplainedModel, target: Any) -> tuple[ExplainedModel, Any]:
    """Return the model of the outputs that a target names, and the target of the first of them.

    Other models, and their targets, are returned as they are.
    """
    if model.aim is not None:
        return model, _first(model, target)
    if not model.outputs:
        return model, target
    aim = _checked(model, target)
    first, *rest = aim
    for name, value in aim.items():
        _check_target(model, name, value)
    goals = {name: _goal(model, name, aim[name]) for name in rest}
    base = model.outputs[first].model
    view = replace(
        base.views[0],
        ensemble=replace(
            base.views[0].ensemble,
            companions=tuple(
                replace(model.outputs[name].companion, goal=goal) for name, goal in goals.items()
            ),
        ),
        companions=tuple(_oracle(model.outputs[name]) for name in goals),
    )
    return replace(base, views=(view,) * len(base.views), aim=aim), aim[first]


def _first(model: ExplainedModel, target: Any) -> Any:
    """Return the target of the first output of an aim; InputError if another one is given."""
    assert model.aim is not None
    if target is not None and target != model.aim:
        raise InputError(
            f"this Explainer is for the target {dict(model.aim)!r}, got {target!r}. Use the "
            "Explainer of the whole model."
        )
    return next(iter(model.aim.values()))


def _checked(model: ExplainedModel, target: Any) -> dict[Any, Any]:
    """Return a target by output; InputError if it is not one."""
    names = list(model.outputs)
    if not isinstance(target, Mapping) or not target:
        labels = model.outputs[names[0]].model.native.classes
        example = f"{{{names[0]!r}: {labels[0]!r}}}" if labels else f"{{{names[0]!r}: AtMost(100)}}"
        raise InputError(
            f"the model has {len(names)} outputs, got target={target!r}. Set target to a value "
            f"for one or more of them, such as {example}."
        )
    named = {str(name): name for name in names}
    for name in target:
        if str(name) not in named:
            raise InputError(
                f"unknown output {name!r}. The outputs are {', '.join(map(repr, names))}."
            )
    return {named[str(name)]: value for name, value in target.items()}


def _check_target(model: ExplainedModel, name: Any, target: Any) -> None:
    """Raise InputError with the name of the output unless its model supports the target."""
    try:
        checked_target(model.outputs[name].model, target)
    except InputError as error:
        raise InputError(f"output {name!r}: {error}") from error


def _goal(model: ExplainedModel, name: Any, target: Any) -> Goal:
    """Return the goal of an output that is not the first of a target."""
    alone = model.outputs[name].model
    limits = wanted_of(alone, target)
    if alone.ensemble.blend is not None or (limits and isinstance(alone.ensemble.link, Blend)):
        raise InputError(
            f"output {name!r} combines several score sums, which is supported for the first output "
            "of a target only. Name it first."
        )
    if limits is None:
        return ClassGoal(alone.native.class_index(target))
    if relative(limits):
        raise InputError(
            f"output {name!r}: {limits} is supported for a target of one output only. Use AtLeast "
            "or AtMost."
        )
    goal = value_goal(alone, limits, np.zeros(0))
    if goal.scale == "probability" and alone.ensemble.link.kind == "softmax":
        raise InputError(
            f"output {name!r}: {limits} is supported for the first output of a target only. Name "
            "it first."
        )
    return goal


def _oracle(output: ModelOutput) -> Oracle:
    return Oracle(output.companion.ensemble, output.model.native)


def chosen(model: ExplainedModel, question: AnyQuestion) -> tuple[ExplainedModel, AnyQuestion]:
    """Return the model and the question about the outputs that the question's target names."""
    if model.aim is None and not model.outputs:
        return model, question
    if not hasattr(question, "target"):
        name = getattr(question, "name", "this question")
        raise InputError(
            f"{name}() supports models of one output only. Use reasons() with a target."
        )
    about, target = reaching(model, getattr(question, "target", None))
    record: Any = question
    same: AnyQuestion = replace(record, target=target)
    return about, same
