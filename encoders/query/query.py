"""One row, and all that is asked of it."""

from dataclasses import dataclass

from encoders.arrays import FloatArray
from encoders.query.admissible import Admissible, ChangeLimit
from encoders.query.cost import Cost
from encoders.query.features import Feature
from encoders.query.goal import Goal
from encoders.query.related import Related


@dataclass(frozen=True, eq=False)
class Query:
    """Everything that changes from one call to the next, resolved for one row.

    Attributes
    ----------
    row : float64 (n_columns,), checked
    goal : what is to be reached, a class or limits of a number
    cost : of every feature
    admissible : one per feature
    max_changes : how many features may change, one for each set of them
    margin : in the user's score unit, see ``margin_unit`` of
        :class:`encoders.trees.ensemble.Ensemble`; 0 for what the model itself says
    related : relations between features, None without any
    """

    row: FloatArray
    goal: Goal
    cost: Cost
    admissible: tuple[Admissible, ...]
    max_changes: tuple[ChangeLimit, ...]
    margin: float
    related: Related | None = None

    def any_number(self, index: int, feature: Feature) -> bool:
        """Whether a feature may become any number of an interval, and not only some."""
        listed = feature.values or self.cost.table(index)
        free = feature.kind == "numeric" and not feature.step and not listed
        return free and self.admissible[index].values is None
