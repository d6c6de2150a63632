"""The diagnostic for a person: the same pass as `capd.dump`, as tables and sentences.

In colour on a terminal, plain in a pipe; what is longest (the per-family traits) is shown as a
table of families against values instead of by name.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Optional

from capd.facts import Discovery, Machine, Support
from capd.plan import Plan
from capd.table import CATEGORIES, CUSTOM, FAMILIES, Category
from capd.verdicts import Assessment, Verdict

_COLOURS = {"green": 32, "red": 31, "yellow": 33, "bold": 1, "dim": 2}
_MARKS = {
    Support.YES: ("yes", "green"),
    Support.NO: ("-", "dim"),
    Support.UNKNOWN: ("?", "yellow"),
}
_WIDTH = 78
_LABEL = 24


class Painter:
    """Colours text, or leaves it alone."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def __call__(self, text: str, colour: str) -> str:
        if not self._colour:
            return text
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def render(
    discovery: Discovery,
    assessment: Assessment,
    plan: Optional[Plan],
    no_plan: str = "",
    colour: bool = False,
) -> str:
    """The whole text. `no_plan` says why there is no plan, where `plan` is None."""
    paint = Painter(colour)
    lines = [
        *_host(discovery, paint),
        *_families(discovery, paint),
        *_refused(discovery, paint),
        *_other_architectures(discovery, paint),
        *_traits(assessment, plan, paint),
        *_plan(plan, no_plan, paint),
        *_problems(assessment, paint),
    ]
    return "\n".join(lines) + "\n"


def _title(text: str, paint: Painter) -> list[str]:
    return ["", paint(text, "bold")]


def _host(discovery: Discovery, paint: Painter) -> Iterator[str]:
    host, cost = discovery.host, discovery.cost
    yield paint(
        f"{host.hostname}: {host.arch or 'unknown architecture'}, {host.virt_type}", "bold"
    )
    yield f"  libvirt {host.libvirt} at {host.uri}"
    yield (
        f"  {len(discovery.machines)} combinations of architecture, virt type and machine type, "
        f"{cost.libvirt_calls} libvirt calls, {cost.seconds:.2f} s"
    )
    yield from _title("Emulators", paint)
    versions: dict[str, list[str]] = {}
    for emulator in discovery.emulators:
        if emulator.error is None:
            versions.setdefault(emulator.version or "unknown version", []).append(emulator.path)
        else:
            yield f"  {emulator.path}  " + paint(emulator.error, "red")
    for version, paths in versions.items():
        yield f"  {version}"
        yield from _wrapped(paths, "      ")


def _families(discovery: Discovery, paint: Painter) -> Iterator[str]:
    """Families of the native architecture against buses and models."""
    host = discovery.host
    groups: dict[str, list[Machine]] = {}
    for row in discovery.machines:
        if row.arch == host.arch and row.virt_type == host.virt_type and row.name:
            groups.setdefault(row.family, []).append(row)
    known = [kin for kin in FAMILIES.get(host.arch, ()) if kin in groups]
    if not known:
        return
    yield from _title(f"Machine families of {host.arch} under {host.virt_type}", paint)
    for kin in known:
        yield "  " + _members(kin, groups[kin])
    width = max(9, *(len(kin) + 2 for kin in known))
    yield ""
    yield paint(" " * (_LABEL + 4) + "".join(f"{kin:<{width}}" for kin in known).rstrip(), "bold")
    refused = {(trial.category, trial.value, trial.machine) for trial in discovery.refusals()}
    for category in CATEGORIES:
        yield from _category(category, [groups[kin] for kin in known], refused, width, paint)
    yield paint("  yes: offered   -: not   x: claimed, but libvirt refuses it   ?: unknown", "dim")


def _members(kin: str, rows: list[Machine]) -> str:
    alias = next((row for row in rows if row.name != row.canonical), None)
    versions = [row.name for row in rows if row.name == row.canonical]
    current = f", now {alias.canonical}" if alias else ""
    old = [row.name for row in rows if row.deprecated]
    note = f", {len(old)} deprecated" if old else ""
    errors = sum(1 for row in rows if row.error)
    failed = f", {errors} unknown" if errors else ""
    types = "machine type" if len(versions) == 1 else "machine types"
    return f"{kin}: {len(versions)} {types}{current}{note}{failed}"


def _category(
    category: Category,
    groups: list[list[Machine]],
    refused: set[tuple[str, str, str]],
    width: int,
    paint: Painter,
) -> Iterator[str]:
    values = sorted(
        {value for rows in groups for row in rows for value in _known(row, category.name)}
    )
    if not values:
        return
    yield f"  {category.title}"
    for value in values:
        cells = []
        for rows in groups:
            text, colour = _cell(rows, category.name, value, refused)
            cells.append(paint(f"{text:<{width}}", colour))
        yield f"    {value:<{_LABEL}}" + "".join(cells).rstrip()


def _known(row: Machine, category: str) -> frozenset[str]:
    claim = row.claims.get(category)
    return frozenset() if claim is None else (claim.values or frozenset()) | claim.table


