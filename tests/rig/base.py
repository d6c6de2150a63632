"""What all parts share: where things are, waiting, and why a part cannot be had here."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Callable, Optional

REPOSITORY = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("CAPD_CACHE") or Path.home() / ".cache" / "capd")

_PR_SET_PDEATHSIG = 1


class Unavailable(Exception):
    """This machine cannot run a part; the text says exactly what is missing (a test skips)."""


class Broken(Exception):
    """A part that should have started did not; the text has the end of its log."""


def peer_python(peer: str) -> Path:
    """The Python of a peer's virtual environment (`placement`, `nova`, `keystone`)."""
    python = CACHE / peer / "bin" / "python"
    if not python.exists():
        raise Unavailable(f"{peer} is not installed in {CACHE / peer} (run tests/rig/setup)")
    return python


def program(name: str) -> str:
    """Where a program is, also in the directories that only root has on its PATH."""
    path = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"
    found = shutil.which(name, path=path)
    if found is None:
        raise Unavailable(f"{name} is not installed (run tests/rig/setup)")
    return found


def need_root() -> None:
    """Namespaces and device nodes are root's."""
    if os.geteuid() != 0:
        raise Unavailable("needs root: namespaces, device nodes")


def temporary(name: str) -> Path:
    """A directory with a path short enough for a Unix socket, whatever TMPDIR is."""
    return Path(tempfile.mkdtemp(prefix=f"capd-{name}-", dir="/tmp"))


def wait_for(
    what: str,
    ready: Callable[[], Any],
    timeout: float = 30.0,
    alive: Optional[Callable[[], bool]] = None,
    log: Optional[Path] = None,
) -> Any:
    """Poll `ready` until it gives something true, and return that; Broken after `timeout` s."""
    end = time.monotonic() + timeout
    while True:
        value = ready()
        if value:
            return value
        dead = alive is not None and not alive()
        if dead or time.monotonic() > end:
            reason = "ended at once" if dead else f"not ready after {timeout:.0f} s"
            raise Broken(f"{what}: {reason}{tail(log)}")
        time.sleep(0.02)


def tail(log: Optional[Path], lines: int = 25) -> str:
    """The last lines of a log, for an error message."""
    if log is None or not log.exists():
        return ""
    text = log.read_text(errors="replace").splitlines()[-lines:]
    return f"\n--- end of {log}\n" + "\n".join(text)


def listen(port: int = 0) -> socket.socket:
    """A listening socket on the loopback address; port 0 picks a free one.

    One that was in use a moment ago is waited for: its last holder may not be quite gone.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    end = time.monotonic() + 10
    while True:
        try:
            sock.bind(("127.0.0.1", port))
            break
        except OSError:
            if port == 0 or time.monotonic() > end:
                raise
            time.sleep(0.05)
    sock.listen(512)
    return sock


def free_port() -> int:
    """A port free at this moment."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        number: int = sock.getsockname()[1]
        return number


def connects(port: int) -> bool:
    """Does something accept on this loopback port."""
    with socket.socket() as sock:
        sock.settimeout(1)
        return sock.connect_ex(("127.0.0.1", port)) == 0


#: run by `spawn` before the real program: end with the process that started us, then exec
_LEASH = (
    "import ctypes, os, sys\n"
    f"ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {int(signal.SIGTERM)})\n"
    "os.getppid() == int(sys.argv[1]) or sys.exit(1)\n"
    "os.execvp(sys.argv[2], sys.argv[2:])\n"
)


def spawn(command: Sequence[str], log: Path, **options: Any) -> subprocess.Popen[bytes]:
    """Start a server in a session of its own that ends when this process does."""
    leashed = [sys.executable, "-S", "-c", _LEASH, str(os.getpid()), *map(str, command)]
    with log.open("ab") as stream:
        return subprocess.Popen(
            leashed,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **options,
        )


def end(process: Optional[subprocess.Popen[Any]], timeout: float = 10.0) -> None:
    """SIGTERM, then SIGKILL to the whole session; returns when it is gone."""
    if process is None:
        return
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def descendants(pid: int) -> Iterator[int]:
    """`pid` and all processes below it."""
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from descendants(int(child))


def cpu_seconds(pid: int) -> float:
    """CPU time used so far by `pid` and its living children."""
    total = 0
    for one in descendants(pid):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / float(os.sysconf("SC_CLK_TCK"))


def remove(directory: Path) -> None:
    """Delete a part's directory."""
    shutil.rmtree(directory, ignore_errors=True)
