"""A private PostgreSQL of the distribution's packages, in a temporary folder, on a socket."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

PLACES = "/usr/lib/postgresql/*/bin/initdb"  # where Debian installs it, without links in PATH
START_S = 60.0
USER = "counterfolio"


def programs():
    """Folder of initdb and postgres; the test is skipped if there is none."""
    initdb = shutil.which("initdb") or next(map(str, sorted(Path("/").glob(PLACES[1:]))), None)
    if initdb is None:
        pytest.skip("PostgreSQL is not installed (Debian package postgresql)")
    return Path(os.path.realpath(initdb)).parent


def owner():
    """Arguments of Popen: PostgreSQL refuses to run as root."""
    if os.geteuid():
        return {}
    entry = pwd.getpwnam("nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Cluster:
    """A cluster with one database, which can be killed and started again."""

    def __init__(self, folder):
        self.folder, self._data, self._process = folder, folder / "data", None
        command = [programs() / "initdb", "-D", self._data, "-U", USER, "-A", "trust", "-N"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **owner())

    def url(self, database="postgres"):
        return f"postgresql://{USER}@/{database}?host={self.folder}"

    def new_database(self):
        """URL of a new database."""
        name = f"d{uuid.uuid4().hex}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def start(self):
        """Start, and wait until connections are accepted."""
        late_at = time.monotonic() + START_S
        command = [programs() / "postgres", "-D", self._data, "-k", self.folder, "-h", ""]
        while True:
            if self._process is None or self._process.poll() is not None:
                # After a kill, processes of the previous server may still be ending.
                self._process = subprocess.Popen(
                    command, cwd=self.folder, stderr=subprocess.DEVNULL, **owner()
                )
            with suppress(psycopg.OperationalError), psycopg.connect(self.url()):
                return
            assert time.monotonic() < late_at
            time.sleep(0.1)

    def kill(self):
        """Kill the server; its processes end as soon as they notice."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def execute(self, statement):
        with psycopg.connect(self.url(), autocommit=True) as connection:
            return connection.execute(statement)


@contextmanager
def cluster():
    """A running cluster."""
    programs()
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # the path of a socket has to be short
    try:
        if user := owner():
            os.chown(folder, user["user"], user["group"])
        made = Cluster(folder)
        made.start()
        yield made
        made.kill()
    finally:
        shutil.rmtree(folder)
