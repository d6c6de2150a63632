"""Looking at records: what is written down, how the domains stand now, what this host can do.

For `image-property list`, `show`, `export` and for `diff`. Nothing is written: a domain that no
daemon has recorded yet is shown as it would be. Where libvirt cannot be reached the records alone
are shown, and what follows from the rest is not claimed.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

from capd import recording
from capd.config import Settings
from capd.discover import Progress, quiet
from capd.errors import CapdError, InstanceNotFound, InstanceState, LibvirtError
from capd.facts import Discovery
from capd.hypervisor import Hypervisor
from capd.records import domains, drift, export, hostfacts, reading, records
from capd.records.ability import Ability
from capd.records.entry import Entry
from capd.records.reading import Domain
from capd.records.records import Record
from capd.records.recordstore import RecordStore
from capd.store import DATABASE, Store


@dataclass(frozen=True)
class Overview:
    """What was found. `live` and `judged` say whether drift and support could be looked at;
    `problems` are one sentence each."""

    entries: tuple[Entry, ...]
    live: bool
    judged: bool
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Views:
    """Three places that may differ on one property: record, domain, and Nova's metadata."""

    name: str
    recorded: str
    source: str
    domain: Optional[str]
    image: Optional[str]

    @property
    def conflict(self) -> bool:
        """Whether they do."""
        return len({self.recorded, self.domain, self.image} - {None}) > 1


def overview(
    settings: Settings,
    instance: Optional[str] = None,
    *,
    source: Optional[Path] = None,
    judge: bool = True,
    progress: Progress = quiet,
) -> Overview:
    """Every instance, or the one of that uuid or libvirt name.

    `source` is a recorded host whose facts are to be used instead of this one's; `judge` says
    whether to ask for facts at all. Raises InstanceNotFound, StoreError, RecordingError.
    """
    with Store(settings.state_dir / DATABASE, read_only=True) as store:
        known = RecordStore(store).all()
    problems: list[str] = []
    found: Optional[dict[str, Domain]] = None
    discovery = recording.load(source, settings, progress) if source is not None else None
    hypervisor = Hypervisor(settings.libvirt)
    try:
        hypervisor.open()
        found = _domains(hypervisor, problems)
        if judge and discovery is None:
            wanted = _wanted(known.values(), found.values())
            discovery = hostfacts.ask(hypervisor, settings, wanted, progress)
    except LibvirtError as error:
        problems.append(error.line())
    finally:
        hypervisor.close()
    entries = tuple(_entries(known, found or {}, discovery))
    if instance is not None:
        entries = _of(entries, instance)
    return Overview(entries, found is not None, discovery is not None, tuple(problems))


def in_files(
    settings: Settings, files: Iterable[Path], source: Optional[Path] = None
) -> tuple[tuple[Entry, ...], tuple[CapdError, ...]]:
    """What would be recorded of domain XML in files, with a recorded host's facts if given.

    A file that cannot be read is an error beside the others. Raises RecordingError.
    """
    discovery = recording.load(source, settings) if source is not None else None
    ability = Ability(discovery)
    entries: list[Entry] = []
    errors: list[CapdError] = []
    for path in files:
        try:
            domain = reading.read_file(path)
        except CapdError as error:
            errors.append(error)
            continue
        entries.append(_unwritten(domain, ability))
    return tuple(entries), tuple(errors)


def exported(settings: Settings, instance: Optional[str] = None) -> Iterator[str]:
    """The records of this host, or one, as lines of JSON (`capd.records.export`).

    Raises InstanceNotFound, StoreError.
    """
    with Store(settings.state_dir / DATABASE, read_only=True) as store:
        recordstore = RecordStore(store)
        known = [recordstore.find(instance)] if instance else list(recordstore.all().values())
    hypervisor = Hypervisor(settings.libvirt)
    try:
        hypervisor.open()
        host = hypervisor.hostname()
    except LibvirtError:
        host = socket.gethostname()
    finally:
        hypervisor.close()
    return export.lines(known, host)


def views(entry: Entry, name: str) -> Views:
    """What record, domain and metadata say about one property. Raises InstanceState if the
    record has none of that name."""
    record, domain = entry.record, entry.domain
    found = record.properties.get(name)
    if found is None:
        raise InstanceState(
            f"Image property {name} not found for instance {record.uuid}.", culprit=name
        )
    seen = domain.properties.get(name) if domain is not None else None
    now = seen.value if seen is not None else None
    if name == "hw_machine_type" and domain is not None and domain.machine == record.machine:
        now = found.value
    image = records.image_values(domain).get(name) if domain is not None else None
    return Views(name, found.value, found.source.value, now, image)


def _domains(hypervisor: Hypervisor, problems: list[str]) -> dict[str, Domain]:
    handles = list(domains.list_all(hypervisor).values())
    found: dict[str, Domain] = {}
    for batch in domains.describe_each(hypervisor, handles):
        for description in batch:
            try:
                domain = reading.read(description.xml or "", f"domain {description.uuid}")
            except CapdError as error:
                problems.append(description.error or str(error))
                continue
            found[description.uuid] = domain
    return found


def _wanted(known: Iterable[Record], found: Iterable[Domain]) -> set[tuple[str, str]]:
    pairs = {(record.arch, record.machine) for record in known if record.gone is None}
    pairs |= {(domain.arch, domain.machine) for domain in found}
    return {(arch, machine) for arch, machine in pairs if machine}


def _entries(
    known: Mapping[str, Record], found: Mapping[str, Domain], discovery: Optional[Discovery]
) -> Iterator[Entry]:
    ability = Ability(discovery)
    for uuid, record in known.items():
        yield _entry(record, found.get(uuid), ability, True)
    for uuid, domain in found.items():
        if uuid not in known:
            yield _unwritten(domain, ability)


def _unwritten(domain: Domain, ability: Ability) -> Entry:
    """What would be written down; of a rescued guest what it has just now, for want of better."""
    seen = replace(domain, rescued=False)
    return _entry(records.begin(seen, ability, 0.0), domain, ability, False)


def _entry(record: Record, domain: Optional[Domain], ability: Ability, written: bool) -> Entry:
    return Entry(
        record,
        domain,
        drift.compare(record, domain, ability) if domain is not None else (),
        drift.unsupported(record, ability) if record.gone is None else (),
        written,
    )


def _of(entries: Sequence[Entry], instance: str) -> tuple[Entry, ...]:
    exact = [entry for entry in entries if entry.record.uuid == instance.lower()]
    named = [entry for entry in entries if entry.record.name == instance]
    named.sort(key=lambda entry: entry.record.gone is not None)
    chosen = exact or named[:1]
    if not chosen:
        raise InstanceNotFound(
            f"Instance {instance} could not be found.",
            culprit=instance,
            cure="capd image-property list shows those of this host",
        )
    return tuple(chosen)
