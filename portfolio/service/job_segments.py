"""Burden of recourse by segment of a job, computed from its rows and answers in a child process."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from encoders.core.errors import InputError
from encoders.query.features import Feature, FeatureSpace
from portfolio.results.codec import encode
from portfolio.results.segments import Burden, burden_of, segments_of
from portfolio.service.job_rows import RowsFile

NEEDED = ["status", "stop_reason", "distance", "changed"]  # columns of the answers
MOST_SEGMENTS = 50


@dataclass(frozen=True, eq=False)
class SegmentsOfJob:
    """The rows and answers of a job, and the column that divides them into segments.

    Attributes
    ----------
    file : RowsFile, rows of the job; its additional column is ``by`` unless that is a feature.
    answers : Path, Parquet file of the answers.
    space : FeatureSpace, features of the model.
    by : str or None, name of a feature or of another column; None for a single segment.
    bands : int, number of bands of a column with more numbers.
    """

    file: RowsFile
    answers: Path
    space: FeatureSpace
    by: str | None
    bands: int
    content: bytes = b""  # not used: the child reads the files itself

    def read(self) -> dict[str, Any]:
        """Return the columns that define segments, and the numbers of each segment."""
        X, beside = self.file.read()
        answers = pd.read_parquet(self.answers, columns=NEEDED)
        if len(answers) != len(X):
            raise InputError("the answers of the job are damaged. Start the job again.")
        values, bands = self._values(X, beside)
        segments = segments_of(values, bands)
        if len(segments.names) > MOST_SEGMENTS:
            raise InputError(
                f"the column {self.by!r} has {len(segments.names)} different values, but at most "
                f"{MOST_SEGMENTS} segments are supported. Use another column."
            )
        names = [feature.name for feature in self.space.features]
        return {
            "by": self.by,
            "columns": [*names, *self.file.other_columns()],
            "segments": [_plain(each) for each in burden_of(answers, segments, names)],
        }

    def _values(
        self, X: pd.DataFrame, beside: "pd.Series[Any] | None"
    ) -> tuple[list[Any], int | None]:
        """Return the value of each row, and the number of bands or None."""
        if self.by is None:
            return ["all"] * len(X), None
        feature = self.space.named(self.by)
        if feature is None:
            if beside is None:
                raise InputError(
                    f"the rows have no column {self.by!r}. Use a feature or another column."
                )
            return beside.tolist(), self.bands
        return _values_of(feature, X, self.space), self.bands if _ordered(feature) else None


def _values_of(feature: Feature, X: pd.DataFrame, space: FeatureSpace) -> list[Any]:
    """Return the values of a feature as the rows have them, with None for missing ones."""
    if feature.one_hot:
        places = X[[space.columns[at] for at in feature.columns]].to_numpy().argmax(axis=1)
        return [feature.labels[place] for place in places]
    column = X[space.columns[feature.column]]
    if _ordered(feature) and not pd.api.types.is_numeric_dtype(column):  # some are not numbers
        column = pd.to_numeric(column, errors="coerce")
    return column.astype(object).mask(column.isin(feature.codes), None).tolist()


def _ordered(feature: Feature) -> bool:
    """Return whether the values of a feature are numbers with an order."""
    return feature.kind in ("numeric", "ordinal") and not feature.labels


def _plain(burden: Burden) -> dict[str, Any]:
    """Return the numbers of a segment as plain values."""
    changes = [{"feature": feature, "answers": count} for feature, count in burden.changes]
    plain: dict[str, Any] = encode(vars(burden) | {"changes": changes})
    return plain
