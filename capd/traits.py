"""From facts to verdicts: which traits this host has, has not, or cannot tell.

A value is yes when a machine type claims it and libvirt's validation did not refuse it; no when
every machine type in question denies it or was refused; unknown otherwise. The names come from
`capd.table` through `capd.names`; reporting and matching use nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Callable, Optional

from capd import names
from capd.config import LibvirtSettings, TraitSettings
from capd.facts import Discovery, Machine, Source, Support, Trial
from capd.table import (
    ARCHITECTURES,
    CATEGORIES,
    COMPUTE_ARCH,
    CUSTOM,
    DEFAULT_MACHINES,
    FAMILIES,
    Category,
    Origin,
)
from capd.verdicts import Assessment, Verdict

Namer = Callable[[Category, str], Optional[str]]


def assess(discovery: Discovery, traits: TraitSettings, libvirt: LibvirtSettings) -> Assessment:
    """The verdict on every trait, with the operator's overrides applied."""
    judge = _Judge(discovery)
    verdicts: dict[str, Verdict] = {}
    for verdict in judge.everything(traits, libvirt):
        # two sources of one name: yes beats unknown beats no
        known = verdicts.get(verdict.name)
        if known is None or _RANK[verdict.support] > _RANK[known.support]:
            verdicts[verdict.name] = verdict
    problems = [
        *discovery.problems,
        *_missing_defaults(discovery, libvirt),
        *_no_architectures(discovery, traits, libvirt),
    ]
    for override in traits.overrides:
        if not known_name(override.trait):
            problems.append(
                f"{_label('[traits] override', traits.origins)}: {override.trait} is neither a "
                f"standard trait nor one of capd's ({CUSTOM}...); ignored"
            )
            continue
        support = Support.YES if override.present else Support.NO
        discovered = verdicts.get(override.trait)
        before = f", discovered as {discovered.support.value}" if discovered else ""
        verdicts[override.trait] = Verdict(
            override.trait, support, Source.OVERRIDE, f"set by the operator{before}"
        )
    vocabulary = tuple(sorted(name for name in verdicts if name.startswith(CUSTOM)))
    return Assessment(verdicts, vocabulary, discovery.complete, tuple(problems))


def known_name(trait: str) -> bool:
    """Whether a trait is one that capd could report: a standard one, or under its own prefix."""
    return trait in names.standard_names() or trait.startswith(CUSTOM)


def _missing_defaults(discovery: Discovery, libvirt: LibvirtSettings) -> Iterator[str]:
    """A slip in hw_machine_type takes all traits of the default family away."""
    if not discovery.complete:
        return
    option = _label("[libvirt] hw_machine_type", libvirt.origins)
    for arch, name in sorted(libvirt.machine_types.items()):
        there = {row.name for row in discovery.machines if row.arch == arch}
        if there and name not in there:
            yield (
                f"{option} = {arch}={name}, but this host has no such machine type: images that "
                "name none cannot start here"
            )


def _no_architectures(
    discovery: Discovery, traits: TraitSettings, libvirt: LibvirtSettings
) -> Iterator[str]:
    """Words in the configuration that no architecture is called by, here or anywhere else."""
    if not discovery.complete:
        return
    listed = {row.arch for row in discovery.machines}
    for option, words in (
        (_label("[libvirt] hw_machine_type", libvirt.origins), sorted(libvirt.machine_types)),
        (_label("[traits] emulated", traits.origins), traits.emulated),
    ):
        for word in words:
            if word not in listed and word not in ARCHITECTURES:
                yield (
                    f"{option}: {word} is no architecture by libvirt's name, so that nothing "
                    f"follows from it; this host has {', '.join(sorted(listed)) or 'none'}"
                )


def _label(option: str, origins: Mapping[str, Path]) -> str:
    """An option with the file that sets it, where that is known."""
    path = origins.get(option.rpartition(" ")[2])
    return f"{path}: {option}" if path else option


