"""A query bound to one row."""

from dataclasses import dataclass

from encoders.core.arrays import FloatArray
from encoders.query.admissible import Admissible, ChangeLimit
from encoders.query.cost import Cost
from encoders.query.features import Feature
from encoders.query.goal import Goal
from encoders.query.related import Related


@dataclass(frozen=True, eq=False)
class Query:
    """All arguments of one call, resolved for one row.

    Attributes
    ----------
    row : float64 (n_columns,), checked row of the user.
    goal : Goal, class or limits of an output to reach.
    cost : Cost, cost of moving each feature.
    admissible : tuple of Admissible, one per feature.
    max_changes : tuple of ChangeLimit, one per limited set of features.
    margin : float, margin in the user's score unit, see ``margin_unit`` of
        :class:`encoders.trees.ensemble.Ensemble`; 0 for the model's own prediction.
    related : Related or None, relations between features.
    """

    row: FloatArray
    goal: Goal
    cost: Cost
    admissible: tuple[Admissible, ...]
    max_changes: tuple[ChangeLimit, ...]
    margin: float
    related: Related | None = None

    def any_number(self, index: int, feature: Feature) -> bool:
        """Return whether a feature may take every number of an interval."""
        listed = feature.values or self.cost.table(index)
        free = feature.kind == "numeric" and not feature.step and not listed
        return free and self.admissible[index].values is None
