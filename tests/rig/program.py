"""capd as its users run it: a child process, its output, exit code, time and memory.

done = capd("--dump", "--json", config=daemon.snippet + placement.snippet, state=tmp_path)
assert done.code == 0, done.err
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Union

from tests.rig.base import REPOSITORY


@dataclass(frozen=True)
class Done:
    """How a run ended: wall time in seconds, the most resident memory in bytes."""

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


#: a small process between: what exec leaves of its parent's size in the child's count is small
_LAUNCH = """
import json, os, sys, time
begun = time.monotonic()
pid = os.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(pid, 0)
code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
with open(sys.argv[1], "w") as stream:
    json.dump([code, time.monotonic() - begun, usage.ru_maxrss * 1024], stream)
"""


def _run(
    words: Sequence[str], place: Path, env: Mapping[str, str], timeout: float, stdin: Optional[str]
) -> Done:
    with tempfile.NamedTemporaryFile("r", prefix="capd-run-") as result:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCH, result.name, *words],
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=str(place),
            env=env,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        code, seconds, peak = json.load(result)
    return Done(code, out, err, seconds, peak)
