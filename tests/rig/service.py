"""capd's daemon as a child process, with this process in the place of systemd.

with Service(directory, libvirtd.snippet + placement.snippet) as service:
    service.wait("a good pass", service.passed)
    assert "libvirt fails" in service.status

It has a NOTIFY_SOCKET, so what it tells systemd is known: `ready`, `status`, when it pings.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Optional

from tests.rig.base import tail, wait_for
from tests.rig.program import command, environment, write_config


class Service:
    """One running daemon. `watchdog` in seconds; `text` is its configuration."""

    def __init__(
        self,
        directory: Path,
        text: str,
        *,
        watchdog: float = 0.0,
        env: Optional[Mapping[str, str]] = None,
        prefix: Sequence[str] = (),
        state: Optional[Path] = None,
    ) -> None:
        self.directory = directory
        self.ready: Optional[float] = None
        self.status = ""
        self.messages: list[tuple[float, str]] = []
        self.log = directory / "capd.log"
        self._config = write_config(directory, text)
        if state is not None:
            written = self._config.read_text().replace(str(directory / "state"), str(state))
            self._config.write_text(written)
        self._env = {**environment(), **(env or {})}
        if watchdog:
            self._env["WATCHDOG_USEC"] = str(int(watchdog * 1e6))
        self._prefix = prefix
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._process: Optional[subprocess.Popen[bytes]] = None

    def __enter__(self) -> Service:
        path = self.directory / "notify"
        path.unlink(missing_ok=True)
        self._socket.bind(str(path))
        self._env["NOTIFY_SOCKET"] = str(path)
        threading.Thread(target=self._listen, daemon=True).start()
        self.start()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.kill()
        self._socket.close()

    def start(self) -> None:
        """Start the daemon (again)."""
        self.ready = None
        with self.log.open("ab") as stream:
            self._process = subprocess.Popen(
                [*self._prefix, *command("--config-file", self._config)],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env=self._env,
                cwd=str(self.directory),
            )

    def stop(self) -> tuple[int, float]:
        """SIGTERM; exit code and the seconds it took."""
        assert self._process is not None
        begun = time.monotonic()
        self._process.terminate()
        return self._process.wait(30), time.monotonic() - begun

    def kill(self) -> None:
        """SIGKILL, as a crash would end it."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def reload(self) -> None:
        """SIGHUP."""
        os.kill(self.pid, signal.SIGHUP)

    def configure(self, old: str, new: str) -> None:
        """Change the configuration file."""
        text = self._config.read_text()
        assert old in text
        self._config.write_text(text.replace(old, new))

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def text(self) -> str:
        """What it logged."""
        return self.log.read_text(errors="replace")

    def passed(self) -> bool:
        """Whether the last pass was good and nothing is wrong now."""
        return "last good pass" in self.status and not (
            "none yet" in self.status or " fails: " in self.status
        )

    def passes(self, count: int, timeout: float = 60) -> None:
        """Wait until that many more passes have begun and ended."""
        seen = self.begun()
        self.wait(f"{count} passes", lambda: self.begun() >= seen + count + 1, timeout)

    def begun(self) -> int:
        """Passes that have begun, by what was told."""
        return sum("now: connecting to libvirt" in text for _, text in list(self.messages))

    def wait(self, what: str, ready: Callable[[], Any], timeout: float = 60) -> Any:
        """Wait until `ready`; Broken, with the log, after `timeout` s or if the daemon ended."""
        return wait_for(what, ready, timeout, lambda: self.running, self.log)

    def failing(self, stage: str, word: str = "", timeout: float = 60) -> None:
        """Wait until the status says that `stage` fails, with `word`."""
        self.wait(
            f"{stage} to fail",
            lambda: f"{stage} fails: " in self.status and word in self.status,
            timeout,
        )

    def pings(self) -> list[float]:
        """The times of its pings."""
        return [at for at, text in list(self.messages) if text == "WATCHDOG=1"]

    def resources(self) -> tuple[int, int, int]:
        """Descriptors, threads, resident kB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        resident = int(fields["VmRSS"].split()[0])
        return len(os.listdir(f"/proc/{self.pid}/fd")), int(fields["Threads"]), resident

    def explain(self) -> str:
        """The end of the log, for a failed assertion."""
        return tail(self.log)

    def _listen(self) -> None:
        while True:
            try:
                text = self._socket.recv(65536).decode(errors="replace")
            except OSError:
                return
            if not text:
                return
            now = time.monotonic()
            self.messages.append((now, text))
            for line in text.splitlines():
                if line.startswith("STATUS="):
                    self.status = line[7:]
                elif line == "READY=1" and self.ready is None:
                    self.ready = now
