"""Where Nova's databases are: from nova.conf and cell mappings to URLs without blanks.

`cell_mappings.database_connection` may be a template (`{scheme}://{username}:{password}@...`)
that is filled from `[database] connection` of the file at hand, as Nova does (Nova, "Cells",
template URLs in cell mappings). Everything here handles passwords: nothing of a URL leaves this
module in a message but the kind of database, the host and its name.
"""

from __future__ import annotations

import importlib.util
from typing import Optional
from urllib.parse import SplitResult, unquote, urlparse, urlsplit

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from capd.errors import ConfigError

#: drivers to look for where the URL names none, in Nova's order of preference
_DRIVERS = {
    "mysql": (("MySQLdb", "mysqldb"), ("pymysql", "pymysql")),
    "postgresql": (("psycopg2", "psycopg2"), ("psycopg", "psycopg")),
}


def resolve(template: str, default: Optional[str]) -> str:
    """`template` with its blanks filled from the URL `default`, as Nova's CellMapping does.

    Without a default, or where the blanks cannot be filled, the template is returned as it is.
    """
    if default is None:
        return template
    try:
        return template.format(**_substitutes(default))
    except (KeyError, IndexError, ValueError, AttributeError):
        return template


def _substitutes(default: str) -> dict[str, object]:
    """The blanks and their values; parts stay percent-encoded, the path has no leading slash."""
    url = urlparse(default)
    values: dict[str, object] = {
        "scheme": url.scheme,
        "username": url.username,
        "password": url.password,
        "hostname": url.hostname,
        "port": url.port,
        "path": url.path.lstrip("/"),
        "query": url.query,
        "fragment": url.fragment,
    }
    if "," in url.netloc:
        for index, netloc in enumerate(url.netloc.split(","), 1):
            for key, value in _netloc(netloc).items():
                values[f"{key}{index}"] = value
    return values


def _netloc(netloc: str) -> dict[str, object]:
    """The parts of one `user:password@host:port` of a list of them."""
    credentials, at, address = netloc.partition("@")
    if not at:
        credentials, address = "", netloc
    username, colon, password = credentials.partition(":")
    host, port = _host_port(address)
    return {
        "username": username,
        "password": password if colon else None,
        "hostname": host,
        "port": port,
    }


def _host_port(address: str) -> tuple[str, Optional[int]]:
    """Host and port; an IPv6 address stands in brackets if a port follows (as oslo.utils)."""
    if address.startswith("["):
        host, _, rest = address[1:].partition("]")
        port = rest.lstrip(":")
    elif address.count(":") == 1:
        host, _, port = address.partition(":")
    else:
        host, port = address, ""
    return host, int(port) if port else None


def parse(text: str, where: str, parameters: str = "") -> URL:
    """The URL `text` for SQLAlchemy; `parameters` are appended to its query.

    `where` says in messages whose URL it is. A URL without a driver gets one that is installed.
    Raises ConfigError without showing any of the text: it may hold a password anywhere.
    """
    if parameters:
        text += ("&" if "?" in text else "?") + parameters
    try:
        url = make_url(text)
        url.get_backend_name()
    except (ArgumentError, ValueError):
        blanks = "{" in text
        raise ConfigError(
            f"the database URL of {where} cannot be understood",
            culprit=where,
            cure="it has {blanks} that [database] connection must fill: give nova.conf of this "
            "host with --config-file"
            if blanks
            else "it must look like mysql+pymysql://user:password@host/nova",
        ) from None
    if "+" not in url.drivername:
        for module, driver in _DRIVERS.get(url.drivername, ()):
            if importlib.util.find_spec(module) is not None:
                return url.set(drivername=f"{url.drivername}+{driver}")
    return url


def describe(url: URL) -> str:
    """`url` for messages: kind, host and database; never a user, password or query."""
    host = f"{url.host}:{url.port}" if url.host and url.port else url.host or "local"
    if url.get_backend_name() == "sqlite":
        return f"sqlite {url.database or 'in memory'}"
    return f"{url.get_backend_name()} {host}/{url.database or ''}"


def secrets(url: URL) -> tuple[str, ...]:
    """What must not be seen of `url`: its password, as given and percent-encoded."""
    found: set[str] = set()
    if url.password is not None:
        found.add(str(url.password))
        raw: SplitResult = urlsplit(url.render_as_string(hide_password=False))
        if raw.password:
            found.update((raw.password, unquote(raw.password)))
    for key, value in url.query.items():
        if "pass" in key.lower():
            found.update((value,) if isinstance(value, str) else value)
    return tuple(sorted(found - {""}, key=len, reverse=True))
