"""What the checker makes of a model: read once for all records of it."""

from dataclasses import dataclass
from typing import Any

from portfolio.checker import RejectedError, read


@dataclass(frozen=True)
class TreesRead:
    """What the checker makes of a model.

    Attributes
    ----------
    digest : of the trees as the checker reads them; None where it does not
    scale : by which the checker makes whole numbers of scores
    refusal : why it does not, else ""
    """

    digest: str | None
    scale: float
    refusal: str

    @staticmethod
    def of(model: Any) -> "TreesRead":
        """Read a model as the checker does."""
        try:
            trees = read(model)
        except RejectedError as error:
            return TreesRead(None, 1.0, str(error))
        return TreesRead(trees.digest, trees.scale, "")
