"""Nova's own code from PyPI: its Python, nova-manage, and scripts run within it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from tests.rig.base import Broken, peer_python

_QUIET = {"PYTHONWARNINGS": "ignore"}


def python() -> Path:
    """The interpreter in whose environment Nova is installed; Unavailable if it is not."""
    return peer_python("nova")


def manage_program() -> Path:
    """nova-manage."""
    return python().with_name("nova-manage")


def manage(*arguments: str, config: Optional[Path] = None) -> subprocess.CompletedProcess[str]:
    """Run nova-manage; the caller looks at `returncode`, `stdout` and `stderr`."""
    command = [str(manage_program())]
    if config is not None:
        command += ["--config-file", str(config)]
    return subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **_QUIET},
    )


def run(
    script: str,
    *arguments: str,
    env: Optional[Mapping[str, str]] = None,
    timeout: Optional[float] = None,
) -> str:
    """Run a script text in Nova's Python; its standard output. Broken when it fails."""
    done = subprocess.run(
        [str(python()), "-c", script, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **_QUIET, **(env or {})},
        timeout=timeout,
    )
    if done.returncode != 0:
        raise Broken(f"script in Nova's Python: exit {done.returncode}\n{done.stderr[-4000:]}")
    return done.stdout


def call(script: str, *arguments: str, **options: Any) -> Any:
    """Run a script that prints one JSON document as its last line, and return that."""
    return json.loads(run(script, *arguments, **options).splitlines()[-1])
