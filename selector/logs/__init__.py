"""Training logs: what ran, how it went, in files that many processes append to."""

from selector.logs.check import check
from selector.logs.files import TABLE, append, compact, merge, read, write_table
from selector.logs.record import LogRecord

__all__ = ["TABLE", "LogRecord", "append", "check", "compact", "merge", "read", "write_table"]
