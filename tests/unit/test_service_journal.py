"""The log: fields on the wire, and saying a failure once."""

from __future__ import annotations

import logging
import os
import socket
import struct
from pathlib import Path

import pytest

from capd import journal
from capd.journal import JournalHandler, Repeats, fields, under_journald


def test_fields_of_an_entry(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(tmp_path / "journal"))
        end.settimeout(5)
        handler = JournalHandler(str(tmp_path / "journal"))
        record = logging.LogRecord(
            "capd.health", logging.WARNING, "f", 1, "removed %s", ("X",), None
        )
        for name, value in fields(trait="X", provider="u-1").items():
            setattr(record, name, value)
        handler.emit(record)
        lines = end.recv(4096).decode().splitlines()
        handler.close()
    assert {
        "MESSAGE=removed X", "PRIORITY=4", "SYSLOG_IDENTIFIER=capd", "LOGGER=capd.health",
        "CAPD_TRAIT=X", "CAPD_PROVIDER=u-1",
    } <= set(lines)  # fmt: skip


def test_message_of_several_lines_is_one_entry(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(tmp_path / "journal"))
        end.settimeout(5)
        handler = JournalHandler(str(tmp_path / "journal"))
        handler.emit(logging.LogRecord("x", logging.INFO, "f", 1, "a\nB=c", None, None))
        data = end.recv(4096)
        handler.close()
    assert data.startswith(b"MESSAGE\n" + struct.pack("<Q", 5) + b"a\nB=c\nPRIORITY=6\n")


def test_journald_gone_the_line_goes_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = JournalHandler(str(tmp_path / "nobody"))
    handler.emit(logging.LogRecord("x", logging.INFO, "f", 1, "still said", None, None))
    assert capsys.readouterr().err == "still said\n"


def test_fields_refuse_names_that_nobody_would_find() -> None:
    with pytest.raises(ValueError, match="no journal field: triat"):
        fields(triat="X")
    assert fields(trait=None, machine="pc") == {"capd_machine": "pc"}


def test_under_journald_only_if_stderr_is_its_stream(tmp_path: Path) -> None:
    with (tmp_path / "stream").open("w") as stream:
        status = os.fstat(stream.fileno())
        own = f"{status.st_dev}:{status.st_ino}"
        assert under_journald({"JOURNAL_STREAM": own}, stream.fileno())
        assert not under_journald({"JOURNAL_STREAM": "1:1"}, stream.fileno())
        assert not under_journald({"JOURNAL_STREAM": "x"}, stream.fileno())
        assert not under_journald({}, stream.fileno())


def test_a_failure_is_said_once_counted_and_its_end_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    repeats = Repeats(logging.getLogger("test"))
    for _ in range(20):
        repeats.failed("placement", "refused")
    assert (repeats.count("placement"), repeats.failing()) == (20, {"placement": "refused"})
    repeats.failed("placement", "timed out")
    repeats.succeeded("placement")
    repeats.succeeded("placement")
    assert [record.getMessage() for record in caplog.records] == [
        "placement: refused",
        "placement: timed out",
        "placement: works again after 21 failures in 0 s",
    ]
    assert repeats.failing() == {}


def test_setup_writes_plain_lines_without_systemd(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        journal.setup(debug=False)
        logging.getLogger("capd.x").info("hello")
        logging.getLogger("capd.x").debug("a step")
        journal.verbose(True)
        logging.getLogger("capd.x").debug("another step")
        for library in ("urllib3", "keystoneauth.session", "other"):
            logging.getLogger(library).debug("a request")
    finally:
        journal.verbose(False)
        root.handlers, root.level = before, level
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith(" INFO hello")
    assert second.endswith(" DEBUG another step")
