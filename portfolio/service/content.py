"""Request bodies, and how they are parsed and validated (in this process or in a child)."""

import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from portfolio.service.bodies import check_text, parsed
from portfolio.service.group_questions import RowsBody
from portfolio.service.problems import Problem
from portfolio.service.questions import QUESTIONS, sentence_of

SETTINGS = 1_000_000  # bytes of all members of a body except its rows
BESIDE_ROWS = 100_000  # lists or objects in a body in addition to its rows


@dataclass(frozen=True, eq=False)
class QuestionContent:
    """The body of a request about one row.

    Attributes
    ----------
    content : bytes, encoded JSON
    question : str, name in :data:`portfolio.service.questions.QUESTIONS`
    """

    content: bytes
    question: str

    def read(self) -> dict[str, Any]:
        """Return the validated arguments; raise Problem if they are invalid."""
        return QUESTIONS[self.question].arguments(parsed(self.content))


@dataclass(frozen=True, eq=False)
class RowsContent:
    """The body of a request about many rows.

    Attributes
    ----------
    content : bytes, encoded JSON
    columns : tuple of str, columns that each row must have
    most_rows : int, maximum number of rows
    """

    content: bytes
    columns: tuple[str, ...]
    most_rows: int

    def read(self) -> tuple[dict[str, Any], bytes]:
        """Return (other members, rows as JSON bytes); raise Problem if they are invalid."""
        lists, objects = self.content.count(b"["), self.content.count(b"{")
        if max(lists, objects - self.most_rows) > BESIDE_ROWS:
            raise Problem(422, f"the body has more than {self.most_rows} rows. Send fewer rows.")
        members = parsed(self.content, text_alone=False)
        try:
            rows = RowsBody.model_validate(members).rows
        except ValidationError as error:
            raise Problem(422, sentence_of(error)) from error
        if len(rows) > self.most_rows:
            words = f"the body has {len(rows)} rows. Send at most {self.most_rows}."
            raise Problem(422, words)
        self._check_whole(rows)
        more = {name: value for name, value in members.items() if name != "rows"}
        check_text(more, "the body")
        if len(json.dumps(more)) > SETTINGS:
            raise Problem(
                413, f"the members other than rows take more than {SETTINGS} bytes. Send less."
            )
        # Names of columns that the model does not have are kept, even if no table can store them.
        return more, json.dumps(rows).encode()

    def _check_whole(self, rows: list[dict[str, Any]]) -> None:
        """Raise Problem for a missing column: a data frame would turn it into missing values."""
        for at, row in enumerate(rows):
            if lacking := [name for name in self.columns if name not in row]:
                words = f"row {at} has no column {lacking[0]!r}. Send null for a missing value."
                raise Problem(422, words)
