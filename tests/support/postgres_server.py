"""A PostgreSQL server on loopback for a test run, in a folder of its own; never as root."""

import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

USER = "agentic"


def missing() -> str | None:
    """Why no server can be started here, or None."""
    for program in ("initdb", "pg_ctl", "postgres"):
        if shutil.which(program) is None:
            return f"PostgreSQL is not installed: {program} is not on the PATH"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "PostgreSQL does not run as root, and setpriv is not here to change the user"
    return None


class PostgresServer:
    """A running server.

    Args:
        folder: Its data.
        port: On 127.0.0.1.
    """

    def __init__(self, folder: Path, port: int) -> None:
        self._data = folder / "data"
        self._folder = folder
        self.port = port
        self._databases = 0

    def url(self, database: str = "postgres") -> str:
        """Where a database is."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Make an empty database and return its URL."""
        self._databases += 1
        name = f"store_{self._databases}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.url(name)

    def start(self) -> None:
        """Start, after a crash too, and wait until it answers."""
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder}"
        settings += " -c fsync=off"  # signal 9 leaves the system's cache alone; only a power cut could tell
        command = ("pg_ctl", "-D", str(self._data), "-l", str(self._folder / "log"), "-w", "-o", settings, "start")
        for patience in range(50, -1, -1):
            try:
                _run(*command)
                return
            except RuntimeError:
                if not patience:
                    raise
            select.select([], [], [], 0.1)  # processes of a killed server still hold its shared memory

    def stop(self) -> None:
        """Stop at once."""
        _run("pg_ctl", "-D", str(self._data), "-w", "-m", "immediate", "stop")

    def kill(self) -> None:
        """Kill the server and each of its processes with signal 9; `start` begins with the recovery."""
        postmaster = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for process in [postmaster, *map(int, children)]:
            with suppress(ProcessLookupError):  # a child may have ended by itself
                os.kill(process, signal.SIGKILL)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Start a server in a new folder; stop it and remove the folder afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="agentic-postgres-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, *_account())
        _run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", USER, "--no-sync", "-E", "UTF8", "--locale=C")
        server = PostgresServer(folder, _free_port())
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _account() -> tuple[int, int]:
    return 65534, 65534  # nobody, on every Linux


def _run(*command: str) -> None:
    user, group = _account()
    prefix = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*prefix, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, cwd="/", check=False
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.decode(errors='replace')[-500:]}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
