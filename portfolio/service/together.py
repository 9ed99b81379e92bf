"""Joint answers of a worker: solved one by one, then verified by the model together."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from encoders.errors import InputError
from portfolio.explainer import Explainer
from portfolio.logbook import PendingLogbook
from portfolio.model.lent import Loans, lending
from portfolio.model.native import NativeModel
from portfolio.service.asking import Wanted, meant, told_of
from portfolio.service.confirm import Held, confirm
from portfolio.service.messages import Ask
from selector.logs.files import LogRecord, append

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Lender:
    """An explainer with deferred native predictions.

    Attributes
    ----------
    explainer : Explainer, predicts with the parsed trees; its answers need verification
    loans : Loans, predictions that the model has not verified
    native : NativeModel, the model
    """

    explainer: Explainer
    loans: Loans
    native: NativeModel

    @classmethod
    def of(cls, explainer: Explainer) -> Self:
        """Return a copy of an explainer with deferred native predictions."""
        loans, model = Loans(), explainer._asker.model
        same = copy(explainer)
        same._asker = replace(explainer._asker, model=lending(model, loans))
        return cls(same, loans, model.native)

    def ask(self, ask: Ask, stop: threading.Event) -> Held:
        """Return an answer that the model has not verified."""
        self.loans.clear()
        arguments = meant(self.explainer, ask.arguments)
        parts = Wanted.taken_from(arguments)
        records: list[LogRecord] = []
        if ask.log is not None:
            arguments["log"] = PendingLogbook(ask.log.folder, ask.log.dataset, records=records)
        result = self.explainer.until(stop).explain(**arguments)
        for name, needed in (("rounded", parts.rounded), ("told", parts.text)):
            if needed:
                getattr(result, name)  # computed and cached now, while predictions are deferred
        return Held(ask, result, parts, self.native, self.loans.split(), tuple(records))


@dataclass(frozen=True, eq=False)
class Together:
    """Several plain questions about one explainer.

    One thread answers them. Another thread may flush the answers, and put back the other questions.

    Attributes
    ----------
    send : callable, function that sends a message (kind, content) to the parent process.
    remaining : deque of Ask, questions that are not started.
    pending : deque of Held, answers that are not verified and sent.
    """

    send: Callable[[str, Any], None]
    remaining: deque[Ask]
    pending: deque[Held] = field(default_factory=deque)
    _logging: threading.Lock = field(default_factory=threading.Lock)

    def ask_all(self, lender: Lender, stop_of: Callable[[Ask], threading.Event]) -> None:
        """Answer one question after another, then verify and send the answers."""
        for ask in _emptied(self.remaining):
            try:
                self.pending.append(lender.ask(ask, stop_of(ask)))
            except Exception:  # asked alone, the question reports its error
                self.send("back", (ask.number,))
        self.tell()

    def hurry(self) -> None:
        """Send finished answers and put back questions that are not started."""
        back = tuple(ask.number for ask in _emptied(self.remaining))
        if back:
            self.send("back", back)
        self.tell()

    def tell(self) -> None:
        """Verify and send pending answers; put back those that the model contradicts."""
        answers = list(_emptied(self.pending))
        if not answers:
            return
        try:
            good = confirm(answers)
            messages = {each.ask.number: told_of(each.result, each.parts) for each in good}
        except Exception:  # a single row may be the cause, so all are asked alone
            good, messages = [], {}
        wrong = tuple(each.ask.number for each in answers if each.ask.number not in messages)
        if wrong:
            self.send("back", wrong)
        if messages:
            complaint = self._log(good)
            self.send(
                "told",
                [(at, replace(message, complaint=complaint)) for at, message in messages.items()],
            )

    def _log(self, answers: Sequence[Held]) -> str:
        """Log answers, one write per folder; return the error message, "" if there is none."""
        books: dict[Path, list[LogRecord]] = {}
        for each in answers:
            if each.ask.log is not None:
                books.setdefault(each.ask.log.folder, []).extend(each.records)
        try:
            with self._logging:
                for folder, records in books.items():
                    append(folder, records)
        except InputError as error:
            return str(error)
        return ""


def _emptied(these: deque[Item]) -> Iterator[Item]:
    """Yield and remove the items; two threads may share them."""
    while True:
        try:
            yield these.popleft()
        except IndexError:
            return
