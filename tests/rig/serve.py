"""Serve a peer's WSGI application; run by the peer's own Python, not by capd's.

    python serve.py APPLICATION FD WORKERS THREADS ACCESS_LOG LINE_LIMIT

APPLICATION is `module:attribute`; FD a listening socket that was inherited. SQLite gets the two
things that concurrent writers need there and that a deployment on a server does not: each
transaction takes the write lock when it begins (a lock taken half-way can only fail, never wait),
and waiting for it is allowed.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import gunicorn.app.base  # type: ignore[import-untyped]
from sqlalchemy import event
from sqlalchemy.engine import Engine


@event.listens_for(Engine, "connect")
def _patient(connection: Any, _record: Any) -> None:
    if "sqlite" in type(connection).__module__:
        connection.execute("PRAGMA busy_timeout = 60000")
        connection.execute("PRAGMA journal_mode = WAL")


@event.listens_for(Engine, "before_cursor_execute", retval=True)
def _immediate(
    connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool
) -> tuple[str, Any]:
    if statement == "BEGIN" and connection.dialect.name == "sqlite":
        statement = "BEGIN IMMEDIATE"
    return statement, parameters


class Server(gunicorn.app.base.BaseApplication):  # type: ignore[misc]
    """Gunicorn with threads and keep-alive; the application is loaded in each worker."""

    def __init__(self, application: str, options: dict[str, Any]) -> None:
        self.application = application
        self.options = options
        super().__init__()

    def load_config(self) -> None:
        """Called by gunicorn."""
        for key, value in self.options.items():
            self.cfg.set(key, value)

    def load(self) -> Any:
        """Called by gunicorn in each worker."""
        module, _, attribute = self.application.partition(":")
        return getattr(importlib.import_module(module), attribute)


def main(arguments: list[str]) -> None:
    """Serve until a signal ends it."""
    application, descriptor, workers, threads, access_log, line_limit = arguments
    sys.argv = sys.argv[:1]
    Server(
        application,
        {
            "bind": f"fd://{descriptor}",
            "workers": int(workers),
            "threads": int(threads),
            "worker_class": "gthread",
            "keepalive": 75,
            "limit_request_line": int(line_limit),
            "timeout": 300,
            "graceful_timeout": 1,
            "accesslog": access_log,
            "access_log_format": "%(m)s\t%(r)s\t%(s)s\t%(B)s\t%(D)s\t%({user-agent}i)s",
            "control_socket_disable": True,
        },
    ).run()


if __name__ == "__main__":
    main(sys.argv[1:])
