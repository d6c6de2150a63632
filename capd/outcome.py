"""What a pass came to: the `Report`, and the lines about it that are worth logging.

From `capd.report` to the daemon, `--once`, `--withdraw`, the metrics and the status line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Optional

from capd.plan import Plan

_NAMES_IN_LINE = 12


@dataclass
class Pass:
    """What has happened so far in one pass; `lacking` are names Placement does not have."""

    added: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    changes: list[str] = field(default_factory=list)
    lacking: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Report:
    """What a pass did.

    `plan` is what is left: empty of additions and removals if all is as it should be, and with
    `error` set if the pass failed. `added` and `removed` were written. `changes` are the lines
    worth logging: empty when nothing changed since the pass before. `problems` failed without
    stopping the pass. `requests` counts what Placement was asked (tokens apart).
    """

    plan: Plan
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    requests: int = 0

    @property
    def error(self) -> Optional[str]:
        """One line, with the cure where one is known; None if the pass went through."""
        return self.plan.error

    @property
    def ok(self) -> bool:
        """Whether everything that was to be reported is."""
        return not (self.error or self.problems or self.plan.unknown_to_placement)


def joined(early: Optional[Report], last: Report) -> Report:
    """`last` with what an early report of the same pass had done already."""
    if early is None:
        return last
    return replace(
        last,
        added=early.added + last.added,
        changes=tuple(dict.fromkeys(early.changes + last.changes)),
        requests=early.requests + last.requests,
    )


def news(before: Plan, now: Plan, added: Iterable[str], removed: Iterable[str]) -> list[str]:
    """The lines that tell this pass from the one before it; none if nothing changed."""
    if now.error:
        return [now.error] if now.error != before.error else []
    lines = ["reporting works again"] if before.error else []
    if now.provider != before.provider or now.how != before.how:
        lines.append(f"provider {now.name} ({now.provider}), by {now.how}")
    for label, names in (("added", {*added}), ("removed", {*removed})):
        if names:
            traits = "trait" if len(names) == 1 else "traits"
            lines.append(f"{label} {len(names)} {traits}: {_some(names)}")
    fresh = set(now.disagree) - set(before.disagree)
    if fresh:
        lines.append(f"claimed by another agent, but not so: {_some(fresh)}; left alone")
    fresh = set(now.unknown_to_placement) - set(before.unknown_to_placement)
    if fresh:
        lines.append(f"unknown to this Placement, so not reported: {_some(fresh)}")
    return lines


def _some(names: Iterable[str]) -> str:
    """Names for one line of the log."""
    listed = sorted(names)
    more = f" and {len(listed) - _NAMES_IN_LINE} more" if len(listed) > _NAMES_IN_LINE else ""
    return ", ".join(listed[:_NAMES_IN_LINE]) + more
