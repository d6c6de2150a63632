"""One database of Nova's: opened late, used in transactions, its failures put into words.

`read` and `write` give a connection inside a transaction. Failures of the driver become
`DatabaseError`s that say which database, what went wrong and what to do, and never a password.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Optional, TypeVar

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL, Connection, Engine, ExceptionContext
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    SQLAlchemyError,
)

from capd.errors import DatabaseError
from capd.novadb.urls import describe, secrets

Result = TypeVar("Result")

#: how long to wait for a server to answer a connection, and for SQLite's lock, in seconds
CONNECT_TIMEOUT = 10
SQLITE_TIMEOUT = 30

#: how long to wait for a row that another transaction holds, in seconds
LOCK_TIMEOUT = 10

#: how often a transaction that lost a deadlock is tried
ATTEMPTS = 6

#: the server's codes: MySQL and MariaDB by number, PostgreSQL by SQLSTATE
_CONFLICT = frozenset({1213, 1205, "40001", "40P01", "55P03"})
_READ_ONLY = frozenset({1290, 1836, 1792, 3989, "25006"})
_FORBIDDEN = frozenset({1044, 1045, 1142, 1143, 1227, 1698, "42501", "28000", "28P01"})
_NO_DATABASE = frozenset({1049, "3D000"})
_NO_TABLE = frozenset({1146, "42P01"})
_NO_COLUMN = frozenset({1054, "42703"})
_STATEMENT_BINLOG = frozenset({1665})


class Conflict(DatabaseError):
    """The transaction lost against another one and was rolled back; it may be tried again."""


class HalfWritten(DatabaseError):
    """The first of two databases was committed and the second was not.

    `undone` says that the second is known to be rolled back; else its COMMIT got no answer.
    """

    undone = False


class Unfit(DatabaseError):
    """The fault is with one instance's rows, not with the database."""


@dataclass(frozen=True)
class _Diagnosis:
    """What a driver's failure means. `kind` is the class of error to raise."""

    text: str
    cure: Optional[str]
    kind: type[DatabaseError] = DatabaseError


class Database:
    """A database by its URL; `label` is what messages call it (`the API database`)."""

    def __init__(self, url: URL, label: str) -> None:
        self.label = label
        self.url = url
        self._engine: Optional[Engine] = None

    @property
    def where(self) -> str:
        """Label, kind, host and name, without credentials."""
        return f"{self.label} ({describe(self.url)})"

    @property
    def sqlite(self) -> bool:
        """Whether this is a SQLite file, which has one lock for all."""
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that is rolled back at the end. Raises DatabaseError."""
        with self._failures(), self._connect() as connection:
            yield connection
            connection.rollback()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is committed unless an exception passes through.

        Raises DatabaseError, or Conflict if another transaction won.
        """
        with self._failures(), self._connect() as connection:
            if self.sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()

    def close(self) -> None:
        """Drop all connections."""
        if self._engine is not None:
            self._engine.dispose()

    def _connect(self) -> Connection:
        if self._engine is None:
            self._engine = _engine(self.url)
            event.listen(self._engine, "handle_error", self._mark)
        try:
            return self._engine.connect()
        except TypeError:
            raise DatabaseError(
                f"{self.where}: its URL has parameters that the driver does not take",
                culprit=self.label,
            ) from None

    def _mark(self, context: ExceptionContext) -> None:
        """Transactions on two databases are nested: note whose failure it is."""
        if context.sqlalchemy_exception is not None:
            context.sqlalchemy_exception.__dict__["database"] = self

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise DatabaseError(
                f"{self.where} needs a driver that is not installed: {self._clean(error)}",
                culprit=self.label,
                cure="install PyMySQL for MySQL and MariaDB, psycopg2 for PostgreSQL",
            ) from None
        except DBAPIError as error:
            database = error.__dict__.get("database", self)
            raise database._explain(error) from None
        except SQLAlchemyError as error:
            raise DatabaseError(
                f"{self.where} failed: {self._clean(error)}", culprit=self.label
            ) from None

    def _explain(self, error: DBAPIError) -> DatabaseError:
        diagnosis = _diagnose(error)
        original = self._clean(error.orig or "no answer")
        return diagnosis.kind(
            f"{self.where} {diagnosis.text}: {original}", culprit=self.label, cure=diagnosis.cure
        )

    def _clean(self, error: object) -> str:
        """The message of a driver on one line, without anything secret."""
        text = " ".join(str(error).split())
        for secret in secrets(self.url):
            text = text.replace(secret, "***")
        return text


