"""Where the inputs of a model come from when its user has other columns."""

from dataclasses import dataclass, replace
from typing import Literal

SourceKind = Literal["monotone", "discrete", "bins"]


@dataclass(frozen=True)
class Source:
    """The one column of the user's that an input of the model depends on.

    Attributes
    ----------
    column : its place
    kind : how the input follows a number there: "monotone", rising or falling; "discrete", each
        value for itself, as with an encoder of categories; "bins", 1 within an interval and else 0
    rank : of its interval, among the bins of a block
    block : number that bins of one discretizer and column share, -1 otherwise
    rough : whether the last bits may fall where all else rises, or rise where it falls
    told : whether that it is monotone is what the user says, of the numbers in the training data
    """

    column: int
    kind: SourceKind = "monotone"
    rank: int = 0
    block: int = -1
    rough: bool = False
    told: bool = False

    @property
    def encoded(self) -> "Source":
        """The same column, after an encoder of categories."""
        return replace(self, kind="discrete", rank=0, block=-1, rough=False, told=False)
