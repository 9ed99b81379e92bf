"""Tables of the jobs database."""

from sqlalchemy import Boolean, Column, Double, Index, Integer, MetaData, String, Table, Text

VERSION = 3  # of these tables
# Columns of the table of jobs that version 1 lacks; version 2 lacks only the last one.
ADDED = {"attempt": "INTEGER NOT NULL DEFAULT 0", "stored": "INTEGER", "problem": "TEXT"}
OLDER = range(1, VERSION)  # versions that lack only such columns
METADATA = MetaData()

VERSIONS = Table("counterfolio_versions", METADATA, Column("version", Integer, primary_key=True))

JOBS = Table(
    "counterfolio_jobs",
    METADATA,
    Column("number", Integer, primary_key=True),  # in the order of arrival
    Column("id", String(32), nullable=False, unique=True),
    Column("owner", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("model", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("arguments", Text, nullable=False),
    Column("rows", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("message", Text, nullable=False),
    Column("answered", Integer, nullable=False),
    Column("total", Integer),
    Column("bounds", Text),
    Column("resumable", Boolean, nullable=False),
    Column("ended", Double, nullable=False),
    Column("ready", Double, nullable=False),  # when it may start; the earliest job starts first
    Column("server", String(32)),  # server that works on it until the lease ends
    Column("lease_until", Double, nullable=False),
    Column("attempt", Integer, nullable=False),  # number of leases to work on it
    Column("problem", Text),  # code and arguments of the message as JSON; null if it has no code
    Column("stored", Integer),  # attempt whose answers the store has; null for jobs in folders
    Index("counterfolio_jobs_queue", "state", "ready"),
    Index("counterfolio_jobs_owner", "owner", "number"),
)

USES = Table(
    "counterfolio_uses",
    METADATA,
    Column("owner", Text, primary_key=True),
    Column("unit", String(64), primary_key=True),
    Column("period", Integer, nullable=False),  # number of the minute or of the day
    Column("uses", Integer, nullable=False),
)