def retrying(work: Callable[[], Result], attempts: int = ATTEMPTS) -> Result:
    """Do `work`, again if it lost against another transaction; then let Conflict through."""
    for attempt in range(1, attempts):
        try:
            return work()
        except Conflict:
            time.sleep(random.uniform(0.02, 0.1) * 2**attempt)  # noqa: S311 - jitter
    return work()


def _engine(url: URL) -> Engine:
    """An engine with what Nova (oslo.db) sets: strict SQL mode, utf8, no driver's own BEGIN.

    READ COMMITTED, so that a locking read sees what others committed and locks no gaps.
    """
    backend = url.get_backend_name()
    options: dict[str, Any] = {"pool_pre_ping": backend != "sqlite"}
    arguments: dict[str, Any] = {}
    if backend == "sqlite":
        arguments["timeout"] = SQLITE_TIMEOUT
    else:
        options["isolation_level"] = "READ COMMITTED"
        arguments["connect_timeout"] = CONNECT_TIMEOUT
        if backend == "mysql" and "charset" not in url.query:
            arguments["charset"] = "utf8"
    engine = create_engine(url, future=True, connect_args=arguments, **options)
    if backend == "sqlite":
        event.listen(engine, "connect", _no_implicit_begin)
    elif backend == "mysql":
        event.listen(engine, "connect", _mysql_session)
    elif backend == "postgresql":
        event.listen(engine, "connect", _postgresql_session)
    return engine


def _no_implicit_begin(connection: Any, _record: object) -> None:
    connection.isolation_level = None


def _mysql_session(connection: Any, _record: object) -> None:
    """Too long a value is an error, never cut off."""
    cursor = connection.cursor()
    cursor.execute("SET SESSION sql_mode = 'TRADITIONAL'")
    cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {LOCK_TIMEOUT}")
    cursor.close()


def _postgresql_session(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}s'")
    cursor.close()
    connection.commit()


def _diagnose(error: DBAPIError) -> _Diagnosis:
    code = _code(error)
    text = str(error.orig).lower()
    if code in _CONFLICT or "database is locked" in text or "database is busy" in text:
        return _Diagnosis("is busy", "try again", Conflict)
    if code in _READ_ONLY or "readonly database" in text or "read-only" in text:
        return _Diagnosis(
            "is read-only", "use the writable server of the cluster, not a replica of it"
        )
    if code in _FORBIDDEN:
        return _Diagnosis(
            "refuses this user",
            "use the user of nova.conf: SELECT, INSERT, UPDATE and DELETE are needed",
        )
    if code in _NO_DATABASE or "unable to open database file" in text:
        return _Diagnosis("does not exist", "check the database name in nova.conf")
    if code in _NO_TABLE or "no such table" in text:
        return _Diagnosis("has not Nova's tables", "run nova-manage db sync and api_db sync")
    if code in _NO_COLUMN or "no such column" in text:
        return _Diagnosis("has not Nova's columns", "finish the upgrade with nova-manage db sync")
    if code in _STATEMENT_BINLOG:
        return _Diagnosis("logs statements, not rows", "set binlog_format to ROW or MIXED")
    if isinstance(code, int) and 2000 <= code < 2100:
        return _Diagnosis("cannot be reached", "check that the server runs and [database]")
    if isinstance(error, (DataError, IntegrityError)):
        return _Diagnosis("does not take a value", None, Unfit)
    if "connection" in text and type(error.orig).__name__ == "OperationalError":
        return _Diagnosis("cannot be reached", "check that the server runs and [database]")
    return _Diagnosis("refused", None)


def _code(error: DBAPIError) -> object:
    """The server's code for a failure: a number (MySQL), a SQLSTATE (PostgreSQL), or None."""
    arguments = getattr(error.orig, "args", ())
    if arguments and isinstance(arguments[0], int):
        return arguments[0]
    return getattr(error.orig, "pgcode", None) or getattr(error.orig, "sqlstate", None)
