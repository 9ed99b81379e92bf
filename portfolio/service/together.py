"""Questions of a worker that are asked one after another, and told once the model confirms them."""

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
    """An explainer for whose model the trees speak where they are clear.

    Attributes
    ----------
    explainer : its answers hold once the model confirms them
    loans : what the model is still to be asked
    native : the model
    """

    explainer: Explainer
    loans: Loans
    native: NativeModel

    @classmethod
    def of(cls, explainer: Explainer) -> Self:
        """The same explainer as one."""
        loans, model = Loans(), explainer._asker.model
        same = copy(explainer)
        same._asker = replace(explainer._asker, model=lending(model, loans))
        return cls(same, loans, model.native)

    def ask(self, ask: Ask, stop: threading.Event) -> Held:
        """An answer that the model has not confirmed."""
        self.loans.clear()
        given = meant(self.explainer, ask.arguments)
        wanted = Wanted.taken_from(given)
        kept: list[LogRecord] = []
        if ask.log is not None:
            given["log"] = PendingLogbook(ask.log.folder, ask.log.dataset, records=kept)
        found = self.explainer.until(stop).explain(**given)
        for name, needed in (("rounded", wanted.rounded), ("told", wanted.text)):
            if needed:
                getattr(found, name)  # looked up now, while the trees may speak
        return Held(ask, found, wanted, self.native, self.loans.split(), tuple(kept))


@dataclass(frozen=True, eq=False)
class Together:
    """Several plain questions about one explainer.

    One thread asks them; another one may meanwhile tell what is held, and give back the rest.

    Attributes
    ----------
    send : tells the parent
    left : those that are not begun
    held : answers that are not told
    """

    send: Callable[[str, Any], None]
    left: deque[Ask]
    held: deque[Held] = field(default_factory=deque)
    _logging: threading.Lock = field(default_factory=threading.Lock)

    def ask_all(self, lender: Lender, stop_of: Callable[[Ask], threading.Event]) -> None:
        """Ask one after another, then tell all answers."""
        for ask in _emptied(self.left):
            try:
                self.held.append(lender.ask(ask, stop_of(ask)))
            except Exception:  # asked alone it says what is wrong
                self.send("back", (ask.number,))
        self.tell()

    def hurry(self) -> None:
        """Tell what is held and give back what is not begun, while one question takes long."""
        back = tuple(ask.number for ask in _emptied(self.left))
        if back:
            self.send("back", back)
        self.tell()

    def tell(self) -> None:
        """Tell what is held; what a model contradicts is given back, to be asked alone."""
        held = list(_emptied(self.held))
        if not held:
            return
        try:
            good = confirm(held)
            told = {each.ask.number: told_of(each.found, each.wanted) for each in good}
        except Exception:  # of one row perhaps
            good, told = [], {}
        wrong = tuple(each.ask.number for each in held if each.ask.number not in told)
        if wrong:
            self.send("back", wrong)
        if told:
            complaint = self._log(good)
            self.send("told", [(at, replace(own, complaint=complaint)) for at, own in told.items()])

    def _log(self, held: Sequence[Held]) -> str:
        """Log answers, those of one folder in one write; why that could not be done."""
        books: dict[Path, list[LogRecord]] = {}
        for each in held:
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
    """Each of them, which two threads at once share."""
    while True:
        try:
            yield these.popleft()
        except IndexError:
            return
