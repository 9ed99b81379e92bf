"""Training rows that clients may see, found by prediction, by text, or by place."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import BoolArray, FloatArray, IntArray, evenly
from portfolio.api.explainer import Explainer
from portfolio.api.variants import asker_of
from portfolio.model.batch_rows import rows_of
from portfolio.results.codec import encode
from portfolio.service.decisions import has_probabilities, leads
from portfolio.service.distributions import distributions
from portfolio.service.examples import plain_row
from portfolio.service.problems import Problem

MOST = 10_000  # rows that clients may see; evenly spread if there are more
PAGE = 50  # most rows in one response


class ShownRows:
    """Rows of a table, with predictions that are computed when they are first needed.

    Thread safe: a prediction may be computed twice, with the same value.

    Attributes
    ----------
    distributions : dict, distribution of each feature by name, see :func:`distributions`.
    """

    def __init__(self, explainer: Explainer, frame: pd.DataFrame) -> None:
        self._model = asker_of(explainer).model
        self._places = evenly(len(frame), min(MOST, len(frame)))
        read = rows_of(self._model, frame.iloc[self._places])
        readable = [at for at, row in enumerate(read.values) if not isinstance(row, str)]
        self._places = self._places[readable]
        self._read = read.some(readable)
        self.distributions = distributions(self._model.space, self.values)

    @cached_property
    def values(self) -> FloatArray:
        """Values of the rows, float64 (n_rows, n_columns)."""
        shape = len(self._places), len(self._read.columns)
        return np.array(self._read.values, dtype=np.float64).reshape(shape)

    @cached_property
    def _predictions(self) -> Sequence[Any]:
        model = self._model
        if model.ensemble.regression:
            numbers: list[float] = model.native.values(self.values, "prediction", 0).tolist()
            return numbers
        return [model.native.classes[at] for at in model.native.predict(self.values)]

    @cached_property
    def _leads(self) -> FloatArray:
        return leads(self._model, self.values)

    @property
    def has_boundary(self) -> bool:
        """True if rows can be ordered by their distance from the decision boundary."""
        return not self._model.outputs and has_probabilities(self._model)

    def page(
        self,
        predicted: str | None,
        text: str | None,
        order: str,
        seed: int,
        offset: int,
        index: int | None,
    ) -> dict[str, Any]:
        """Return a page of rows, and how many rows were found.

        Parameters
        ----------
        predicted : str or None
            Predicted class of the rows, as text of Python, of JSON or of JavaScript.
        text : str or None
            Text that some value of the row contains.
        order : {"index", "random", "boundary"}
            Order of the rows; "boundary" begins with the least sure predictions.
        seed : int
            Seed of the random order.
        offset : int
            Number of rows before the first of the page.
        index : int or None
            Position in the table of the only row to return.
        """
        if not len(self._places):  # models do not predict empty tables
            return {"total": 0, "rows": []}
        places = np.flatnonzero(self._matches(predicted, text))
        if index is not None:
            places = places[self._places[places] == index]
        some = self._ordered(places, order, seed)[offset : offset + PAGE]
        return {"total": len(places), "rows": [self._row(int(at)) for at in some]}

    def _row(self, at: int) -> dict[str, Any]:
        row = self._read.own.iloc[at]
        prediction = None if self._model.outputs else encode(self._predictions[at])
        return {"index": int(self._places[at]), "row": plain_row(row), "prediction": prediction}

    def _matches(self, predicted: str | None, text: str | None) -> BoolArray:
        matches = np.ones(len(self._places), dtype=np.bool_)
        if predicted is not None:
            if self._model.outputs or not self._model.native.classes:
                raise Problem(422, "predicted needs a classifier of one output. Omit it.")
            classes = {label for label in self._model.native.classes if predicted in _texts(label)}
            same = [label in classes for label in self._predictions]
            matches &= np.array(same, dtype=np.bool_)
        if text:
            matches &= self._texts.str.contains(text.lower(), regex=False).to_numpy(dtype=bool)
        return matches

    @cached_property
    def _texts(self) -> "pd.Series[str]":
        """All values of each row as one text in lower case."""
        rows = self._read.own.itertuples(index=False, name=None)
        lines = [" ".join(map(str, row)).lower() for row in rows]
        return pd.Series(lines, dtype=object)

    def _ordered(self, places: IntArray, order: str, seed: int) -> IntArray:
        if order == "random":
            return np.random.default_rng(seed).permutation(places)
        if order == "boundary":
            if not self.has_boundary:
                raise Problem(422, "order=boundary needs a model with probabilities. Omit it.")
            return places[np.argsort(self._leads[places], kind="stable")]
        return places


def _texts(label: Any) -> set[str]:
    """Return the texts of a class, such as "True" and "true", or "1.0" and "1"."""
    plain = encode(label)
    whole = {str(int(plain))} if isinstance(plain, float) and plain.is_integer() else set()
    return {str(label), plain if isinstance(plain, str) else json.dumps(plain)} | whole
