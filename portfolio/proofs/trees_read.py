"""The view of the checker on a model, read once for all of its records."""

from dataclasses import dataclass

from portfolio.checker import RejectedError, read
from portfolio.model.explained_model import ExplainedModel


@dataclass(frozen=True)
class TreesRead:
    """The checker's view of a model."""

    digest: str | None  # SHA-256 of the trees as the checker reads them; None if unsupported
    scale: float  # factor by which the checker scales scores before it rounds them to integers
    refusal: str  # reason why the model is not supported, else ""


def trees_read(model: ExplainedModel) -> TreesRead:
    """Return the checker's view of a model."""
    try:
        trees = read(model.native.model)
    except RejectedError as error:
        return TreesRead(None, 1.0, str(error))
    return TreesRead(trees.digest, trees.scale, "")
