"""The state database: one SQLite file that outlives capd, and who may write to it.

`Store` opens `state_dir/capd.db` for memory (owned traits, last known support) and for records; it
knows the schema's versions and turns every failure of SQLite into a `StoreError` with a cure.
Nothing here deletes or replaces a database that cannot be read: the file is left as it is and the
operator decides. `InstanceLock` keeps a second capd off the same state directory.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Optional

from capd import statefile
from capd.errors import StoreError
from capd.schema import MIGRATIONS

DATABASE = "capd.db"
LOCK = "capd.lock"

_BUSY_SECONDS = 10.0


class Store:
    """An open state database; `connection` is in autocommit mode, writes go through `transaction`.

    `read_only` neither creates nor changes anything on disk: a missing file is an empty store, and
    one of an older schema is brought up to date in memory only.

    Raises StoreError, naming the file, if the database cannot be used.
    """

    def __init__(self, path: Path, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._lock = threading.RLock()
        self._place: Optional[tuple[int, int]] = None
        with self._failures("open"):
            self.connection = self._open_read_only() if read_only else self._open()

    def close(self) -> None:
        """Close the database; safe to call twice."""
        self.connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """The rows of a query, as `sqlite3.Row`. Raises StoreError."""
        with self._failures("read"), self._lock:
            return self.connection.execute(query, tuple(parameters)).fetchall()

    @contextmanager
    def sound(self, what: str) -> Iterator[None]:
        """For making sense of rows: a value that no release writes is damage, and a StoreError."""
        try:
            yield
        except (KeyError, ValueError, TypeError) as error:
            raise self._damaged(f"{what} that no release writes: {error}") from None

    @contextmanager
    def statement(self) -> Iterator[sqlite3.Connection]:
        """For one statement, which is a transaction of its own. Raises StoreError."""
        with self._lock, self._failures("write"):
            yield self.connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: all of it is on disk when the block ends, or nothing is.

        Raises StoreError if SQLite cannot do it; any exception in the block rolls back.
        """
        with self._lock, self._failures("write"):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        directory = self.path.parent
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(statefile.own(self.path))
        except OSError as error:
            raise statefile.unopened(self.path, error) from None
        connection = _connect(str(self.path))
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.execute("PRAGMA synchronous = FULL")
            self._check(connection)
            self._migrate(connection)
            self._place = statefile.place(self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def check_place(self) -> None:
        """Raise StoreError if the file was removed or replaced: writes to it would be lost."""
        if not self.read_only and statefile.place(self.path) != self._place:
            raise StoreError(
                f"{self.path} was removed or replaced while capd runs",
                culprit=str(self.path),
                cure="stop capd before its state is moved; it goes on with the file that is "
                "there now, or a new one",
            )

    def _open_read_only(self) -> sqlite3.Connection:
        if not statefile.present(self.path):
            empty = _connect(":memory:")
            self._migrate(empty)
            return empty
        try:
            connection = _connect(f"{self.path.absolute().as_uri()}?mode=ro")
            connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.OperationalError:
            # A database in WAL mode needs its -shm file, which cannot be created in a directory
            # that is not writable; without a -wal file there is nothing that could be missed.
            if self.path.with_name(self.path.name + "-wal").exists():
                raise
            connection = _connect(f"{self.path.absolute().as_uri()}?mode=ro&immutable=1")
        self._check(connection)
        if _version(connection) < len(MIGRATIONS):
            copy = _connect(":memory:")
            connection.backup(copy)
            connection.close()
            self._migrate(copy)
            return copy
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        """Refuse a database that is damaged or comes from a newer capd."""
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise self._damaged(found)
        version = _version(connection)
        if version > len(MIGRATIONS):
            raise StoreError(
                f"{self.path} has schema version {version}; this capd knows {len(MIGRATIONS)}",
                culprit=str(self.path),
                cure="it was written by a newer capd: install that version again; the file is "
                "untouched",
            )

    def _migrate(self, connection: sqlite3.Connection) -> None:
        if _version(connection) >= len(MIGRATIONS):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            for number in range(_version(connection), len(MIGRATIONS)):
                for statement in MIGRATIONS[number]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number + 1}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    @contextmanager
    def _failures(self, action: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._explain(action, error) from None

    def _explain(self, action: str, error: sqlite3.Error) -> StoreError:
        text = str(error)
        if "malformed" in text or "not a database" in text or "corrupt" in text:
            return self._damaged(text)
        cure = None
        if "locked" in text or "busy" in text:
            cure = "another process holds it: see who has it open, then try again"
        elif "full" in text:
            cure = "free some space; nothing was lost, the write is tried again in the next pass"
        elif "readonly" in text or "read-only" in text:
            cure = "make the file and its directory writable for capd"
        elif "unable to open" in text or "I/O" in text:
            cure = "check the file, its directory and the disk"
        elif "no such" in text:
            cure = "no release lays it out so: move it aside, capd begins a new one"
        return StoreError(
            f"cannot {action} {self.path}: {text}", culprit=str(self.path), cure=cure
        )

    def _damaged(self, text: str) -> StoreError:
        return StoreError(
            f"{self.path} is damaged: {text}",
            culprit=str(self.path),
            cure="move it aside and keep it for its records; capd begins a new one: CUSTOM_CAPD_ "
            "traits are found again on the provider, standard traits are left alone",
        )


def _connect(target: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        target,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        uri=target.startswith("file:"),
    )
    connection.row_factory = sqlite3.Row
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


class InstanceLock:
    """Held by the one capd that reports for this host; the kernel drops it when that one dies.

    Raises StoreError, naming the other process, if it is held already.
    """

    def __init__(self, state_dir: Path) -> None:
        self.path = state_dir / LOCK
        try:
            state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = statefile.own(self.path)
        except OSError as error:
            raise statefile.unopened(self.path, error) from None
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(self._descriptor, 32).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            raise StoreError(
                f"another capd is running for this host: process {holder or 'unknown'}",
                culprit=holder,
                cure="stop it first; with systemd: systemctl stop capd",
            ) from None
        # The process id is for people; the lock holds without it, on a full disk for example.
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the next one in; the file stays, only the lock on it counts."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> InstanceLock:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.release()
