"""The view of the checker on a model, read once for all of its records."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.core.arrays import IntArray
from portfolio.checker import RejectedError, SeveralOutputs, read, read_named
from portfolio.model.explained_model import ExplainedModel


@dataclass(frozen=True)
class TreesRead:
    """The checker's view of a model."""

    digest: str | None  # SHA-256 of the trees as the checker reads them; None if unsupported
    scale: float  # factor by which the checker scales scores before it rounds them to integers
    refusal: str  # reason why the model is not supported, else ""
    n_trees: tuple[int, ...] = ()  # number of trees of each output of a model of several

    def places(self, tree: IntArray, n_trees: int) -> IntArray:
        """Return the checker's indices of trees, of which the model has ``n_trees``.

        The checker reads the bias of XGBoost as the last tree, that of each output.
        """
        if sum(self.n_trees) == n_trees + len(self.n_trees):
            ends = np.cumsum(np.array(self.n_trees) - 1)
            return tree + np.searchsorted(ends, tree, side="right")
        return tree


def whole_of(model: Any) -> Any:
    """Return the model of several outputs that one of them belongs to; other models themselves."""
    return getattr(model, "whole", model)


def trees_read(model: ExplainedModel) -> TreesRead:
    """Return the checker's view of a model, or of all outputs of one of several."""
    native = model.native.model
    try:
        if model.aim is None:
            trees: Any = read(native)
        else:
            goal = {str(name): None for name in model.aim}
            trees = read_named(whole_of(native), [*map(str, model.output_names)], goal)
    except RejectedError as error:
        return TreesRead(None, 1.0, str(error))
    parts = tuple(part.n_trees for part in trees.parts) if isinstance(trees, SeveralOutputs) else ()
    return TreesRead(trees.digest, trees.scale, "", parts)
