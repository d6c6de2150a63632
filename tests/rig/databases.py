"""Private database servers: MariaDB and PostgreSQL, each with its own data, socket and port.

with MariaDB() as server:
    url = server.create("nova_api")      # mysql+pymysql://root@127.0.0.1:PORT/nova_api
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Optional

from tests.rig.base import (
    Broken,
    Unavailable,
    cpu_seconds,
    descendants,
    end,
    free_port,
    program,
    remove,
    spawn,
    temporary,
    wait_for,
)


class Server:
    """Base: where it is and how long it lives."""

    name = ""

    def __init__(self) -> None:
        self.root = Path()
        self.port = 0
        self._process: Optional[subprocess.Popen[bytes]] = None

    @property
    def log(self) -> Path:
        """What the server printed."""
        return self.root / "server.log"

    def prepare(self) -> None:
        """Make the data directory."""
        raise Broken(f"{self.name} cannot be prepared")

    def command(self) -> Sequence[str]:
        """What to run."""
        raise Broken(f"{self.name} cannot be run")

    def answers(self) -> bool:
        """Does it take queries."""
        raise Broken(f"{self.name} cannot be asked")

    def start(self) -> Any:
        """Prepare and start; returns self when queries are answered."""
        program("unshare")
        self.root = temporary(self.name)
        try:
            self.root.chmod(0o755)
            self.port = free_port()
            self.prepare()
            self.launch()
        except BaseException:
            self.stop()
            raise
        return self

    def launch(self) -> None:
        """Start it (again, after `down`)."""
        self._process = process = spawn(self.command(), self.log)
        wait_for(
            self.name,
            self.answers,
            timeout=60,
            alive=lambda: process.poll() is None,
            log=self.log,
        )

    def down(self) -> None:
        """End the server; the data stay."""
        end(self._process)
        self._process = None

    def stop(self) -> None:
        """End the server and delete the data."""
        self.down()
        if self.root != Path():
            remove(self.root)
            self.root = Path()

    @property
    def pid(self) -> int:
        """The server's process id."""
        assert self._process is not None
        return self._process.pid

    def cpu_seconds(self) -> float:
        """CPU time it has used so far."""
        return cpu_seconds(self.pid)

    def peak_memory(self) -> int:
        """Bytes: the most that one of its processes had resident."""
        return max(_peak(pid) for pid in descendants(self.pid))

    def __enter__(self) -> Any:
        return self.start()

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.stop()


