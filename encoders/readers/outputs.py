"""Readers of a single output of a model that predicts several labels or numbers at once."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import ending_in, is_pipeline, last_step, unwrapped
from encoders.readers.read import native_leaves, native_scores, native_values
from encoders.readers.reader import Codes, Reader, ReadMember, averages, reader_of
from encoders.readers.sklearn_trees import ForestReader, read_output
from encoders.trees.ensemble import Ensemble

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

MEMBERS = ("MultiOutputClassifier", "MultiOutputRegressor")  # one fitted model per output


def outputs_of(model: Any) -> tuple[Any, ...]:
    """Return a model for each output of a fitted model; empty if it has one output."""
    inner = unwrapped(model)
    if is_pipeline(inner):
        return tuple(ending_in(inner, last) for last in outputs_of(last_step(inner)))
    return reader_of(inner).outputs(inner)


class OutputReader(Reader):
    """Base of readers of one output, which asks the library's reader, the next base, of the whole.

    It precedes the library's reader among the bases of a class.
    """

    def outputs(self, model: Any) -> tuple[Any, ...]:
        """Return nothing: this is one output."""
        return ()

    def width(self, model: Any) -> int:
        """Return the number of inputs of the whole."""
        return super().width(model.whole)

    def sigmoid_unit(
        self, model: Any, ensemble: Ensemble
    ) -> tuple[float, float, "np.dtype[Any]"] | None:
        """Return the units of the whole."""
        return super().sigmoid_unit(model.whole, ensemble)

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the whole."""
        return super().leaves(model.whole, rows)

    def likeliest(self, model: Any) -> bool:
        """Return False: labels come from the predict of the whole."""
        return False

    def takes_arrays(self, model: Any) -> bool:
        """Return whether the whole reads arrays like frames."""
        return super().takes_arrays(model.whole)

    def columns(self, model: Any) -> Any:
        """Return the names of the columns of the whole."""
        return super().columns(model.whole)

    def tests_category(self, model: Any, row: "pd.DataFrame", at: int) -> bool:
        """Return whether a split of the whole may test a category."""
        return super().tests_category(model.whole, row, at)

    def missing_number(self, model: Any) -> float:
        """Return the number that the whole reads as missing."""
        return super().missing_number(model.whole)

    def codes(self, model: Any, frame: "pd.DataFrame") -> dict[int, Codes]:
        """Return the codes of the whole."""
        return super().codes(model.whole, frame)

    def labels(self, model: Any, frame: "pd.DataFrame") -> dict[Any, list[Any]]:
        """Return the categories that the whole stores."""
        return super().labels(model.whole, frame)

    def has_categories(self, model: Any) -> bool:
        """Return whether a column of the whole has categories."""
        return super().has_categories(model.whole)


class ForestOutputReader(OutputReader, ForestReader):
    """Reader of one output of a forest or tree."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`encoders.readers.sklearn_trees.read_output`."""
        return read_output(model.whole, model.at)


class MemberOutputReader(Reader):
    """Reader of one output of a model that has a member for each output."""

    reads_members = owns = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """Return the trees of the member."""
        return read(model.member)

    def members(self, model: Any) -> Iterator[tuple[Any, None, str]]:
        """Yield the member."""
        yield model.member, None, "estimator"

    def averages(self, model: Any) -> bool:
        """Return whether the member averages probabilities."""
        return averages(model.member)

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the member."""
        return native_leaves(model.member, rows)

    def scores(self, model: Any, rows: Any, margin_unit: float) -> Any:
        """Return the sums that the member compares."""
        return native_scores(model.member, rows, margin_unit)

    def raw(self, model: Any, rows: Any, output: int) -> Any:
        """Return the raw score of the member."""
        return native_values(model.member, rows, "raw", output)

    def probabilities(self, model: Any, rows: Any) -> Any:
        """Return the probabilities of the member in their type."""
        return reader_of(model.member).probabilities(model.member, rows)


class ManyOutputsReader(Reader):
    """Reader that refuses models of several outputs as a member of other models."""

    def outputs(self, model: Any) -> tuple[Any, ...]:
        """Return the fitted members."""
        from encoders.trees.outputs import MemberOutput

        return tuple(
            MemberOutput(model, at) for at in range(len(getattr(model, "estimators_", ())))
        )

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """Raise UnsupportedModelError."""
        raise UnsupportedModelError(
            f"a {type(model).__name__} predicts several outputs, which is supported for the "
            "explained model itself and as the last step of its Pipeline only."
        )


READERS: dict[str, Reader] = {
    "ForestOutput": ForestOutputReader(),
    "MemberOutput": MemberOutputReader(),
    **dict.fromkeys(MEMBERS, ManyOutputsReader()),
}
