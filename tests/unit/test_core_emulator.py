"""Asking emulators: good, broken, hostile; real child processes of small scripts."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from capd import config, emulator
from capd.emulator import Answer
from capd.hypervisor import Hypervisor
from capd.live import LiveWitness

GOOD = """#!/bin/sh
case "$1" in
--version) echo "QEMU emulator version 7.2.0"; echo "Copyright";;
*) echo 'Network devices:'; echo 'name "e1000", bus PCI'; id -un;;
esac
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    # the child runs as nobody where the tests run as root
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_uid == os.geteuid() and directory != Path("/"):
            directory.chmod(directory.stat().st_mode | 0o011)
    return tmp_path / "qemu-system-test"


def write(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_version_devices_and_fingerprint(script: Path) -> None:
    path = write(script, GOOD)
    answer = emulator.ask(path, 5)
    assert answer.error is None
    assert answer.version == "QEMU emulator version 7.2.0"
    assert answer.devices is not None and answer.devices.names() == {"e1000"}
    before = answer.fingerprint
    os.utime(path, ns=(1, 1))
    assert emulator.fingerprint(path) != before
    script.unlink()
    assert emulator.fingerprint(path) == "absent"


def test_the_child_is_unprivileged(script: Path) -> None:
    answer = emulator.ask(write(script, GOOD), 5)
    if os.geteuid() == 0:
        assert answer.text.splitlines()[-1] == "nobody"
    else:
        assert answer.text.splitlines()[-1] != "root"


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [
        ("#!/bin/sh\n", 0o644, "cannot be run: Permission denied"),
        ("#!/no/such/interpreter\n", 0o755, "cannot be run: No such file or directory"),
        ("not a program", 0o755, "cannot be run: Exec format error"),
        ("#!/bin/sh\nexit 3\n", 0o755, "ended with status 3"),
        ("#!/bin/sh\necho 'cannot load module' >&2; exit 1\n", 0o755, "cannot load module"),
        ("#!/bin/sh\nkill -SEGV $$\n", 0o755, "died of signal 11"),
        ("#!/bin/sh\necho junk\n", 0o755, "did not answer with a device list"),
    ],
)
def test_b27_broken_emulators_are_named(script: Path, text: str, mode: int, words: str) -> None:
    path = write(script, text, mode)
    answer = emulator.ask(path, 5)
    assert answer.devices is None
    assert answer.error is not None
    assert path in answer.error
    assert words in answer.error


def test_one_that_never_ends_is_killed_with_its_children(script: Path, tmp_path: Path) -> None:
    path = write(script, "#!/bin/sh\nsleep 98765 &\nwait\n")
    begun = time.monotonic()
    answer = emulator.ask(path, 0.5)
    assert time.monotonic() - begun < 4
    assert answer.error is not None and "did not finish within 0.5 s" in answer.error
    deadline = time.monotonic() + 5
    while running("sleep\x0098765\x00") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not running("sleep\x0098765\x00")


def running(command: str) -> bool:
    """Whether a process with that command line lives."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes() == command.encode():
                return True
        except OSError:
            continue
    return False


def test_one_that_prints_without_end_is_stopped(script: Path) -> None:
    path = write(script, "#!/bin/sh\nexec yes\n")
    answer = emulator.ask(path, 30)
    assert answer.error is not None
    assert f"printed more than {emulator.MAX_OUTPUT} bytes" in answer.error


def test_a_missing_emulator(script: Path) -> None:
    answer = emulator.ask(str(script), 5)
    assert answer.fingerprint == "absent"
    assert answer.error == (
        f"{script} cannot be run: No such file or directory (reinstall its package)"
    )


def test_a_list_is_kept_without_its_text(script: Path) -> None:
    """The text goes into a recording, and 25 emulators have 230 kB of it."""
    path = write(script, '#!/bin/sh\necho "Network devices:"\necho \'name "e1000", bus PCI\'\n')
    settings = config.load().libvirt
    kept: dict[str, Answer] = {}
    for text in ('Network devices:\nname "e1000", bus PCI\n', ""):
        (answer,) = LiveWitness(Hypervisor(settings), settings, kept).emulators([path])
        assert answer.devices is not None
        assert (answer.devices.names(), answer.text) == (frozenset({"e1000"}), text)
