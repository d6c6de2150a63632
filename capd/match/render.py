"""Answers as text for a terminal and as one JSON document.

From a translation and what Placement said of it to lines and to plain data; no I/O.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Optional

from capd.errors import visible
from capd.match.candidates import Request
from capd.match.explain import Explanation, Finding
from capd.match.guest import DEFAULT
from capd.match.hosts import Answer, Count, Host, Reject
from capd.match.outcomes import MACHINE, Ask, Outcome, Status, Translation

#: hosts of one kind that are listed in text; `--json` has all
_LISTED = 20
_LONGEST_VALUE = 40


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns aligned; the last one is left as it is."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in shown]


def asked(translation: Translation, answer: Optional[Answer] = None) -> list[str]:
    """One line per property and trait, with the number of hosts that have it."""
    if not translation.outcomes:
        return ["No properties: any host will do."]
    counts = {count.trait: count for count in answer.counts} if answer else {}
    rows = [["PROPERTY", "VALUE", "RESULT", "TRAIT OR REASON", "HOSTS"]]
    if not counts:
        rows[0].pop()
    for outcome in translation.outcomes:
        for text in _lines(outcome):
            row = [outcome.name, _short(outcome.value), _result(outcome), text]
            count = counts.get(text.lstrip("!"))
            if counts:
                row.append(_count(count) if count else "")
            rows.append(row)
    return table(rows)


def hosts(translation: Translation, answer: Answer) -> list[str]:
    """Which hosts fit, and why the others do not."""
    lines = _zeros(translation, answer)
    silent = [reject for reject in answer.rejects if reject.silent]
    others = [reject for reject in answer.rejects if not reject.silent]
    least = "at least " if answer.limited else ""
    number = "1 host" if answer.hosts == 1 else f"{answer.hosts} hosts"
    lines.append(
        f"{number}: {least}{len(answer.fits)} fit, {len(others)} do not, "
        f"{len(silent)} not reporting"
    )
    if answer.limited:
        lines.append(
            f"Placement was asked for {answer.limited} candidates, as Nova's scheduler does; "
            "there may be more."
        )
    if answer.fits:
        lines += ["", "These fit:", *_names(answer.fits)]
    if others:
        lines += ["", "These do not:"]
        for reason, some in _by_reason(others):
            lines += [f"  {reason}", *("  " + name for name in _names(some))]
    if silent:
        lines += ["", "These run no capd, or it has not reported yet:"]
        lines += _names([reject.host for reject in silent])
    return lines


def explanation(found: Explanation) -> list[str]:
    """One host, property by property."""
    verdict = "fits" if found.fits else "does not fit"
    lines = [f"{found.name} ({found.uuid}) {verdict}."]
    if not found.reporting:
        lines.append("It has no trait of capd's: capd is not running there or has not reported.")
    rows = [["PROPERTY", "WANTED", "TRAIT", "HOST SAYS", "OFFERS INSTEAD"]]
    for finding in found.findings:
        sign = "!" if finding.ask.forbidden else ""
        rows.append(
            [
                finding.outcome.name,
                _wanted(finding),
                sign + finding.ask.trait,
                finding.said.value,
                ", ".join(finding.instead),
            ]
        )
    return lines + (table(rows) if found.findings else ["Nothing is asked of it."])


def document(
    translation: Translation, request: Optional[Request], answer: Optional[Answer]
) -> dict[str, Any]:
    """The whole answer as plain data."""
    result: dict[str, Any] = {
        "schema": 1,
        "mode": "exact" if translation.exact else "standard",
        "properties": [_property(outcome) for outcome in translation.outcomes],
        "required": list(translation.required),
        "forbidden": list(translation.forbidden),
        "resources": dict(request.resources) if request else {},
    }
    if answer is not None:
        result.update(
            counts=[
                {
                    "trait": count.trait,
                    "hosts": count.hosts,
                    "known": count.known,
                    "forbidden": count.forbidden,
                    "elsewhere": count.elsewhere,
                }
                for count in answer.counts
            ],
            fits=[{"name": host.name, "uuid": host.uuid} for host in answer.fits],
            rejects=[_reject(reject) for reject in answer.rejects],
            limited=answer.limited,
            requests=answer.requests,
        )
    return result


def explanation_document(found: Explanation) -> dict[str, Any]:
    """One host as plain data."""
    return {
        "name": found.name,
        "uuid": found.uuid,
        "fits": found.fits,
        "reporting": found.reporting,
        "findings": [
            {
                "property": finding.outcome.name,
                "wanted": finding.ask.value or finding.outcome.value,
                "trait": finding.ask.trait,
                "forbidden": finding.ask.forbidden,
                "said": finding.said.value,
                "good": finding.good,
                "instead": list(finding.instead),
            }
            for finding in found.findings
        ],
    }


def json_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """A document as JSON text, each element of a list on a line of its own.

    Ten thousand hosts are written so in a tenth of the time that indenting takes.
    """
    yield "{"
    last = len(document) - 1
    for number, (key, value) in enumerate(document.items()):
        comma = "," if number < last else ""
        if isinstance(value, list) and value:
            yield f" {json.dumps(key)}: ["
            yield ",\n".join(f"  {json.dumps(one)}" for one in value)
            yield f" ]{comma}"
        else:
            yield f" {json.dumps(key)}: {json.dumps(value)}{comma}"
    yield "}"


def complaint(outcome: Outcome) -> str:
    """One line about a property that is wrong, with the right values."""
    choices = f" (one of: {', '.join(outcome.choices)})" if outcome.choices else ""
    return visible(f"{outcome.name}={_short(outcome.value)}: {outcome.note}{choices}")


def _zeros(translation: Translation, answer: Answer) -> list[str]:
    """Traits that no host has, loudly, with the properties that ask for them together."""
    lines = []
    machine = next(
        (one for one in translation.outcomes if any(ask.category == MACHINE for ask in one.asks)),
        None,
    )
    for count in answer.counts:
        if count.hosts or count.forbidden:
            continue
        asks = []
        for one in translation.outcomes:
            ask = next((ask for ask in one.asks if ask.trait == count.trait), None)
            if ask is not None:
                by = [machine] if machine is not None and _of_family(ask) else []
                asks.append(", ".join(f"{each.name}={_short(each.value)}" for each in (*by, one)))
        unknown = "" if count.known else ", and Placement does not know it"
        lines.append(f"NO HOST has {count.trait}{unknown} (asked by {'; '.join(asks)}).")
        if count.elsewhere:
            lines.append(f"  Hosts have {count.elsewhere}, but with other machine types only.")
    return [*lines, ""] if lines else []


def _of_family(ask: Ask) -> bool:
    """Whether the machine type that was named has a part in what is asked for."""
    return ask.scope is not None and ask.scope.family not in (None, DEFAULT)


def _by_reason(rejects: Iterable[Reject]) -> list[tuple[str, list[Host]]]:
    """Hosts with the same reason together, the most hosts first."""
    groups: dict[str, list[Host]] = {}
    for reject in rejects:
        parts = [f"lacks {', '.join(reject.missing)}"] if reject.missing else []
        parts += [f"has forbidden {', '.join(reject.forbidden)}"] if reject.forbidden else []
        parts += ["has the traits but not the free resources"] if reject.full else []
        groups.setdefault("; ".join(parts), []).append(reject.host)
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))


def _names(some: Sequence[Host]) -> list[str]:
    lines = [f"  {host.name}" for host in some[:_LISTED]]
    if len(some) > _LISTED:
        lines.append(f"  ... and {len(some) - _LISTED} more (--json lists all)")
    return lines


def _lines(outcome: Outcome) -> list[str]:
    """What stands in the fourth column: traits, else the reason why there is none."""
    if not outcome.asks:
        return [outcome.note]
    lines = [("!" if ask.forbidden else "") + ask.trait for ask in outcome.asks]
    return lines + ([f"({outcome.note})"] if outcome.note else [])


def _result(outcome: Outcome) -> str:
    return "ERROR" if outcome.status is Status.ERROR else outcome.status.value


def _count(count: Count) -> str:
    if count.hosts or count.forbidden:
        return str(count.hosts)
    return "0 NO HOST" if count.known else "0 UNKNOWN TRAIT"


def _wanted(finding: Finding) -> str:
    if finding.ask.category is None:
        return finding.outcome.value
    return finding.ask.value or ""


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST_VALUE else value[: _LONGEST_VALUE - 3] + "..."


def _property(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "value": outcome.value,
        "canonical": outcome.canonical,
        "origin": outcome.origin.value,
        "status": outcome.status.value,
        "traits": [_ask(ask) for ask in outcome.asks],
        "note": outcome.note,
        "choices": list(outcome.choices),
    }


def _ask(ask: Ask) -> dict[str, Any]:
    return {"trait": ask.trait, "forbidden": ask.forbidden}


def _reject(reject: Reject) -> dict[str, Any]:
    return {
        "name": reject.host.name,
        "uuid": reject.host.uuid,
        "missing": list(reject.missing),
        "forbidden": list(reject.forbidden),
        "reporting": not reject.silent,
        "full": reject.full,
    }
