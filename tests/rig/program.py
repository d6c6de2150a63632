"""capd as its users run it: a child process, its output, exit code, time and memory.

done = capd("--dump", "--json", config=daemon.snippet + placement.snippet, state=tmp_path)
assert done.code == 0, done.err
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from tests.rig.base import REPOSITORY


@dataclass(frozen=True)
class Done:
    """How a run ended. `peak` is the most memory it had resident, in bytes; `seconds` wall time."""

    code: int
    out: str
    err: str
    seconds: float
    peak: int


def environment(measured: bool = False) -> dict[str, str]:
    """For a child that imports this checkout's capd; `measured`: without coverage's own cost."""
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    if measured:
        for name in ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "COVERAGE_FILE"):
            env.pop(name, None)
    return env


def command(*arguments: Union[str, Path]) -> list[str]:
    """The command line of capd with these arguments."""
    return [sys.executable, "-m", "capd", *map(str, arguments)]


def write_config(directory: Path, text: str) -> Path:
    """A capd.conf (0600) in `directory` with a state directory beside it."""
    path = directory / "capd.conf"
    path.touch(mode=0o600)
    path.write_text(f"[DEFAULT]\nstate_dir = {directory / 'state'}\n{text}")
    return path


def capd(
    *arguments: Union[str, Path],
    config: Optional[str] = None,
    directory: Optional[Path] = None,
    env: Optional[Mapping[str, str]] = None,
    timeout: float = 120.0,
    measured: bool = False,
    prefix: Sequence[str] = (),
    stdin: Optional[str] = None,
) -> Done:
    """Run capd and wait for it.

    `config`: sections for a capd.conf that is made in `directory` (default: a new temporary one)
    with its state there too; None passes no --config-file. `prefix`: a program to run it under.
    """
    with tempfile.TemporaryDirectory(prefix="capd-run-") as temporary:
        place = directory or Path(temporary)
        given: list[Union[str, Path]] = []
        if config is not None:
            given = ["--config-file", write_config(place, config)]
        words = [*prefix, *command(*given, *arguments)]
        return _run(words, place, {**environment(measured), **(env or {})}, timeout, stdin)


def _run(
    words: Sequence[str], place: Path, env: Mapping[str, str], timeout: float, stdin: Optional[str]
) -> Done:
    """Through files and wait4, for the exact memory of this one child."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as out:
        given.write(stdin or "")
        given.seek(0)
        with tempfile.TemporaryFile("w+") as err:
            begun = time.monotonic()
            process = subprocess.Popen(
                words, stdin=given, stdout=out, stderr=err, cwd=str(place), env=env
            )
            handle = os.pidfd_open(process.pid)
            try:
                ready = select.select([handle], [], [], timeout)[0]
                seconds = time.monotonic() - begun
                if not ready:
                    process.kill()
                _, status, usage = os.wait4(process.pid, 0)
            finally:
                os.close(handle)
            process.returncode = code = _exit_code(status)
            out.seek(0)
            err.seek(0)
            texts = out.read(), err.read()
    if not ready:
        raise subprocess.TimeoutExpired(list(words), timeout, *texts)
    return Done(code, *texts, seconds, usage.ru_maxrss * 1024)


def _exit_code(status: int) -> int:
    """As subprocess counts: negative for a signal."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
