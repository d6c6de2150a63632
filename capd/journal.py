"""The log: structured fields in the journal, plain lines elsewhere.

Every part of capd logs through `logging`; `fields(trait=..., provider=...)` as `extra` adds what a
line is about. Under systemd (stderr is the journal's own stream) a line becomes a journal entry
with CAPD_TRAIT=, CAPD_MACHINE=, CAPD_INSTANCE=, CAPD_PROVIDER=, ... so that
`journalctl -u capd CAPD_TRAIT=...` finds it. The journal's native protocol is spoken directly: it
is one datagram, and works the same whether or not a binding is installed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import struct
import sys
import time
from collections.abc import Mapping
from typing import Optional

SOCKET = "/run/systemd/journal/socket"

#: what a line may be about; the names of the fields, without CAPD_
FIELDS = ("machine", "trait", "instance", "provider", "emulator", "stage", "event", "setting")

_PRIORITY = {
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}


def fields(**values: Optional[str]) -> dict[str, str]:
    """The `extra` of a log line; names are those of FIELDS."""
    unknown = set(values) - set(FIELDS)
    if unknown:
        raise ValueError(f"no journal field: {', '.join(sorted(unknown))}")
    return {f"capd_{name}": value for name, value in values.items() if value}


class JournalHandler(logging.Handler):
    """Sends each record to journald as one entry with its fields."""

    def __init__(self, path: str = SOCKET) -> None:
        super().__init__()
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._socket.sendto(self._entry(record), self._path)
        except OSError:
            # journald is restarting, or the entry is too long: stderr leads there too.
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(f"{record.getMessage()[:2000]}\n")

    def close(self) -> None:
        self._socket.close()
        super().close()

    def _entry(self, record: logging.LogRecord) -> bytes:
        message = record.getMessage()
        if record.exc_info:
            message += "\n" + logging.Formatter().formatException(record.exc_info)
        entry: dict[str, str] = {
            "MESSAGE": message,
            "PRIORITY": str(_PRIORITY.get(record.levelno, 6)),
            "SYSLOG_IDENTIFIER": "capd",
            "LOGGER": record.name,
            "CODE_FUNC": record.funcName or "",
        }
        for name in FIELDS:
            value = getattr(record, f"capd_{name}", None)
            if value is not None:
                entry[f"CAPD_{name.upper()}"] = str(value)
        return b"".join(_field(name, value) for name, value in entry.items())


def _field(name: str, value: str) -> bytes:
    """One field of the native protocol; a value with line breaks is sent with its length."""
    data = value.encode("utf-8", "replace")
    if b"\n" not in data:
        return name.encode() + b"=" + data + b"\n"
    return name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n"


def under_journald(environ: Optional[Mapping[str, str]] = None, descriptor: int = 2) -> bool:
    """Whether stderr is the stream that systemd connected to the journal (systemd.exec(5))."""
    stream = (os.environ if environ is None else environ).get("JOURNAL_STREAM", "")
    device, _, inode = stream.partition(":")
    try:
        status = os.fstat(descriptor)
        return bool(stream) and (int(device), int(inode)) == (status.st_dev, status.st_ino)
    except (OSError, ValueError):
        return False


def setup(debug: bool) -> None:
    """Let the root logger write to the journal, or else plain lines to stderr."""
    handler: logging.Handler
    if under_journald():
        handler = JournalHandler()
    else:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    verbose(debug)
    for name in ("keystoneauth", "urllib3", "stevedore", "oslo_config", "sqlalchemy"):
        logging.getLogger(name).setLevel(logging.WARNING)


def verbose(debug: bool) -> None:
    """Log every step of capd's, or changes only; at any time.

    Libraries speak of every request with what is in it; capd says what matters in its own words.
    """
    logging.getLogger("capd").setLevel(logging.DEBUG if debug else logging.NOTSET)


class Repeats:
    """A failure is logged when it begins or changes, counted while it lasts; its end is logged.

    One per daemon; `stage` is what failed (`libvirt`, `placement`, ...).
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._last: dict[str, str] = {}
        self._count: dict[str, int] = {}
        self._since: dict[str, float] = {}

    def failed(self, stage: str, message: str, **about: Optional[str]) -> None:
        """`stage` failed with `message`."""
        if stage not in self._last:
            self._since[stage] = time.monotonic()
        if self._last.get(stage) != message:
            self._log.error("%s: %s", stage, message, extra=fields(stage=stage, **about))
            self._last[stage] = message
        self._count[stage] = self._count.get(stage, 0) + 1

    def succeeded(self, stage: str) -> None:
        """`stage` worked."""
        if stage not in self._last:
            return
        count, since = self._count.pop(stage), self._since.pop(stage)
        del self._last[stage]
        self._log.info(
            "%s: works again after %d %s in %d s",
            stage,
            count,
            "failure" if count == 1 else "failures",
            time.monotonic() - since,
            extra=fields(stage=stage),
        )

    def failing(self) -> Mapping[str, str]:
        """What fails now: stage to message."""
        return dict(self._last)

    def count(self, stage: str) -> int:
        """How often in a row `stage` has failed."""
        return self._count.get(stage, 0)
