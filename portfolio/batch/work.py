"""Work whose records become a table."""

from collections.abc import Sequence
from typing import Protocol

import pandas as pd

from portfolio.batch.rows import BatchRows
from portfolio.running.work import Record, Work


class BatchWork(Work, Protocol):
    """What a batch does with each row, and what it makes of the records.

    A record has at least "key", "message", "status" and "final": whether it is not asked again.
    """

    @property
    def fields(self) -> frozenset[str]:
        """What each record has, so that files of other batches are known."""
        ...

    @property
    def on_disk(self) -> frozenset[str]:
        """Fields that are kept in files only, as they are large."""
        ...

    def unanswered(self, key: str, message: str, reason: str) -> Record:
        """The record of a row without an answer, and why it has none."""
        ...

    def table(self, rows: BatchRows, records: Sequence[Record]) -> pd.DataFrame:
        """What users get."""
        ...
