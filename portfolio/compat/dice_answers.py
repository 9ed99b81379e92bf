"""Answers in the shape of DiCE: frames with the outcome as a column, and JSON of version 2."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from portfolio.questions.several.diverse import Diverse
    from portfolio.results.result import Result

VERSION = "2.0"  # of DiCE's JSON schema
UNCHANGED = "-"


@dataclass(frozen=True, eq=False)
class CounterfactualExamples:
    """Counterfactuals of one row, with the names of DiCE's class.

    Attributes
    ----------
    test_instance_df : DataFrame
        The row, with the model's prediction in the column of the outcome.
    final_cfs_df : DataFrame or None
        One counterfactual per row, the cheapest first, with the model's own predictions. None if
        there is none.
    answer : Result, Diverse or None
        Answer of :meth:`Explainer.explain` or :meth:`Explainer.diverse`, with status, costs and
        bounds. None if the constraints alone exclude every change.
    message : str
        Status and proof in sentences.
    outcome_name : str
        Column of the outcome.
    model_type : {"classifier", "regressor"}
        Kind of the model.
    desired_class : label
        Label that was asked for; "opposite" for a regressor, as in DiCE.
    desired_range : sequence of float or None
        Limits that were asked for; None for a classifier.

    Examples
    --------
    >>> from counterfolio.compat.dice import Dice
    >>> rows = Dice(explainer).generate_counterfactuals(X, total_CFs=1).cf_examples_list
    >>> rows[0].final_cfs_df["outcome"].tolist(), rows[0].answer.status
    (['granted'], 'optimal')
    """

    test_instance_df: pd.DataFrame
    final_cfs_df: pd.DataFrame | None
    answer: Result | Diverse | None
    message: str
    outcome_name: str
    model_type: Literal["classifier", "regressor"]
    desired_class: Any
    desired_range: Sequence[float] | None

    @property
    def final_cfs_df_sparse(self) -> pd.DataFrame | None:
        """Alias of :attr:`final_cfs_df`; proved answers need no correction for sparsity."""
        return self.final_cfs_df

    @property
    def test_pred(self) -> Any:
        """Prediction of the model for the row."""
        return self.test_instance_df[self.outcome_name].iat[0]

    @property
    def new_outcome(self) -> Any:
        """Label or limits that were asked for."""
        return self.desired_class if self.desired_range is None else self.desired_range

    def changes(self) -> pd.DataFrame | None:
        """Return the counterfactuals with "-" where they have the value of the row.

        Returns
        -------
        DataFrame or None
            The frame, None without counterfactuals.

        Examples
        --------
        >>> from counterfolio.compat.dice import Dice
        >>> rows = Dice(explainer).generate_counterfactuals(X, total_CFs=1).cf_examples_list
        >>> rows[0].changes()["age"].tolist()
        ['-']
        """
        if self.final_cfs_df is None:
            return None
        frame = self.final_cfs_df.astype(object)
        row = self.test_instance_df.iloc[0].tolist()
        for at, value in enumerate(row):
            column = [UNCHANGED if _same(each, value) else each for each in frame.iloc[:, at]]
            frame.isetitem(at, column)
        return frame

    def visualize_as_dataframe(
        self, display_sparse_df: bool = True, show_only_changes: bool = False
    ) -> None:
        """Display the row and its counterfactuals.

        Parameters
        ----------
        display_sparse_df : bool, default True
            Without effect, as both frames are equal.
        show_only_changes : bool, default False
            Whether to show "-" for unchanged values.

        Examples
        --------
        >>> from counterfolio.compat.dice import Dice
        >>> rows = Dice(explainer).generate_counterfactuals(X, total_CFs=1).cf_examples_list
        >>> rows[0].visualize_as_dataframe(show_only_changes=True)
        Query instance (original outcome : refused)
        ...
        """
        _display(f"Query instance (original outcome : {self.test_pred})", self.test_instance_df)
        shown = self.changes() if show_only_changes else self.final_cfs_df
        if shown is None:
            _display(f"\nNo counterfactuals found! {self.message}")
        else:
            _display(f"\nCounterfactual set (new outcome: {self.new_outcome})", shown, self.message)

    def visualize_as_list(
        self, display_sparse_df: bool = True, show_only_changes: bool = False
    ) -> None:
        """Print the row and its counterfactuals as lists.

        Parameters
        ----------
        display_sparse_df : bool, default True
            Without effect, as both frames are equal.
        show_only_changes : bool, default False
            Whether to print "-" for unchanged values.

        Examples
        --------
        >>> from counterfolio.compat.dice import Dice
        >>> rows = Dice(explainer).generate_counterfactuals(X, total_CFs=1).cf_examples_list
        >>> rows[0].visualize_as_list()
        Query instance (original outcome : refused)
        ...
        """
        shown = self.changes() if show_only_changes else self.final_cfs_df
        rows = [] if shown is None else _lists(shown)
        print(f"Query instance (original outcome : {self.test_pred})")  # noqa: T201
        print(*_lists(self.test_instance_df), sep="\n")  # noqa: T201
        headline = f"Counterfactual set (new outcome: {self.new_outcome})"
        print(f"\n{headline if rows else 'No counterfactuals found!'}", *rows, sep="\n")  # noqa: T201


class CounterfactualExplanations:
    """Counterfactuals of several rows, with the names of DiCE's class.

    Parameters
    ----------
    cf_examples_list : sequence of CounterfactualExamples
        Counterfactuals of each row.

    Attributes
    ----------
    cf_examples_list : list of CounterfactualExamples
        Counterfactuals of each row.
    local_importance, summary_importance : None
        Not computed; see :meth:`Explainer.reasons` and :meth:`Explainer.necessary`.
    metadata : dict
        Version of the JSON schema.

    Examples
    --------
    >>> from counterfolio.compat.dice import Dice
    >>> found = Dice(explainer).generate_counterfactuals(X, total_CFs=1)
    >>> len(found.cf_examples_list), found.metadata
    (4, {'version': '2.0'})
    """

    local_importance: None = None
    summary_importance: None = None

    def __init__(self, cf_examples_list: Sequence[CounterfactualExamples]) -> None:
        self.cf_examples_list = list(cf_examples_list)
        self.metadata = {"version": VERSION}

    def visualize_as_dataframe(
        self, display_sparse_df: bool = True, show_only_changes: bool = False
    ) -> None:
        """Display each row and its counterfactuals.

        Parameters
        ----------
        display_sparse_df : bool, default True
            Without effect, as both frames are equal.
        show_only_changes : bool, default False
            Whether to show "-" for unchanged values.

        Examples
        --------
        >>> from counterfolio.compat.dice import Dice
        >>> found = Dice(explainer).generate_counterfactuals(X.head(1), total_CFs=1)
        >>> found.visualize_as_dataframe(show_only_changes=True)
        Query instance (original outcome : refused)
        ...
        """
        for examples in self.cf_examples_list:
            examples.visualize_as_dataframe(display_sparse_df, show_only_changes)

    def visualize_as_list(
        self, display_sparse_df: bool = True, show_only_changes: bool = False
    ) -> None:
        """Print each row and its counterfactuals as lists.

        Parameters
        ----------
        display_sparse_df : bool, default True
            Without effect, as both frames are equal.
        show_only_changes : bool, default False
            Whether to print "-" for unchanged values.

        Examples
        --------
        >>> from counterfolio.compat.dice import Dice
        >>> found = Dice(explainer).generate_counterfactuals(X.head(1), total_CFs=1)
        >>> found.visualize_as_list(show_only_changes=True)
        Query instance (original outcome : refused)
        ...
        """
        for examples in self.cf_examples_list:
            examples.visualize_as_list(display_sparse_df, show_only_changes)

    def to_json(self) -> str:
        """Return JSON in version 2 of DiCE's schema, which ``dice_ml`` reads.

        Returns
        -------
        str
            The JSON text. If the rows ask for different classes, ``desired_class`` is null.

        Examples
        --------
        >>> import json
        >>> from counterfolio.compat.dice import Dice
        >>> found = Dice(explainer).generate_counterfactuals(X, total_CFs=1)
        >>> json.loads(found.to_json())["desired_class"]
        'granted'
        """
        first = self.cf_examples_list[0]
        names = list(map(str, first.test_instance_df.columns))
        members = {
            "test_data": [_lists(each.test_instance_df) for each in self.cf_examples_list],
            "cfs_list": [
                None if each.final_cfs_df is None else _lists(each.final_cfs_df)
                for each in self.cf_examples_list
            ],
            "local_importance": self.local_importance,
            "summary_importance": self.summary_importance,
            "data_interface": {"outcome_name": first.outcome_name, "data_df": "dummy_data"},
            "feature_names": [name for name in names if name != first.outcome_name],
            "feature_names_including_target": names,
            "model_type": first.model_type,
            "desired_class": self._desired_class(),
            "desired_range": first.desired_range,
            "metadata": self.metadata,
        }
        return json.dumps(members, default=_plain)

    def _desired_class(self) -> Any:
        """Return the class that all rows ask for as text or a whole number; None if they differ."""
        labels = {each.desired_class for each in self.cf_examples_list}
        if len(labels) > 1:
            return None
        label = _plain(labels.pop())
        return label if isinstance(label, str) else int(label)


def _lists(frame: pd.DataFrame) -> list[list[Any]]:
    """Return the rows of a frame as plain values; None for a missing one."""
    return [
        [None if _same(value, np.nan) else _plain(value) for value in row]
        for row in frame.astype(object).to_numpy(dtype=object).tolist()
    ]


def _same(one: Any, other: Any) -> bool:
    """Return whether two values of a column are equal; missing ones are."""
    import pandas as pd

    gone = bool(pd.isna(one)), bool(pd.isna(other))
    return all(gone) if any(gone) else bool(one == other)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _display(*parts: Any) -> None:
    """Show texts and frames as a notebook does, as text where IPython is not installed."""
    show: Callable[[Any], object] = print
    with suppress(ImportError):
        from IPython.display import display

        show = display
    for part in parts:
        (print if isinstance(part, str) else show)(part)