def _peak(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _account(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise Unavailable(f"no user {name} (run tests/rig/setup)") from None


class MariaDB(Server):
    """A MariaDB whose root has no password, on loopback and on a socket; nothing is synced."""

    name = "mariadb"

    @property
    def socket(self) -> Path:
        """The Unix socket."""
        return self.root / "mariadb.sock"

    def prepare(self) -> None:
        install = program("mariadb-install-db")
        program("mariadbd")
        done = subprocess.run(
            [
                install,
                "--no-defaults",
                f"--datadir={self.root}/data",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                f"--user={self._user}",
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise Broken(f"mariadb-install-db: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    @property
    def _user(self) -> str:
        return pwd.getpwuid(os.geteuid()).pw_name

    def command(self) -> Sequence[str]:
        return [
            program("mariadbd"),
            "--no-defaults",
            f"--user={self._user}",
            f"--datadir={self.root}/data",
            f"--socket={self.socket}",
            f"--tmpdir={self.root}",  # a starting server empties it, so it cannot be shared
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            f"--pid-file={self.root}/mariadb.pid",
            "--character-set-server=utf8mb3",
            "--skip-log-bin",
            "--skip-name-resolve",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=256M",
            "--max-connections=500",
        ]

    def answers(self) -> bool:
        done = subprocess.run(self._client("SELECT 1"), capture_output=True)
        return done.returncode == 0

    def _client(self, statement: str, database: str = "") -> list[str]:
        command = [program("mariadb"), "--no-defaults", f"--socket={self.socket}", "--user=root"]
        return [*command, "--batch", "--skip-column-names", "-e", statement, database]

    def query(self, statement: str, database: str = "mysql") -> str:
        """Run statements as root; rows with tabs between columns. Broken when one fails."""
        done = subprocess.run(self._client(statement, database), capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f"mariadb: {done.stderr.strip()}")
        return done.stdout

    def create(self, database: str) -> str:
        """Make a database (Nova's character set); its SQLAlchemy URL over TCP."""
        self.query(f"CREATE DATABASE `{database}`")
        return self.url(database)

    def drop(self, database: str) -> None:
        """Remove a database."""
        self.query(f"DROP DATABASE `{database}`")

    def url(self, database: str) -> str:
        """SQLAlchemy URL over TCP."""
        return f"mysql+pymysql://root@127.0.0.1:{self.port}/{database}?charset=utf8"

    def dump(self, database: str) -> str:
        """The database as SQL, for a copy with `load`."""
        done = subprocess.run(
            [
                program("mariadb-dump"),
                "--no-defaults",
                f"--socket={self.socket}",
                "--user=root",
                database,
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise Broken(f"mariadb-dump: {done.stderr.strip()}")
        return done.stdout

    def load(self, database: str, sql: str) -> str:
        """Make a database from a dump; its URL."""
        url = self.create(database)
        command = self._client("", database)
        command.remove("-e")
        command.remove("")
        done = subprocess.run(command, input=sql, capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f"mariadb: {done.stderr.strip()}")
        return url


class PostgreSQL(Server):
    """A PostgreSQL that trusts everyone on loopback; nothing is synced."""

    name = "postgresql"

    @property
    def _bin(self) -> Path:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        if not found:
            raise Unavailable("PostgreSQL is not installed (run tests/rig/setup)")
        return found[-1].parent

    def _as_owner(self, *command: object) -> list[str]:
        words = [str(word) for word in command]
        if os.geteuid() != 0:
            return words
        _account("postgres")
        return [
            program("setpriv"),
            "--reuid=postgres",
            "--regid=postgres",
            "--clear-groups",
            *words,
        ]

    def prepare(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self.root, "postgres", "postgres")
        done = subprocess.run(
            self._as_owner(
                self._bin / "initdb",
                f"--pgdata={self.root}/data",
                "--auth=trust",
                "--username=postgres",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
            ),
            capture_output=True,
            text=True,
            cwd=str(self.root),
        )
        if done.returncode != 0:
            raise Broken(f"initdb: {done.stderr[-2000:]}")

    def command(self) -> Sequence[str]:
        return self._as_owner(
            self._bin / "postgres",
            "-D",
            self.root / "data",
            "-h",
            "127.0.0.1",
            "-p",
            self.port,
            "-k",
            self.root,
            "-F",
            "-c",
            "max_connections=200",
        )

    def _psql(self, statement: str, database: str) -> subprocess.CompletedProcess[str]:
        command = [
            program("psql"),
            "-X",
            "-q",
            "-A",
            "-t",
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
        ]
        return subprocess.run(
            [*command, "-U", "postgres", "-d", database, "-v", "ON_ERROR_STOP=1", "-c", statement],
            capture_output=True,
            text=True,
        )

    def answers(self) -> bool:
        return self._psql("SELECT 1", "postgres").returncode == 0

    def query(self, statement: str, database: str = "postgres") -> str:
        """Run a statement; rows with `|` between columns. Broken when it fails."""
        done = self._psql(statement, database)
        if done.returncode != 0:
            raise Broken(f"psql: {done.stderr.strip()}")
        return done.stdout

    def create(self, database: str, template: str = "template0") -> str:
        """Make a database, or a copy of one nobody is connected to; its SQLAlchemy URL."""
        self.query(f'CREATE DATABASE "{database}" TEMPLATE "{template}"')
        return self.url(database)

    def drop(self, database: str) -> None:
        """Remove a database."""
        self.query(f'DROP DATABASE "{database}"')

    def url(self, database: str) -> str:
        """SQLAlchemy URL over TCP."""
        return f"postgresql+psycopg2://postgres@127.0.0.1:{self.port}/{database}"
