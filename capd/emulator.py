"""Asking an emulator itself: which devices it can create, and its version.

`EMULATOR -machine none -device help` needs no privileges, no KVM and no guest; it runs as an
unprivileged child with a time limit, without a shell, and its output is bounded.
"""

from __future__ import annotations

import os
import pwd
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from capd import devices
from capd.devices import DeviceList
from capd.errors import EmulatorError

#: bytes of output after which an emulator is taken to be printing junk
MAX_OUTPUT = 4 * 1024 * 1024

#: where distributions keep QEMU's device modules; a package that adds or removes one changes these
_MODULE_DIRS = ("/usr/lib/*/qemu", "/usr/lib64/qemu", "/usr/lib/qemu", "/usr/libexec/qemu")


@dataclass(frozen=True)
class Answer:
    """What one emulator said; `devices` is None and `error` set where it said nothing of use."""

    path: str
    version: Optional[str]
    fingerprint: str
    devices: Optional[DeviceList]
    text: str
    error: Optional[str]


def fingerprint(path: str) -> str:
    """Size, times and inode of the binary and the times of QEMU's module directories.

    A package that changes the emulator or its device modules changes this text. An emulator that
    is not there has the fingerprint `absent`.
    """
    try:
        stat = Path(path).stat()
    except OSError:
        return "absent"
    own = f"{stat.st_size}-{stat.st_mtime_ns}-{stat.st_ino}"
    return ":".join([own, *(str(stamp) for stamp in _module_stamps())])


def _module_stamps() -> Iterator[int]:
    for pattern in _MODULE_DIRS:
        for directory in sorted(Path("/").glob(pattern.lstrip("/"))):
            yield directory.stat().st_mtime_ns


def ask(path: str, timeout: float) -> Answer:
    """Ask one emulator, `timeout` seconds for each of the two questions; never raises for it."""
    mark = fingerprint(path)
    version = None
    try:
        version = _first_line(_run([path, "--version"], timeout))
        text = _run([path, "-machine", "none", "-device", "help"], timeout)
        return Answer(path, version, mark, devices.read(text, path), text, None)
    except EmulatorError as error:
        return Answer(path, version, mark, None, "", error.line())


def _first_line(text: str) -> Optional[str]:
    return next((line.strip() for line in text.splitlines() if line.strip()), None)


def _unprivileged() -> dict[str, Any]:
    """Arguments for subprocess that drop root, where the process is root."""
    if os.geteuid() != 0:
        return {}
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return {}
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _run(command: list[str], timeout: float) -> str:
    """The standard output of `command`. Raises EmulatorError naming it."""
    path = command[0]
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            start_new_session=True,
            close_fds=True,
            **_unprivileged(),
        )
    except (OSError, subprocess.SubprocessError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise EmulatorError(
            f"{path} cannot be run: {reason}", culprit=path, cure="reinstall its package"
        ) from None
    with child:
        try:
            output, complaint = _collect(child, path, timeout)
        finally:
            _kill(child)
    if child.returncode != 0:
        detail = _first_line(complaint) or "no message"
        how = (
            f"died of signal {-child.returncode}"
            if child.returncode < 0
            else f"ended with status {child.returncode}"
        )
        raise EmulatorError(
            f"{path} {how} when asked for its devices: {detail[:200]}",
            culprit=path,
            cure=f"run {' '.join(command)} by hand; reinstall its package if it fails there too",
        )
    return output


def _collect(child: subprocess.Popen[bytes], path: str, timeout: float) -> tuple[str, str]:
    """Read both pipes to their end within `timeout` seconds and MAX_OUTPUT bytes."""
    assert child.stdout is not None and child.stderr is not None
    deadline = time.monotonic() + timeout
    texts = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    with selectors.DefaultSelector() as selector:
        for descriptor in texts:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise EmulatorError(
                    f"{path} did not finish within {timeout:g} s",
                    culprit=path,
                    cure="run it by hand; [libvirt] emulator_timeout sets the limit",
                )
            for key, _ in ready:
                chunk = os.read(key.fd, 65536)
                if chunk:
                    texts[key.fd] += chunk
                else:
                    selector.unregister(key.fd)
                if len(texts[key.fd]) > MAX_OUTPUT:
                    raise EmulatorError(
                        f"{path} printed more than {MAX_OUTPUT} bytes", culprit=path
                    )
        try:
            child.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise EmulatorError(
                f"{path} did not finish within {timeout:g} s", culprit=path
            ) from None
    out, err = (bytes(text).decode("utf-8", "replace") for text in texts.values())
    return out, err


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it started, if it still runs."""
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            child.kill()
        child.wait()
