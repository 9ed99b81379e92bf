"""Interface of work whose records become a table."""

from collections.abc import Sequence
from typing import Protocol

import pandas as pd

from portfolio.model.batch_rows import BatchRows
from portfolio.workers.work import Record, Work


class BatchWork(Work, Protocol):
    """Work of a batch: it turns each row into a record, and the records into a table.

    A record has at least "key", "message", "status" and "final". Rows with a final record are not
    solved again.
    """

    @property
    def fields(self) -> frozenset[str]:
        """Fields that each record has; they identify files of other kinds of batch."""
        ...

    @property
    def on_disk(self) -> frozenset[str]:
        """Large fields, which are stored in files but not in memory."""
        ...

    def unanswered(self, key: str, message: str, reason: str) -> Record:
        """Return the record of a row without an answer, with the reason."""
        ...

    def table(self, rows: BatchRows, records: Sequence[Record]) -> pd.DataFrame:
        """Return the table for the user."""
        ...
