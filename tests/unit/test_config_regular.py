"""Only regular files are read, and no more of them than can be meant; nothing waits."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from capd import config, regular
from capd.errors import ConfigError
from tests.rig.base import remove, temporary


def test_a_regular_file_is_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    assert regular.read(tmp_path / "link", 3) == b"abc"
    with pytest.raises(OSError) as caught:
        regular.read(tmp_path / "link", 2)
    assert caught.value.strerror == "it is larger than 2 bytes"


def _unreadable(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        config.load([path])
    assert caught.value.exit_code == 2
    return caught.value.line().replace(str(path), "PATH")


@pytest.mark.timeout(20)
def test_what_is_no_file_is_named_and_never_waited_for(tmp_path: Path) -> None:
    said = "cannot read configuration file PATH: {} (check the path and its permissions)"
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    before = len(os.listdir("/proc/self/fd"))
    assert _unreadable(tmp_path / "fifo") == said.format("it is a FIFO, not a file")
    assert _unreadable(tmp_path / "zero") == said.format("it is a device, not a file")
    assert _unreadable(tmp_path) == said.format("it is a directory, not a file")
    assert _unreadable(tmp_path / "none") == said.format("No such file or directory")
    place = temporary("regular")  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(place / "s"))
        assert _unreadable(place / "s") == said.format("it is no regular file")
    remove(place)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.timeout(20)
def test_a_large_file_is_no_configuration(tmp_path: Path) -> None:
    path = tmp_path / "capd.conf"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # sparse
    assert _unreadable(path) == (
        "cannot read configuration file PATH: it is larger than 4194304 bytes "
        "(check the path and its permissions)"
    )


def test_a_pipe_is_no_configuration() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "capd", "--dump", "--config-file", "/dev/stdin"],
        input="",
        capture_output=True,
        text=True,
        timeout=30,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stderr) == (
        2,
        "capd: cannot read configuration file /dev/stdin: it is a FIFO, not a file "
        "(check the path and its permissions)\n",
    )
