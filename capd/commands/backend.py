"""What `image-property` needs of the place where image properties are kept.

Two places offer it: this host (`capd.commands.local`) and Nova's databases
(`capd.commands.nova`). `capd.commands.image_property` chooses one and prints what it answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Protocol


@dataclass(frozen=True)
class Listing:
    """What `list` shows: a JSON document per instance, or a table; `notes` and, with the table,
    the `legend` go to standard error.

    `exit_code` is not 0 where the question itself was whether something is wrong.
    """

    documents: Sequence[Mapping[str, Any]]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    legend: str = ""
    notes: Sequence[str] = ()
    exit_code: int = 0


@dataclass(frozen=True)
class Shown:
    """One property's value; `document` is the whole answer, `notes` go to standard error."""

    value: str
    document: Mapping[str, Any]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Changed:
    """What `set` or `restore` did, in sentences; `document` is the instance as it is now."""

    messages: Sequence[str]
    warnings: Sequence[str]
    document: Mapping[str, Any]


class Backend(Protocol):
    """A place where image properties are kept. Methods raise CapdError with the exit code."""

    def list(self, instance: Optional[str]) -> Listing:
        """All instances, or one."""

    def show(self, instance: str, name: str) -> Shown:
        """One property of one instance."""

    def set(self, instance: str, assignments: Sequence[str], force: bool) -> Changed:
        """Set all `assignments` (NAME=VALUE) or none."""
