"""Only regular files are read, and no more of them than can be meant; nothing waits."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from capd import config, regular
from capd.errors import ConfigError, DocumentError
from capd.provider import ProviderUnclear, identify
from capd.records import reading
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


# -- compute_id, domains, recordings


def test_a_compute_id_that_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "compute_id"
    conf = tmp_path / "capd.conf"
    conf.write_text(f"[placement]\ncompute_id_files = {path}\n")
    placement = config.load([conf]).placement
    cure = "(make it readable for capd, or set [placement] provider_uuid and compute_id_files)"
    os.mkfifo(path)
    with pytest.raises(ProviderUnclear) as caught:
        identify(placement, "h")
    assert caught.value.line() == f"cannot read {path}: it is a FIFO, not a file {cure}"
    path.unlink()
    path.write_text("0" * 5000)
    with pytest.raises(ProviderUnclear) as caught:
        identify(placement, "h")
    assert caught.value.line() == f"cannot read {path}: it is larger than 4096 bytes {cure}"


def test_a_domain_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.xml")
    for path, why in ((tmp_path / "x.xml", "it is a FIFO"), (Path("/dev/zero"), "it is a device")):
        with pytest.raises(DocumentError) as caught:
            reading.read_file(path)
        assert caught.value.line() == f"cannot read {path}: {why}, not a file"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A copy of a recorded host that a test may spoil."""
    place = tmp_path / "recording"
    shutil.copytree(Path(__file__).parents[2] / "fixtures" / "captures" / "bookworm", place)
    return place


def dump(place: Path, *arguments: str) -> tuple[int, list[str], str]:
    """Exit code, the problems that are shown, and standard error without progress."""
    done = subprocess.run(
        [sys.executable, "-m", "capd", "--dump", "--json", "--from", str(place), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )
    problems = json.loads(done.stdout)["problems"] if done.stdout else []
    return done.returncode, problems, done.stderr.replace(str(place), "PLACE")


_RECORD = "(a recording is made with capd --dump --record DIR)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 200_000, f"PLACE/index.json: it is nested too deeply {_RECORD}"),
        (
            '{"rows": [{"arch": ["x"]}]}',
            "PLACE/index.json: expected text in arch",
        ),
    ],
    ids=["nested", "list"],
)
def test_an_index_that_is_none(recording: Path, text: str, said: str) -> None:
    (recording / "index.json").write_text(text)
    assert dump(recording) == (1, [], f"capd: recording: {said}\n")


def test_a_document_that_is_no_file(recording: Path) -> None:
    (recording / "capabilities.xml").unlink()
    os.mkfifo(recording / "capabilities.xml")
    assert dump(recording) == (
        1,
        [],
        f"capd: recording: PLACE/capabilities.xml: it is a FIFO, not a file {_RECORD}\n",
    )


def test_documents_that_are_missing_are_problems(recording: Path) -> None:
    assert dump(recording)[:2] == (0, [])
    gone = sorted((recording / "domcaps").glob("*"))[:2]
    for path in gone:
        path.unlink()
    code, problems, _ = dump(recording)
    assert code == 1
    assert sorted(problems) == [f"recording: {path}: No such file or directory" for path in gone]
