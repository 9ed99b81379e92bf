"""Function from a frame of rows to a frame of answers whose columns and types are fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    import pyarrow


class FrameAnswers:
    """Function from a frame of rows to a frame of answers, for Spark, Dask and DuckDB.

    All frames of answers have the same columns and types. The calling process solves the rows and
    starts no others for a batch. The function can be pickled, and threads can share it.

    Parameters
    ----------
    explainer : Explainer
        Explainer of the model.
    like : DataFrame
        Frame with the columns and types of the rows. Its first rows are used to check the settings.
    keep : sequence of str, default ()
        Columns to copy to the answers, such as a key. The model need not have them.
    **settings : object
        Settings of the query, as in :meth:`Explainer.explain_batch`: target, norm, scale, weights,
        constraints, margin, strategy, time_limit_s, threads, seed, tie_break and portfolio.

    Raises
    ------
    InputError
        If a column is missing or a setting is invalid.

    Examples
    --------
    >>> answers = FrameAnswers(explainer, like=X_train, target="granted")
    >>> answers(X)[["status", "changed"]].values.tolist()[:2]
    [['optimal', 'income'], ['optimal', 'income']]
    """

    def __init__(
        self, explainer: Explainer, like: Any, keep: Iterable[str] = (), **settings: Any
    ) -> None:
        import pyarrow

        from portfolio.api.row_answers import RowAnswers, check_names
        from portfolio.batch.answer_table import arrow_type
        from portfolio.model.frames import as_pandas

        if not isinstance(explainer, Explainer):
            raise InputError(f"FrameAnswers needs an Explainer, got {type(explainer).__name__}.")
        sample: Any = as_pandas(like)[0]
        if not hasattr(sample, "columns"):
            raise InputError(f"like must be a frame, got {type(like).__name__}.")
        self._keep = [keep] if isinstance(keep, str) else list(keep)
        check_names("column", self._keep, sample.columns)
        columns = explainer.features.columns
        self._surplus = [name for name in self._keep if name not in columns]
        self._answers = RowAnswers.of(explainer, settings, sample.drop(columns=self._surplus))
        copies = [pyarrow.field(str(name), arrow_type(sample[name])) for name in self._keep]
        self._schema = pyarrow.schema([*copies, *self._answers.table.schema])
        if len(set(self._schema.names)) < len(self._schema.names):
            raise InputError(
                f"keep has {self._keep}, and answers have a column of the same name. Rename it."
            )

    @property
    def empty(self) -> pd.DataFrame:
        """Frame of answers without rows: its columns and types are those of all answers."""
        return _as_pandas(self._schema.empty_table())

    @property
    def schema(self) -> pyarrow.Schema:
        """Arrow schema of the answers."""
        return self._schema

    def __call__(self, frame: Any) -> Any:
        """Return one answer per row, in the order of the rows and with their index.

        Parameters
        ----------
        frame : DataFrame (pandas, polars or pyarrow)
            Rows to explain, also none.

        Returns
        -------
        DataFrame
            Frame of the same library: the columns of ``keep``, those of
            :meth:`Explainer.explain_batch` without ``id``, and the counterfactual in columns with
            the prefix ``cf_``. A row that fails has its reason in ``message``.

        Raises
        ------
        InputError
            If a column is missing, or has values of another type than in ``like``.
        """
        from portfolio.api.row_answers import check_names
        from portfolio.batch.answer_table import in_arrow_type
        from portfolio.model.frames import as_pandas

        table, kind = as_pandas(frame)
        check_names("column", self._keep, table.columns)
        copies = {
            str(name): in_arrow_type(table[name], self._schema.field(str(name)).type)
            for name in self._keep
        }
        answers = self._answers(table.drop(columns=self._surplus), copies)
        if kind == "pyarrow":
            return answers
        if kind == "polars":
            import polars

            return polars.from_arrow(answers)
        return _as_pandas(answers).set_axis(table.index)


def _as_pandas(table: pyarrow.Table) -> pd.DataFrame:
    """Return a table in pandas, with types that can be missing."""
    import pandas as pd
    import pyarrow

    types = {
        pyarrow.string(): pd.StringDtype(),
        pyarrow.int64(): pd.Int64Dtype(),
        pyarrow.uint64(): pd.UInt64Dtype(),
        pyarrow.bool_(): pd.BooleanDtype(),
    }
    frame: pd.DataFrame = table.to_pandas(types_mapper=types.get)
    return frame
