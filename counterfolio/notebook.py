"""A widget for Jupyter notebooks, which needs the extra ``notebook``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from portfolio import Explainer, UnavailableBackendError

if TYPE_CHECKING:
    from portfolio.notebook.widget import ExplainerWidget

__all__ = ["widget"]


def widget(explainer: Explainer, row: Any = None, rows: Any = None) -> ExplainerWidget:
    """Return the page of the service for an explainer, as a widget of a notebook.

    The page exchanges messages with the kernel, without a server and without a network.

    Parameters
    ----------
    explainer : Explainer
        Explainer of the predictions.
    row : Series, mapping, array or DataFrame of one row, optional
        Row that the form starts with; by default each value is a usual one.
    rows : DataFrame, optional
        Rows that users choose from, such as the training data. The form shows their distributions.

    Returns
    -------
    ExplainerWidget
        The widget, which is shown if it is the last expression of a cell. ``close()`` removes it.

    Raises
    ------
    InputError
        If the row or the rows do not fit the explainer.
    UnavailableBackendError
        If a package of the extra ``notebook`` is missing.

    Notes
    -----
    A worker process answers the queries, one at a time. It starts with the first request and ends
    when the widget is no longer shown. It receives a pickled copy of the explainer; functions
    and classes of the notebook itself cannot be part of the model.

    Call this function in the main thread, as for other widgets.

    Examples
    --------
    >>> from counterfolio.notebook import widget
    >>> form = widget(explainer, row, X_train)
    >>> form.close()
    """
    try:
        from portfolio.notebook.widget import widget_of
    except ImportError as error:
        raise UnavailableBackendError(
            f"the widget needs {error.name}, which is not installed. Install it: pip install "
            "'counterfolio[notebook]'."
        ) from error
    return widget_of(explainer, row, rows)
