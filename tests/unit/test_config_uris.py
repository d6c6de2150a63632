"""What is shown of an address: never a password."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from capd.uris import without_password, without_secrets

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("qemu+ssh://u:secretpw@nohost/system", "qemu+ssh://u@nohost/system"),
        ("qemu+ssh://u:secret@pw@nohost/system", "qemu+ssh://u@nohost/system"),
        ("qemu+ssh://u:secret/pw@nohost/system", "qemu+ssh://u@nohost/system"),
        ("qemu+ssh://u:12@nohost:22/system?x=1", "qemu+ssh://u@nohost:22/system?x=1"),
        ("no qemu+ssh://u:secretpw@h/s: why", "no qemu+ssh://u@h/s: why"),
        ("qemu+tcp://host:16509/system?a=b@c", "qemu+tcp://host:16509/system?a=b@c"),
        ("qemu+ssh://u@[::1]:22/system", "qemu+ssh://u@[::1]:22/system"),
        ("qemu:///system?socket=/a@b", "qemu:///system?socket=/a@b"),
    ],
)
def test_the_password_of_a_uri_is_not_shown(uri: str, shown: str) -> None:
    assert without_password(uri) == shown


def test_an_http_address_is_shown_without_secrets() -> None:
    assert without_secrets("https://u:secretpw@h:1/p/?token=x#f") == "https://h:1/p"


@pytest.mark.parametrize(
    ("mode", "code"), [("--dump", 1), ("--check", 1), ("--once", 1), ("--dump --debug", 1)]
)
def test_no_mode_shows_the_password_of_the_connection(
    tmp_path: Path, mode: str, code: int
) -> None:
    path = tmp_path / "capd.conf"
    path.write_text(
        f"[DEFAULT]\nstate_dir = {tmp_path / 'state'}\n"
        "[libvirt]\nconnection_uri = qemu+tcp://u:secretpw@localhost:1/system\n"
        "[placement]\nauth_type = none\nendpoint = http://127.0.0.1:1\n"
    )
    path.chmod(0o600)
    done = subprocess.run(
        [sys.executable, "-m", "capd", "--config-file", str(path), *mode.split()],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == code
    assert "qemu+tcp://u@localhost:1/system: connecting: " in done.stdout + done.stderr
    assert "secretpw" not in done.stdout + done.stderr