def _cell(
    rows: list[Machine], category: str, value: str, refused: set[tuple[str, str, str]]
) -> tuple[str, str]:
    if any((category, value, row.name) in refused for row in rows):
        return "x", "red"
    found = {row.support(category, value) for row in rows}
    for support in (Support.YES, Support.UNKNOWN):
        if support in found:
            return _MARKS[support]
    return _MARKS[Support.NO]


def _refused(discovery: Discovery, paint: Painter) -> Iterator[str]:
    reasons: dict[tuple[str, str], int] = {}
    for trial in discovery.refusals():
        key = (trial.machine, trial.refused or "")
        reasons[key] = reasons.get(key, 0) + 1
    if not reasons:
        return
    yield from _title("Claimed by libvirt or the emulator, refused by libvirt's validation", paint)
    for (machine, reason), number in reasons.items():
        values = "1 value" if number == 1 else f"{number} values"
        yield f"  {machine}: {reason} ({values})"


def _other_architectures(discovery: Discovery, paint: Painter) -> Iterator[str]:
    host = discovery.host
    counts: dict[tuple[str, str], list[int]] = {}
    for row in discovery.machines:
        if (row.arch, row.virt_type) != (host.arch, host.virt_type):
            entry = counts.setdefault((row.arch, row.virt_type), [0, 0])
            entry[0] += 1
            entry[1] += row.error is not None
    if not counts:
        return
    yield from _title("Other architectures and virt types", paint)
    items = [
        f"{arch} {virt_type} {number}" + (f" ({failed} failed)" if failed else "")
        for (arch, virt_type), (number, failed) in sorted(counts.items())
    ]
    yield from _wrapped(items, "  ", ", ")


def _wrapped(words: Iterable[str], indent: str, separator: str = " ") -> Iterator[str]:
    line = indent
    for word in words:
        if len(line) + len(word) > _WIDTH and line.strip():
            yield line.rstrip()
            line = indent
        line += word + separator
    if line.strip():
        yield line.rstrip().rstrip(",")


def _traits(assessment: Assessment, plan: Optional[Plan], paint: Painter) -> Iterator[str]:
    verdicts = assessment.verdicts
    yield from _title("Traits of the host", paint)
    family_names = [name for name in verdicts if _is_family(name)]
    for name in sorted(verdicts):
        if not _is_family(name):
            yield _trait_line(verdicts[name], paint)
    counts = dict.fromkeys(Support, 0)
    for name in family_names:
        counts[verdicts[name].support] += 1
    yield (
        f"  and {counts[Support.YES]} traits of machine types and families "
        f"({counts[Support.NO]} not, {counts[Support.UNKNOWN]} unknown): "
        "the table above, by name with --json"
    )
    if plan is not None and not plan.error:
        yield f"  on the provider now: {len(plan.owned)} of capd's, {len(plan.others)} of others"


def _is_family(name: str) -> bool:
    """Whether a trait is of a machine type or family rather than of the host."""
    if not name.startswith(CUSTOM):
        return False
    rest = name[len(CUSTOM) :]
    host_wide = tuple(category.custom for category in CATEGORIES if category.custom)
    return not rest.startswith((*host_wide, "ARCH_", "HW_ARCH_"))


def _trait_line(verdict: Verdict, paint: Painter) -> str:
    text, colour = _MARKS[verdict.support]
    return (
        f"  {paint(f'{text:<4}', colour)}{verdict.name:<42} "
        f"{paint(f'{verdict.source.value}: {verdict.because}', 'dim')}"
    )


def _plan(plan: Optional[Plan], no_plan: str, paint: Painter) -> Iterator[str]:
    yield from _title("Placement", paint)
    if plan is None:
        yield f"  {no_plan or 'not configured'}"
        return
    last = "not yet reported"
    if plan.reported_at is not None:
        last = f"last reported {time.strftime('%F %T UTC', time.gmtime(plan.reported_at))}"
    if plan.error:
        yield "  " + paint(plan.error, "red")
        yield f"  {last}"
        return
    who = f"provider {plan.name}" + (f" ({plan.provider})" if plan.provider else "")
    if plan.creates:
        yield f"  {who} does not exist yet and will be created, by {plan.how}"
    else:
        yield f"  {who}, by {plan.how}, generation {plan.generation}"
    yield f"  {last}"
    for names, sign, colour, text in (
        (plan.add, "+", "green", "to add"),
        (plan.remove, "-", "red", "to remove"),
        (plan.pending, "~", "yellow", "to remove if the next pass denies them too"),
        (plan.contested, "!", "yellow", "contested: another agent undid capd's work, it yields"),
        (plan.disagree, "#", "yellow", "claimed by another agent, but this host cannot do it"),
        (plan.unknown_to_placement, "?", "yellow", "not known to this Placement's os-traits"),
    ):
        if names:
            yield f"  {len(names)} {text}:"
            yield from (f"    {paint(sign, colour)} {name}" for name in names)
    if plan.empty:
        yield "  nothing to change"


def _problems(assessment: Assessment, paint: Painter) -> Iterator[str]:
    if assessment.problems:
        yield from _title("Problems", paint)
        yield from (f"  {paint('!', 'red')} {problem}" for problem in assessment.problems)
