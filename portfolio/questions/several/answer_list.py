"""What answers to one question have in common when there are several."""

from collections.abc import Iterator, Sequence
from typing import overload

from portfolio.as_json import AsJson
from portfolio.result import Result


class AnswerList(Sequence[Result], AsJson):
    """A sequence of :class:`portfolio.result.Result`."""

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