_RANK = {Support.NO: 0, Support.UNKNOWN: 1, Support.YES: 2}


def default_machine(discovery: Discovery, libvirt: LibvirtSettings, arch: str) -> Optional[str]:
    """The machine type an image without hw_machine_type gets here on `arch`.

    `[libvirt] hw_machine_type`, else Nova's own default, else libvirt's.
    """
    configured = libvirt.machine_types.get(arch) or DEFAULT_MACHINES.get(arch)
    if configured:
        return configured
    rows = (row for row in discovery.machines if row.arch == arch and row.default)
    return next((row.name for row in rows), None)


class _Judge:
    """Answers for one discovery."""

    def __init__(self, discovery: Discovery) -> None:
        self.discovery = discovery
        self.host = discovery.host
        self.silent = {one.path: one.error for one in discovery.emulators if one.error}
        families = {(row.arch, row.name): row.family for row in discovery.machines}
        self.trials: dict[tuple[str, str, str, str], Trial] = {
            (
                trial.arch,
                families.get((trial.arch, trial.machine), trial.machine),
                trial.category,
                trial.value,
            ): trial
            for trial in discovery.trials
        }

    def everything(self, traits: TraitSettings, libvirt: LibvirtSettings) -> Iterator[Verdict]:
        yield from self._architectures()
        rows = self._rows(self.host.arch)
        yield from self._values(rows, names.value_trait, False, "this host's machine types")
        yield from self._of_arch(self.host.arch, None, libvirt)
        for arch in traits.emulated:
            if arch != self.host.arch:
                yield from self._of_arch(arch, arch, libvirt)

    def _rows(self, arch: str) -> list[Machine]:
        """The machine types of `arch` under the virt type its instances get."""
        virt_type = self.host.virt_type_of(arch)
        return [
            row
            for row in self.discovery.machines
            if row.arch == arch and row.virt_type == virt_type
        ]

    def _of_arch(
        self, arch: str, prefix: Optional[str], libvirt: LibvirtSettings
    ) -> Iterator[Verdict]:
        """Machine types, families and the default family of one architecture."""
        rows = self._rows(arch)
        yield from (self._machine(row, prefix) for row in rows if row.name)
        for kin in FAMILIES.get(arch, ()):
            members = [row for row in rows if row.family == kin]
            namer = _family_namer(kin, prefix)
            yield from self._values(members, namer, True, f"the {kin} machine types")
        default = default_machine(self.discovery, libvirt, arch)
        members = [row for row in rows if row.name == default]
        label = f"the default machine type {default or '(none)'}"
        yield from self._values(members, _family_namer("DEFAULT", prefix), True, label)

    def _architectures(self) -> Iterator[Verdict]:
        listed: dict[str, list[Machine]] = {}
        for row in self.discovery.machines:
            listed.setdefault(row.arch, []).append(row)
        if self.host.arch:
            yield Verdict(
                names.host_arch_trait(self.host.arch),
                Support.YES,
                Source.CAPABILITIES,
                f"the host's architecture is {self.host.arch}",
            )
        for arch, rows in listed.items():
            usable = next((row for row in rows if row.error is None), None)
            yield Verdict(
                names.emulated_arch_trait(arch),
                Support.YES if usable else Support.UNKNOWN,
                Source.CAPABILITIES,
                f"{usable.emulator} runs {arch}" if usable else f"{arch}: {rows[0].error}",
            )
        seen = {names.emulated_arch_trait(arch) for arch in listed}
        for name in sorted(names.standard_names()):
            if name.startswith(COMPUTE_ARCH) and name not in seen:
                yield Verdict(
                    name, Support.NO, Source.CAPABILITIES, "libvirt lists no such architecture"
                )

    def _machine(self, row: Machine, prefix: Optional[str]) -> Verdict:
        name = names.machine_trait(row.name, prefix)
        if row.error is not None:
            return Verdict(name, Support.UNKNOWN, Source.DOMCAPS, f"{row.name}: {row.error}")
        note = ", deprecated" if row.deprecated else ""
        alias = f" (alias of {row.canonical})" if row.canonical != row.name else ""
        because = f"libvirt offers {row.name}{alias}{note}"
        return Verdict(name, Support.YES, Source.CAPABILITIES, because)

    def _values(
        self, rows: list[Machine], namer: Namer, per_family: bool, label: str
    ) -> Iterator[Verdict]:
        """A verdict on each value of each category, over `rows`."""
        for category in CATEGORIES:
            if category.custom is None or (per_family and not category.per_family):
                continue
            values = [value.name for value in category.values]
            for extra in sorted(_seen(rows, category) - set(values)):
                values.append(extra)
            for value in values:
                name = namer(category, value)
                if name is not None:
                    yield self._value(name, rows, category, value, label)

    def _value(
        self, name: str, rows: list[Machine], category: Category, value: str, label: str
    ) -> Verdict:
        if not rows:
            if not self.host.arch:
                because = "libvirt did not say what the host's architecture is"
                return Verdict(name, Support.UNKNOWN, Source.CAPABILITIES, because)
            because = f"libvirt offers none of {label} with {self.host.virt_type}"
            return Verdict(name, Support.NO, Source.CAPABILITIES, because)
        claimed: list[Machine] = []
        unknown: Optional[Machine] = None
        refusal: Optional[Trial] = None
        for row in rows:
            support = row.support(category.name, value)
            if support is Support.UNKNOWN:
                unknown = unknown or row
            elif support is Support.YES:
                trial = self.trials.get((row.arch, row.family, category.name, value))
                if trial is None or trial.refused is None:
                    claimed.append(row)
                else:
                    refusal = refusal or trial
        if claimed:
            return self._yes(name, claimed, category, value)
        if unknown is not None:
            because = f"{unknown.name or unknown.arch}: {self._why_unknown(unknown, category)}"
            return Verdict(name, Support.UNKNOWN, _source(unknown, category), because)
        if refusal is not None:
            because = f"{refusal.machine}: claimed, but libvirt refuses it: {refusal.refused}"
            return Verdict(name, Support.NO, Source.TRIAL, because)
        because = f"none of {label} offers {value}"
        return Verdict(name, Support.NO, _source(rows[0], category), because)

    def _why_unknown(self, row: Machine, category: Category) -> str:
        silent = self.silent.get(row.emulator) if category.origin is Origin.DEVICES else None
        return row.error or silent or "no source can tell"

    def _yes(self, name: str, claimed: list[Machine], category: Category, value: str) -> Verdict:
        best = next((row for row in claimed if row.alias), claimed[0])
        trial = self.trials.get((best.arch, best.family, category.name, value))
        checked = "accepted by libvirt" if trial is not None else "claimed, not tried"
        more = f" and {len(claimed) - 1} more" if len(claimed) > 1 else ""
        claim = best.claims[category.name]
        source = Source.TABLE if value in claim.table else claim.source
        return Verdict(name, Support.YES, source, f"{best.name or best.arch}{more}: {checked}")


def _seen(rows: Iterable[Machine], category: Category) -> set[str]:
    """Values claimed in `rows`; machine types share their claims, so each is looked at once."""
    seen: set[str] = set()
    done: set[int] = set()
    for row in rows:
        claim = row.claims.get(category.name)
        if claim is not None and id(claim) not in done:
            done.add(id(claim))
            seen |= claim.values or frozenset()
    return seen


def _source(row: Machine, category: Category) -> Source:
    claim = row.claims.get(category.name)
    return claim.source if claim is not None else Source.DOMCAPS


def _family_namer(kin: str, prefix: Optional[str]) -> Namer:
    return lambda category, value: names.family_trait(category, value, kin, prefix)
