"""Ray Data: rows of a dataset in, their answers out, by actors that keep a loaded explainer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from portfolio.api.row_answers import RowAnswers, job_of

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset

BATCH_ROWS = 256  # rows of a block, which Ray repeats if its actor dies


class CounterfolioUDF:
    """Function of ``map_batches`` that explains the rows of a Ray dataset.

    Ray creates one in each actor. A call takes a batch as a table of pyarrow, a frame, or a dict of
    arrays, and returns a table of pyarrow.

    Parameters
    ----------
    explainer : Explainer, str, Path or ObjectRef
        Explainer, a reference to one in Ray's object store, or the folder of a saved one. Every
        node must be able to read the folder.
    id : str, optional
        Column that identifies rows, which is not a column of the model. It becomes the column
        ``id`` of the answers. Without it, they have no such column.
    **settings : object
        Settings of :meth:`Explainer.explain_batch`: target, norm, scale, weights, constraints,
        margin, time_limit_s, threads, seed, strategy, tie_break and portfolio. A map is built only
        for the strategy "map", once in each actor.

    Raises
    ------
    InputError
        If a setting is unknown or invalid, or the folder is not a saved explainer.

    Examples
    --------
    >>> from counterfolio.ray import CounterfolioUDF
    >>> udf = CounterfolioUDF(explainer, target="granted")
    >>> udf(X.head(2)).column("status").to_pylist()
    ['optimal', 'optimal']
    """

    def __init__(
        self, explainer: Explainer | str | Path | Any, id: str | None = None, **settings: Any
    ) -> None:
        self._answers, self._id = RowAnswers.of(_loaded(explainer), settings), id

    def __call__(self, batch: Any) -> pa.Table:
        """Return the answers to the rows of a batch.

        Parameters
        ----------
        batch : Table of pyarrow, DataFrame, or dict of arrays of shape (n_rows,)
            Rows to explain.

        Returns
        -------
        Table
            Table of :meth:`Explainer.explain_batch` in a schema that is the same for all batches.

        Raises
        ------
        InputError
            If the columns are not those of the model.

        Examples
        --------
        >>> from counterfolio.ray import CounterfolioUDF
        >>> CounterfolioUDF(explainer)(X.head(3)).num_rows
        3
        """
        rows = pd.DataFrame(batch) if isinstance(batch, dict) else batch
        if self._id is None:
            return self._answers(rows, {})
        rest, ids = _apart(rows, self._id)
        return self._answers(rest, {"id": ids})


def explain_dataset(
    dataset: Dataset,
    explainer: Explainer | str | Path,
    id: str | None = None,
    workers: int | None = None,
    batch_rows: int = BATCH_ROWS,
    **settings: Any,
) -> Dataset:
    """Explain every row of a Ray dataset in actors, as a part of its pipeline.

    The result is lazy: rows stream through the actors when it is written or iterated, and Ray
    limits the number of rows in memory. If an actor or node dies, its rows are explained again.

    Parameters
    ----------
    dataset : ray.data.Dataset
        Rows to explain.
    explainer : Explainer, str or Path
        Explainer, or the folder of a saved one, which every node must be able to read.
    id : str, optional
        Column that identifies rows, as in :class:`CounterfolioUDF`. Ray may change the order of
        rows.
    workers : int, optional
        Largest number of actors. By default, as many as the cores of the cluster allow. Tasks that
        read rows need at least one other core.
    batch_rows : int, default 256
        Largest number of rows of a batch.
    **settings : object
        Settings of :class:`CounterfolioUDF`. Each actor reserves ``threads`` cores, 1 by default.

    Returns
    -------
    ray.data.Dataset
        Dataset of the answers, with the columns of :meth:`Explainer.explain_batch`.

    Raises
    ------
    InputError
        If a setting is unknown or invalid, or the folder is not a saved explainer.

    Examples
    --------
    >>> import ray
    >>> from counterfolio.ray import explain_dataset
    >>> context = ray.init("local")
    >>> answers = explain_dataset(ray.data.from_pandas(X), explainer, workers=1)
    >>> sorted(set(answers.to_pandas()["status"]))
    ['optimal']
    >>> ray.shutdown()
    """
    import ray

    if isinstance(explainer, Explainer):
        job = job_of(explainer, settings)
        shared: Any = ray.put(explainer)
    else:
        job, shared = job_of(Explainer.load(explainer), settings), str(explainer)
    blocks = dataset.repartition(target_num_rows_per_block=batch_rows)  # an actor takes a block
    return blocks.map_batches(
        CounterfolioUDF,
        fn_constructor_kwargs={"explainer": shared, "id": id, **settings},
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=workers),
        batch_size=batch_rows,
        batch_format="pyarrow",
        num_cpus=job.options.threads,
    )


def _apart(rows: Any, name: str) -> tuple[Any, Any]:
    """Return rows without a column, and the column."""
    frame = isinstance(rows, pd.DataFrame)
    if name not in (rows.columns if frame else rows.column_names):
        raise InputError(f"the dataset has no column {name!r}. Set id to one of its columns.")
    return rows.drop(columns=name) if frame else rows.drop_columns(name), rows[name]


def _loaded(explainer: Any) -> Explainer:
    """Return an explainer, which may be a saved one or in Ray's object store."""
    if isinstance(explainer, Explainer):
        return explainer
    if isinstance(explainer, str | Path):
        return Explainer.load(explainer, trust=True)  # an actor may crash: Ray reports it
    import ray

    loaded: Explainer = ray.get(explainer)
    return loaded
