"""Image properties in Nova's own databases, for controllers (needs the extra `capd[nova]`).

Nothing here is imported before a command needs it: SQLAlchemy costs memory and time.
"""

from __future__ import annotations

from capd.errors import DatabaseError


def require() -> None:
    """Raises DatabaseError if what capd needs beyond its base installation is not there."""
    try:
        import sqlalchemy
    except ImportError:
        raise DatabaseError(
            "Nova's databases need SQLAlchemy, which is not installed",
            culprit="sqlalchemy",
            cure="install capd[nova], or python3-sqlalchemy and python3-pymysql",
        ) from None
    version = tuple(int(part) for part in sqlalchemy.__version__.split(".")[:2])
    if version < (1, 4):
        raise DatabaseError(
            f"SQLAlchemy {sqlalchemy.__version__} is too old", cure="1.4 or newer is needed"
        )
