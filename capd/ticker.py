"""Progress on standard error while something long goes on.

On a terminal one line is rewritten, with the seconds that a stage has taken, also while libvirt
answers nothing; elsewhere a line is written for each stage that takes longer than a moment, so
that logs of quick runs stay empty.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Optional, TextIO

#: seconds before anything is shown at all
_PATIENCE = 1.0
_TICK = 0.5


class Ticker:
    """A progress callback for `capd.discover`, shown until the end of the `with` block."""

    def __init__(self, stream: Optional[TextIO] = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._stage = ""
        self._done = self._total = 0
        self._begun = time.monotonic()
        self._shown = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="capd-ticker", daemon=True)

    def __enter__(self) -> Ticker:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self._terminal and self._shown:
            self._write("\r\x1b[K")

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` steps of `stage` are over; 0 of 0 where there are no steps."""
        if stage != self._stage:
            self._begun = time.monotonic()
        self._stage, self._done, self._total = stage, done, total

    def _run(self) -> None:
        while not self._stop.wait(_TICK):
            seconds = time.monotonic() - self._begun
            if not self._stage or seconds < _PATIENCE:
                continue
            count = f" {self._done}/{self._total}" if self._total else ""
            if self._terminal:
                self._shown = f"capd: {self._stage}{count} ({seconds:.0f} s)"
                self._write(f"\r\x1b[K{self._shown}")
            elif self._stage != self._shown:
                self._shown = self._stage
                self._write(f"capd: {self._stage} ...\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._stop.set()
