"""Sources of a model's inputs: the user's columns from which a pipeline computes them."""

from dataclasses import dataclass, replace
from typing import Literal

SourceKind = Literal["monotone", "discrete", "bins"]


@dataclass(frozen=True)
class Source:
    """User's column on which an input of the model depends.

    :attr:`told` is True if the user declared the input to be monotone for the training data.

    Attributes
    ----------
    column : index of the column.
    kind : kind of dependence. A "monotone" input rises or falls with the number. A "discrete" input
        has an unrelated number per value, as from an encoder of categories. An input of kind "bins"
        is 1 within an interval and 0 elsewhere.
    rank : rank of the input's interval among the bins of a block.
    block : number shared by the bins of one discretizer and column, -1 otherwise.
    rough : whether rounding may break monotonicity in the last bits.
    """

    column: int
    kind: SourceKind = "monotone"
    rank: int = 0
    block: int = -1
    rough: bool = False
    told: bool = False

    @property
    def encoded(self) -> "Source":
        """Source of the same column after an encoder of categories."""
        return replace(self, kind="discrete", rank=0, block=-1, rough=False, told=False)
