"""Telling systemd: the protocol itself, on real sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from capd.notify import Notifier

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """systemd's end of NOTIFY_SOCKET."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(tmp_path / "notify"))
        end.settimeout(5)
        yield end


def _told(manager: socket.socket) -> str:
    return manager.recv(4096).decode()


def test_ready_status_and_stopping(manager: socket.socket) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": manager.getsockname()})
    notifier.ready("nothing reported yet")
    assert _told(manager) == "READY=1\nSTATUS=nothing reported yet"
    notifier.status("nothing reported yet")  # not again
    notifier.status("37 traits")
    assert _told(manager) == "STATUS=37 traits"
    notifier.ping()
    assert _told(manager) == "WATCHDOG=1"
    notifier.stopping("stopping")
    assert _told(manager) == "STOPPING=1\nSTATUS=stopping"


def test_reloading_carries_the_monotonic_clock(manager: socket.socket) -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    Notifier({"NOTIFY_SOCKET": manager.getsockname()}).reloading()
    state, usec = _told(manager).split("\n")
    assert state == "RELOADING=1"
    name, _, value = usec.partition("=")
    assert name == "MONOTONIC_USEC"
    assert 0 <= int(value) - before < 5_000_000


def test_b77_abstract_socket() -> None:
    name = f"capd-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind("\0" + name)
        end.settimeout(5)
        Notifier({"NOTIFY_SOCKET": "@" + name}).ping()
        assert end.recv(100) == b"WATCHDOG=1"


def test_without_a_manager_nothing_happens() -> None:
    notifier = Notifier({})
    notifier.ready("x")
    notifier.ping()
    assert notifier.watchdog is None


def test_b77_unusable_socket_is_warned_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    for _ in range(3):
        notifier.ping()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "cannot be notified" in caplog.text


def test_foreign_kind_of_socket_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    Notifier({"NOTIFY_SOCKET": "vsock:2:1234"}).ping()
    assert "vsock:2:1234 is not a local socket" in caplog.text


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "60000000"}, 60.0),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": str(os.getpid())}, 2.0),
        ({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": str(os.getpid() + 1)}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_watchdog_interval(environ: dict[str, str], seconds: float | None) -> None:
    assert Notifier(environ).watchdog == seconds


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wrong", "raise RuntimeError('not that systemd')"),
        ("other", "class daemon: pass"),
        ("none", "raise ImportError"),
    ],
)
def test_b77_wrong_systemd_package_on_the_path(
    manager: socket.socket, tmp_path: Path, name: str, text: str
) -> None:
    """Three projects call their module `systemd`; any of them may be there, or none."""
    package = tmp_path / name / "systemd"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(text)
    script = "from capd.notify import Notifier; Notifier().ready('fine')"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": f"{package.parent}:{ROOT}",
            "NOTIFY_SOCKET": manager.getsockname(),
        },
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert _told(manager) == "READY=1\nSTATUS=fine"


def test_systemd_python_is_used_where_it_is_the_right_one(manager: socket.socket) -> None:
    pytest.importorskip("systemd.daemon", reason="systemd-python is not installed")
    script = (
        "from capd import notify\n"
        "assert notify._binding() is not None\n"
        "notify.Notifier().ready('by the binding')"
    )
    subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "NOTIFY_SOCKET": manager.getsockname()},
        check=True,
    )
    assert _told(manager) == "READY=1\nSTATUS=by the binding"
