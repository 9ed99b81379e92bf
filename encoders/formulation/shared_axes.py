"""The axes of an action that rows share, and the levels of its options."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from encoders.core.arrays import BoolArray, IntArray, Scalar, starts
from encoders.formulation.shared_options import Options
from encoders.query.features import FeatureSpace
from encoders.trees.cells import Cells


@dataclass(frozen=True, eq=False)
class SharedAxes:
    """The axes of an action."""

    options: tuple[Options, ...]  # one per feature
    ordered: BoolArray  # bool (n_features,), whether all options are levels of one axis

    @cached_property
    def first(self) -> IntArray:
        """First axis of each feature, int64 (n_features + 1,)."""
        return starts(
            np.array(
                [1 if o else len(f.way) for f, o in zip(self.options, self.ordered, strict=True)]
            )
        )

    @cached_property
    def level_start(self) -> IntArray:
        """Levels of each axis, int64 (n_axes + 1,)."""
        sizes = [
            [len(f.way)] if o else [2] * len(f.way)
            for f, o in zip(self.options, self.ordered, strict=True)
        ]
        return starts(np.array([size for own in sizes for size in own]))

    def levels(self, index: int) -> IntArray:
        """Return the level of each option of a feature, int64 (n_options,)."""
        begin, end = self.first[index : index + 2]
        if self.ordered[index]:
            return np.arange(*self.level_start[begin : begin + 2])
        return self.level_start[begin:end] + 1

    def spread(
        self, per_option: Sequence[npt.NDArray[Scalar]], other: float
    ) -> npt.NDArray[Scalar]:
        """Spread values of options over their levels; a level "no" has ``other``."""
        found = np.full(int(self.level_start[-1]), other, dtype=per_option[0].dtype)
        for index, known in enumerate(per_option):
            found[self.levels(index)] = known
        return found

    def chosen(self, levels: IntArray) -> IntArray:
        """Return the index of the option that a choice takes per feature, int64 (n_features,)."""
        taken = self.level_start[:-1] + levels
        return np.array(
            [
                int(np.flatnonzero(np.isin(self.levels(i), taken))[0])
                for i in range(len(self.options))
            ]
        )

    def levels_of(self, chosen: IntArray) -> IntArray:
        """Return the choice of levels that takes the given options, int64 (n_axes,)."""
        levels = np.zeros(self.level_start.size - 1, dtype=np.int64)
        for index, option in enumerate(chosen.tolist()):
            if self.ordered[index]:
                levels[self.first[index]] = option
            else:
                levels[self.first[index] + option] = 1
        return levels

    def groups(self) -> tuple[IntArray, ...]:
        """Levels of which exactly one is chosen, of each feature with several axes."""
        return tuple(self.levels(int(index)) for index in np.flatnonzero(~self.ordered))


def shared_axes(space: FeatureSpace, cells: Cells, options: tuple[Options, ...]) -> SharedAxes:
    """Return the axes of an action; unordered options have one axis each."""
    grouped = {group.column for group in cells.groups}
    ordered = [f.kind != "categorical" and f.column not in grouped for f in space.features]
    return SharedAxes(options, np.array(ordered))
