"""Rows of jobs in the database of a folder, which tests read and change."""

import sqlite3
from contextlib import closing

from portfolio.service.database import FILE, open_database
from portfolio.service.job_store import JobStore
from portfolio.service.jobs import Jobs, prepare_folder


def database_of(folder):
    prepare_folder(folder)
    return open_database(None, folder)


def jobs_of(folder, work=None, keep_days=0.0):
    """The jobs of a folder, without a service."""
    return Jobs(folder, JobStore(database_of(folder)), work, keep_days)


def query(folder, text, *values):
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        return connection.execute(text, values).fetchall()


def value_of(folder, number, column):
    ((value,),) = query(folder, f"SELECT {column} FROM counterfolio_jobs WHERE id = ?", number)
    return value


def change_job(folder, number, **values):
    columns = ", ".join(f"{name} = ?" for name in values)
    query(folder, f"UPDATE counterfolio_jobs SET {columns} WHERE id = ?", *values.values(), number)


def interrupt(folder, number, answered=0):
    """Leave a job as a server that was killed while it worked on it."""
    change_job(
        folder, number, state="running", answered=answered, ended=0.0, server="x", lease_until=1.0
    )


def folders(folder):
    """Names of the folders of jobs, complete or not."""
    return {entry.name for entry in folder.iterdir() if not entry.name.startswith(FILE)}
