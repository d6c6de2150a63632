"""One line of `capd --check`: what was looked at, how it came out, and the cure.

Made by the checks (`capd.check`, `capd.checkcloud`), printed by the command.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Optional

from capd.errors import CapdError


class Level(str, Enum):
    """How a check came out, the worst last."""

    PASS = "PASS"  # noqa: S105 - no password
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True)
class Finding:
    """One line: `subject` was checked, `text` is what was found, `cure` what to do about it."""

    level: Level
    subject: str
    text: str
    cure: Optional[str] = None


def good(subject: str, text: str) -> Finding:
    return Finding(Level.PASS, subject, text)


def warn(subject: str, text: str, cure: Optional[str] = None) -> Finding:
    return Finding(Level.WARN, subject, text, cure)


def fail(subject: str, error: CapdError) -> Finding:
    return Finding(Level.FAIL, subject, " ".join(str(error).split()), error.cure)
