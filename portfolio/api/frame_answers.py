"""Function from a frame of rows to a frame of answers whose columns and types are fixed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from encoders.core.close_names import close_names
from encoders.core.errors import InputError, NothingAdmissibleError
from portfolio.api.explainer import Explainer
from portfolio.api.variants import asker_of
from portfolio.engine.question import Options, Question, strategy_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    import pyarrow

    from encoders.query.features import Feature
    from portfolio.model.batch_rows import BatchRows

OPTIONS = ("strategy", "time_limit_s", "threads", "seed", "tie_break", "portfolio")
TYPES = {
    "status": "string", "stop_reason": "string", "distance": "float64", "bound": "float64",
    "margin": "float64", "backend": "string", "target": "string", "seconds": "float64",
    "changed": "string", "message": "string", "score_before": "float64", "score": "float64",
}  # fmt: skip
INFERRED = {
    "string": "string", "empty": "string", "boolean": "boolean", "integer": "Int64",
    "floating": "float64", "mixed-integer-float": "float64", "decimal": "float64",
}  # fmt: skip


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
        from portfolio.batch.job import Job
        from portfolio.batch.run import read_batch
        from portfolio.model.frames import as_pandas
        from selector import portfolio_of

        if not isinstance(explainer, Explainer):
            raise InputError(f"FrameAnswers needs an Explainer, got {type(explainer).__name__}.")
        of_question = {each.name for each in fields(Question)}
        _check_names("setting", settings, (*of_question, *OPTIONS))
        asker, question = asker_of(explainer).about(
            Question(**{name: settings[name] for name in settings.keys() & of_question})
        )
        options = {"threads": 1} | {name: settings[name] for name in settings.keys() - of_question}
        options["strategy"] = strategy_name(options.get("strategy"))
        options["portfolio"] = portfolio_of(options.get("portfolio"))
        self._job = Job(asker, question, Options(**options), None)
        sample: Any = as_pandas(like)[0]
        if not hasattr(sample, "columns"):
            raise InputError(f"like must be a frame, got {type(like).__name__}.")
        self._keep = [keep] if isinstance(keep, str) else list(keep)
        _check_names("column", self._keep, sample.columns)
        with suppress(NothingAdmissibleError):  # other rows may have an answer
            read_batch(asker, question, self._of_model(sample))
        self._types = self._inferred(sample)

    @property
    def empty(self) -> pd.DataFrame:
        """Frame of answers without rows: its columns and types are those of all answers."""
        import pandas as pd

        return pd.DataFrame({name: pd.Series([], dtype=each) for name, each in self._types.items()})

    @property
    def schema(self) -> pyarrow.Schema:
        """Arrow schema of the answers."""
        import pyarrow

        schema = pyarrow.Schema.from_pandas(self.empty, preserve_index=False)
        large, text = pyarrow.large_string(), pyarrow.string()
        return pyarrow.schema(
            [each.with_type(text) if each.type == large else each for each in schema]
        )

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
            the prefix ``cf_``. ``target`` is text. A row that fails has its reason in ``message``.

        Raises
        ------
        InputError
            If a column is missing.
        """
        import pandas as pd
        import pyarrow

        from portfolio.batch.run import run_batch
        from portfolio.batch.settings import BatchSettings
        from portfolio.model.frames import as_kind, as_pandas
        from portfolio.workers.here import answer_here

        table, kind = as_pandas(frame)
        _check_names("column", self._keep, table.columns)
        settings = BatchSettings(self._job.options.time_limit_s, executor=answer_here)
        answers = run_batch(self._read(table), self._job, None, settings).drop(columns="id")
        every = pd.concat([table[self._keep], answers.set_axis(table.index)], axis=1)
        typed = every[list(self._types)].astype(self._types)
        if kind == "pyarrow":
            return pyarrow.Table.from_pandas(typed, self.schema, preserve_index=False)
        return as_kind(typed, kind)

    def _of_model(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a frame without the columns that are only kept."""
        columns = self._job.asker.model.space.columns
        return frame.drop(columns=[name for name in self._keep if name not in columns])

    def _read(self, frame: pd.DataFrame) -> BatchRows:
        from portfolio.model.batch_rows import rows_of

        return rows_of(self._job.asker.model, self._of_model(frame))

    def _inferred(self, sample: pd.DataFrame) -> dict[str, Any]:
        """Return the type of each column of answers."""
        from portfolio.batch.job import PREFIX

        frame = self._read(sample).own
        types = {name: _nullable(sample[name]) for name in self._keep} | TYPES
        for feature in self._job.asker.model.space.features:
            for at in feature.columns:
                kind = _nullable(frame.iloc[:, at])
                between = _is_fractional(feature) and kind in ("Int64", "UInt64")
                types[f"{PREFIX}{frame.columns[at]}"] = "float64" if between else kind
        columns = [*self._keep, *TYPES, *(f"{PREFIX}{name}" for name in frame.columns)]
        return {name: types[name] for name in columns}


def _nullable(column: pd.Series[Any]) -> Any:
    """Return a type for the values of a column and missing ones, the same for all frames."""
    import pandas as pd
    from pandas.api import types

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _nullable(pd.Series(dtype.categories))
    if types.is_object_dtype(dtype):
        return INFERRED.get(types.infer_dtype(column, skipna=True), dtype)
    if types.is_bool_dtype(dtype):
        return "boolean"
    if types.is_unsigned_integer_dtype(dtype):
        return "UInt64"
    if types.is_integer_dtype(dtype):
        return "Int64"
    if types.is_float_dtype(dtype):
        return "float64"
    return "string" if types.is_string_dtype(dtype) else dtype


def _is_fractional(feature: Feature) -> bool:
    """Return whether answers may have numbers with fractions."""
    return feature.kind == "numeric" or any(not each.is_integer() for each in feature.values)


def _check_names(what: str, names: Iterable[str], possible: Sequence[str]) -> None:
    for name in names:
        if name not in possible:
            raise InputError(
                f"unknown {what} {name!r}.{close_names(name, possible)} Use names of "
                f"{', '.join(map(str, sorted(possible, key=str)))}."
            )
