"""Connections to the jobs database, SQLite or PostgreSQL, and sentences about its errors."""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    Engine,
    PoolProxiedConnection,
    cast,
    create_engine,
    event,
    extract,
    func,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.schema import CreateIndex, CreateTable

from encoders.core.errors import InputError
from portfolio.service.job_tables import ADDED, JOBS, OLDER, USES, VERSION, VERSIONS
from portfolio.service.problems import Problem

log = logging.getLogger("counterfolio.service")
FILE = "jobs.sqlite"  # in the folder of the jobs, unless there is a URL
LOCKED_S = 10.0  # seconds to wait while another process writes to SQLite
# A connection to PostgreSQL is refused after 5 seconds, and given up after 20 without a response.
CONNECT = {"connect_timeout": 5, "tcp_user_timeout": 20_000, "keepalives_idle": 10}
CONNECTIONS = 5  # maximum number of connections of a server
CREATING = 7_401_862  # number of the lock under which servers create the tables in PostgreSQL
POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")
UNREACHABLE = "the jobs database is not reachable. Retry later."
FULL = "the disk of the jobs database is full. Free disk space, then retry."
READ_ONLY = "the jobs database is read-only. Make it writable, then retry."
LOCKED = "another process has locked the jobs database. Retry later."
BROKEN = "the disk of the jobs database fails. Check it, then retry."
DAMAGED = "the jobs database is damaged. Restore it from a backup."
FORBIDDEN = "the jobs database refuses the user or its password. Correct the URL or the rights."
# Beginnings of SQLite's names of errors, and of PostgreSQL's codes.
ERRORS = {
    "SQLITE_BUSY": LOCKED,
    "SQLITE_LOCKED": LOCKED,
    "SQLITE_READONLY": READ_ONLY,
    "SQLITE_FULL": FULL,
    "SQLITE_IOERR": BROKEN,
    "SQLITE_CANTOPEN": UNREACHABLE,
    "SQLITE_NOTADB": DAMAGED,
    "SQLITE_CORRUPT": DAMAGED,
    "25006": READ_ONLY,
    "28": FORBIDDEN,
    "42501": FORBIDDEN,
    "53100": FULL,
    "55P03": LOCKED,
    "XX001": DAMAGED,
    "XX002": DAMAGED,
}


class DatabaseProblem(Problem):
    """An error of the jobs database, with the reason for the log of the server."""

    def __init__(self, detail: str, reason: str) -> None:
        headers = None if detail == FULL else {"Retry-After": "1"}
        super().__init__(507 if detail == FULL else 503, detail, headers)
        self.reason = reason


def problem_of(error: SQLAlchemyError | sqlite3.Error) -> DatabaseProblem | None:
    """Return the problem that an error of a database reports; None for a bug."""
    if isinstance(error, PoolTimeout):
        return DatabaseProblem(UNREACHABLE, "all connections are in use")
    if not isinstance(error, DBAPIError | sqlite3.Error):
        return None
    driver = error.orig if isinstance(error, DBAPIError) else error
    reason = " ".join(str(driver).split())
    code = getattr(driver, "sqlite_errorname", None) or getattr(driver, "sqlstate", None)
    for beginning, detail in ERRORS.items():
        if (code or "").startswith(beginning):
            return DatabaseProblem(detail, reason)
    if isinstance(error, sqlite3.Error):
        return None
    # PostgreSQL ends (57), has no more connections or memory (53), or is not there at all.
    lost = error.connection_invalidated or code is None or code[:2] in ("08", "53", "57")
    return DatabaseProblem(UNREACHABLE, reason) if lost else None


