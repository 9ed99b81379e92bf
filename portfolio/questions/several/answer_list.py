"""What answers to one question have in common when there are several."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from encoders.backends.interface import Status
from encoders.errors import InputError
from portfolio.as_json import AsJson
from portfolio.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class AnswerList(Sequence[Result], AsJson):
    """A sequence of :class:`portfolio.result.Result`."""

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
        """A column per answer, a line per feature that any of them changes, with the new values.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            There are no answers.
        """
        from portfolio.plots.answers import Answer, draw

        if not self.answers:
            raise InputError("there are no answers to draw.")
        drawn = []
        for each in self.answers:
            pairs = zip(each.told, each.changed, strict=True)
            cells = {told.feature: (told.reached, change.cost) for told, change in pairs}
            drawn.append(Answer(each.distance, "optimal" in (self.status, each.status), cells))
        return draw(drawn)

    def nothing(self, status: str, stop_reason: str, message: str) -> str:
        """That there are none, in a sentence.

        Parameters
        ----------
        status : "infeasible" or "unknown"
        stop_reason : of the last question that was asked
        message : why the status is weaker than a proof, "" if it is not
        """
        if status == "infeasible":
            return "Infeasible: there is no answer (proved)."
        return f"Unknown: no answer found; stopped by: {stop_reason}. {message}".strip()
