"""Base class of results that consist of several counterfactuals."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from encoders.backends.interface import Status
from encoders.core.errors import InputError
from portfolio.results.codec import AsJson
from portfolio.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class AnswerList(Sequence[Result], AsJson):
    """Sequence of :class:`portfolio.results.result.Result`.

    Attributes
    ----------
    status : str
        Status of the whole list.
    answers : tuple of Result
        Answers, the cheapest first.

    Examples
    --------
    >>> answers = explainer.several(row, k=2)
    >>> len(answers), answers[0].status
    (2, 'optimal')
    """

    status: Status
    answers: tuple[Result, ...]

    def __len__(self) -> int:
        return len(self.answers)

    @overload
    def __getitem__(self, at: int) -> Result: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Result]: ...

    def __getitem__(self, at: int | slice) -> Result | Sequence[Result]:
        return self.answers[at]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.answers)

    def plot(self) -> "Figure":
        """Draw a column per answer and a line per changed feature, with the new values.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Raises
        ------
        InputError
            If no answer was found.

        Examples
        --------
        >>> figure = explainer.several(row, k=2).plot()
        >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
        ['income', 'age']
        """
        from portfolio.results.plots.answers import Answer, draw

        if not self.answers:
            raise InputError(
                f"cannot draw answers: none was found (status {self.status!r}). Check status first."
            )
        drawn = []
        for each in self.answers:
            pairs = zip(each.told, each.changed, strict=True)
            cells = {printed.feature: (printed.reached, change.cost) for printed, change in pairs}
            drawn.append(Answer(each.distance, "optimal" in (self.status, each.status), cells))
        return draw(drawn)

    def nothing(self, status: str, stop_reason: str, message: str) -> str:
        """Return the sentence for a list without answers.

        Parameters
        ----------
        status : str
            "infeasible" or "unknown".
        stop_reason : str
            Reason why the last search ended.
        message : str
            Reason why the status is weaker than a proof, or "".

        Returns
        -------
        str
            The sentence.

        Examples
        --------
        >>> explainer.several(row, k=1).nothing("infeasible", "proved", "")
        'Infeasible: no answer exists (proved).'
        """
        if status == "infeasible":
            return "Infeasible: no answer exists (proved)."
        return f"Unknown: no answer found (stop reason: {stop_reason}). {message}".strip()
