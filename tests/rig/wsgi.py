"""A peer's WSGI service over HTTP on loopback: start, stop, pause, count requests."""

from __future__ import annotations

import os
import signal
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Optional

from tests.rig.base import (
    Broken,
    cpu_seconds,
    descendants,
    end,
    listen,
    peer_python,
    remove,
    spawn,
    tail,
    temporary,
    wait_for,
)

#: how requests of the rig itself are told apart
_AGENT = "capd-rig"

_SERVE = Path(__file__).with_name("serve.py")


@dataclass(frozen=True)
class Request:
    """One line of the access log; `bytes_out` without headers, `seconds` within the server."""

    method: str
    target: str
    status: int
    bytes_out: int
    seconds: float
    user_agent: str


class Service:
    """Base of Placement and keystone: subclasses configure and say what to serve."""

    peer: ClassVar[str]
    application: ClassVar[str]

    #: bytes of a request line that the server takes, 0 for any: nova-compute's are long
    line_limit = 0

    def __init__(self, *, workers: int = 1, threads: int = 8) -> None:
        self.workers = workers
        self.threads = threads
        self.root = Path()
        self.port = 0
        self._server: Optional[subprocess.Popen[bytes]] = None

    # -- for subclasses

    def configure(self) -> None:
        """Write configuration into `self.root` and prepare the database (once)."""
        raise Broken(f"{type(self).__name__} has no configuration")

    def environment(self) -> Mapping[str, str]:
        """Variables by which the peer finds its configuration."""
        return {}

    # -- where it is

    @property
    def url(self) -> str:
        """Base address, with no slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """What the server printed."""
        return self.root / "server.log"

    @property
    def python(self) -> Path:
        """The peer's own interpreter."""
        return peer_python(self.peer)

    # -- life

    def start(self) -> Any:
        """Configure and serve; returns self when it answers."""
        self.python  # noqa: B018 - raises Unavailable before anything is made
        self.root = temporary(self.peer)
        try:
            with listen() as sock:
                self.port = sock.getsockname()[1]
            self.configure()
            self.launch()
        except BaseException:
            self.stop()
            raise
        return self

    def launch(self) -> None:
        """Serve (again, after `down`), at the same port."""
        self.access_log.touch()
        with listen(self.port) as sock:
            sock.set_inheritable(True)
            command = [self.python, "-I", _SERVE, self.application, sock.fileno()]
            command += [self.workers, self.threads, self.access_log, self.line_limit]
            self._server = spawn(
                command,  # type: ignore[arg-type]
                self.log,
                pass_fds=[sock.fileno()],
                env={**os.environ, **self.environment()},
                cwd=str(self.root),
            )
        server = self._server
        wait_for(
            self.peer, self._answers, timeout=60, alive=lambda: server.poll() is None, log=self.log
        )

    def _answers(self, path: str = "/") -> bool:
        import requests

        try:
            answer = requests.get(self.url + path, timeout=60, headers={"User-Agent": _AGENT})
        except requests.RequestException:
            return False
        return answer.status_code < 500

    def down(self) -> None:
        """Stop serving; the database stays. Connections are refused until `launch`."""
        end(self._server, timeout=0.1)
        self._server = None

    def stop(self) -> None:
        """Stop and delete everything."""
        self.down()
        if self.root != Path():
            remove(self.root)
            self.root = Path()

    def pause(self) -> None:
        """Accept (the kernel does) and never answer, until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after `pause`."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._server is not None
        for pid in descendants(self._server.pid):
            os.kill(pid, number)

    def __enter__(self) -> Any:
        return self.start()

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.stop()

    # -- what happened

    @property
    def access_log(self) -> Path:
        """One line per request, when it has been answered."""
        return self.root / "access.log"

    def requests(self) -> list[Request]:
        """All requests answered so far; the rig's own are not among them."""
        self._flush()
        result = []
        for line in self.access_log.read_text().splitlines():
            method, first, status, size, micros, agent = line.split("\t")
            target = first.split(" ")[1]
            if agent == _AGENT:
                continue
            result.append(
                Request(method, target, int(status), int(size), int(micros) / 1e6, agent)
            )
        return result

    def _flush(self) -> None:
        """A line is written after its answer is sent: wait for the line of one more request."""
        mark = f"/?{uuid.uuid4().hex}"
        if self._server is None or not self._answers(mark):
            return
        wait_for("access log", lambda: mark in self.access_log.read_text())

    def forget_requests(self) -> None:
        """Count from here."""
        self._flush()
        os.truncate(self.access_log, 0)

    def cpu_seconds(self) -> float:
        """CPU time of the server and its workers so far."""
        assert self._server is not None
        return cpu_seconds(self._server.pid)

    # -- within

    def execute(self, *arguments: str, script: Optional[str] = None) -> str:
        """Run the peer's Python with its configuration; output. Broken when it fails."""
        command = [str(self.python), *arguments]
        if script is not None:
            command += ["-c", script]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **self.environment()},
            cwd=str(self.root),
        )
        if done.returncode != 0:
            text = f"{self.peer}: exit {done.returncode}\n{done.stderr[-3000:]}"
            raise Broken(text + tail(self.log))
        return done.stdout