@contextmanager
def problems() -> Iterator[None]:
    """Turn errors of a database into DatabaseProblem, and log their reasons."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        problem = problem_of(error)
        if problem is None:
            raise
        log.error("the jobs database failed: %s", problem.reason)
        raise problem from error


@dataclass(frozen=True)
class _DriverQuery:
    """A query as the driver of SQLite takes it."""

    text: str
    names: Sequence[str]  # of its values, in order
    constants: dict[str, Any]

    @staticmethod
    def of(statement: Any, engine: Engine) -> "_DriverQuery":
        """Compile a query."""
        options = {"render_postcompile": True}
        compiled = statement.compile(dialect=engine.dialect, compile_kwargs=options)
        return _DriverQuery(str(compiled), compiled.positiontup, compiled.params)

    def rows(self, connection: PoolProxiedConnection, values: dict[str, Any]) -> list[Any]:
        """Return the rows of the query."""
        every = self.constants | values
        cursor = connection.cursor()
        cursor.execute(self.text, [every[name] for name in self.names])
        return list(cursor.fetchall())


@dataclass(frozen=True, eq=False)
class Database:
    """A jobs database, whose tables exist. Its methods raise DatabaseProblem.

    Attributes
    ----------
    engine : Engine, connections in which each statement is a transaction.
    now_s : ColumnElement, seconds since the epoch on the clock of the database.
    """

    engine: Engine
    now_s: ColumnElement[float]

    @property
    def is_sqlite(self) -> bool:
        """True if the database is a file."""
        return self.engine.dialect.name == "sqlite"

    def rows(self, statement: Any, **values: Any) -> list[Any]:
        """Return the rows that a statement returns."""
        with problems(), self.engine.connect() as connection:
            return list(connection.execute(statement, values))

    def run(self, statement: Any, **values: Any) -> None:
        """Execute a statement that returns no rows."""
        with problems(), self.engine.connect() as connection:
            connection.execute(statement, values)

    def reader(self, statement: Any) -> Callable[..., list[Any]]:
        """Return a function that returns the rows of a query, as the driver represents values.

        For SQLite it is several times faster than :meth:`rows`.
        """
        if not self.is_sqlite:
            return partial(self.rows, statement)
        query = _DriverQuery.of(statement, self.engine)

        def read(**values: Any) -> list[Any]:
            with problems(), closing(self.engine.raw_connection()) as connection:
                return query.rows(connection, values)

        return read

    def reader_at_once(self, statement: Any) -> Callable[..., list[Any]] | None:
        """Return a reader for the event loop, which does not wait for other processes.

        It raises :class:`sqlite3.OperationalError` if it would have to wait. It is None for
        PostgreSQL, which answers over a network.
        """
        if not self.is_sqlite:
            return None
        query = _DriverQuery.of(statement, self.engine)
        connection = self.engine.raw_connection()
        connection.detach()  # for one thread, which needs no pool
        connection.cursor().execute("PRAGMA busy_timeout = 0")
        return lambda **values: query.rows(connection, values)

    def upsert(self, table: Any) -> Any:
        """Return an INSERT statement that has ON CONFLICT clauses."""
        if self.is_sqlite:
            from sqlalchemy.dialects import sqlite

            return sqlite.insert(table)
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def open_database(address: str | None, folder: Path, durable: bool = True) -> Database:
    """Return the database of a URL, by default a file in a folder; create its tables.

    If not ``durable``, changes may be lost if the power fails, and are several times faster.
    """
    url = _url(address, folder)
    shown = url.render_as_string(hide_password=True)
    is_sqlite = url.get_backend_name() == "sqlite"
    database = _sqlite(url, durable) if is_sqlite else _postgresql(url, durable)
    try:
        with problems(), database.engine.connect() as connection:
            version = _version_of(database, connection)
    except DatabaseProblem as problem:
        raise InputError(f"{shown}: {problem.detail} ({problem.reason})") from problem
    if version != VERSION:
        raise InputError(
            f"the jobs database {shown} has tables of version {version}, and this version of "
            f"counterfolio needs {VERSION}. Use another database."
        )
    return database


def _url(address: str | None, folder: Path) -> URL:
    """Return the URL of the database, with the driver that is used."""
    if address is None:
        return URL.create("sqlite", database=str(folder / FILE))
    try:
        url = make_url(address)
    except SQLAlchemyError:  # whose message could contain a password
        url = None
    if url is not None and url.drivername in POSTGRESQL:
        return url.set(drivername="postgresql+psycopg")
    if url is not None and url.drivername == "sqlite" and url.database:
        return url
    raise InputError(
        "the URL of the jobs database is neither PostgreSQL nor a file of SQLite. Give "
        "postgresql://USER@HOST/NAME or sqlite:///FILE."
    )


def is_shared(address: str | None) -> bool:
    """Return True if several machines can use the database of a URL."""
    return address is not None and not address.startswith("sqlite")


def _sqlite(url: URL, durable: bool) -> Database:
    engine = create_engine(
        url,
        isolation_level="AUTOCOMMIT",
        pool_size=CONNECTIONS,
        max_overflow=0,
        connect_args={"timeout": LOCKED_S},
    )

    def prepare(connection: Any, _: Any) -> None:
        connection.create_function("now_s", 0, time.time)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")

    event.listen(engine, "connect", prepare)
    return Database(engine, func.now_s(type_=Double))


def _postgresql(url: URL, durable: bool) -> Database:
    try:
        engine = create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_pre_ping=True,
            connect_args=CONNECT,
        )
    except ImportError as error:
        raise InputError(
            f"PostgreSQL needs {error.name}, which is not installed. Install it: pip install "
            "'counterfolio[service,postgresql]'."
        ) from error

    def prepare(connection: Any, _: Any) -> None:
        connection.execute("SET synchronous_commit = off")

    if not durable:
        event.listen(engine, "connect", prepare)
    return Database(engine, cast(extract("epoch", func.clock_timestamp()), Double))


def _version_of(database: Database, connection: Connection) -> int:
    """Return the version of the tables; create them, or add columns to older ones."""
    query = select(func.max(VERSIONS.c.version))
    if inspect(connection).has_table(VERSIONS.name):
        version: int | None = connection.scalar(query)
        if version is not None and version not in OLDER:
            return version
    with _alone(database, connection):
        for table in (JOBS, USES, VERSIONS):
            connection.execute(CreateTable(table, if_not_exists=True))
            for index in table.indexes:
                connection.execute(CreateIndex(index, if_not_exists=True))
        columns = {column["name"] for column in inspect(connection).get_columns(JOBS.name)}
        for name, kind in ADDED.items():
            if name not in columns:
                connection.execute(text(f"ALTER TABLE {JOBS.name} ADD COLUMN {name} {kind}"))
        new = database.upsert(VERSIONS).values(version=VERSION)
        connection.execute(new.on_conflict_do_nothing())
    return VERSION


@contextmanager
def _alone(database: Database, connection: Connection) -> Iterator[None]:
    """Let other servers wait that create or change the tables at the same time."""
    if database.is_sqlite:
        before, after = text("BEGIN IMMEDIATE"), text("COMMIT")
    else:
        before = text(f"SELECT pg_advisory_lock({CREATING})")
        after = text(f"SELECT pg_advisory_unlock({CREATING})")
    connection.execute(before)
    try:
        yield
    finally:
        connection.execute(after)
