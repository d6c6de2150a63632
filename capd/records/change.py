"""Changing what an instance has, on purpose: `image-property set` and `restore`.

All properties of one command or none. For a domain that Nova does not manage the definition is
changed, and the record with it; for one that Nova manages only the record, because Nova's
database decides what it gets when it is next started, and writes the definition anew.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Callable, Optional

import libvirt

from capd.config import Settings
from capd.discover import Progress, quiet
from capd.errors import CapdError, HostCannot, InputError, InstanceNotFound, InstanceState
from capd.facts import Support
from capd.hypervisor import Hypervisor
from capd.properties import is_trait_name, parse_all, validate
from capd.records import domains, hostfacts, reading, records, redefine
from capd.records.ability import CATEGORY_OF, Ability
from capd.records.definitions import Definitions
from capd.records.reading import Domain
from capd.records.records import Property, Record, Source
from capd.records.recordstore import RecordStore
from capd.records.rewrite import ONLY_RECORDED
from capd.store import DATABASE, Store


@dataclass(frozen=True)
class Done:
    """What a command did: the record as it stands, and what people should know, in sentences."""

    record: Record
    messages: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Target:
    """The instance to be changed: its domain if it is here, and its record."""

    record: Record
    handle: Optional[libvirt.virDomain]
    domain: Optional[Domain]


def set_properties(
    settings: Settings,
    instance: str,
    assignments: Sequence[str],
    force: bool = False,
    progress: Progress = quiet,
) -> Done:
    """Set `assignments` (`name=value`) on the instance of that uuid or libvirt name.

    `force` goes ahead where this host is known not to be able to. Raises, in this order,
    InstanceNotFound, InstanceState, PropertyFormat, PropertyName, PropertyValue, HostCannot.
    """
    if not assignments:
        raise InputError("no property to set", cure="give --property NAME=VALUE at least once")
    hypervisor = Hypervisor(settings.libvirt)
    try:
        hypervisor.open()
        with Store(settings.state_dir / DATABASE) as store:
            recordstore = RecordStore(store)
            target = _target(hypervisor, recordstore, instance)
            if target.handle is not None:
                redefine.require_stopped(hypervisor, target.handle, "set")
            given = parse_all(assignments)
            values = {name: validate(name, value) for name, value in given.items()}
            wanted = {(target.record.arch, name) for name in _machines(target, values)}
            named = CATEGORY_OF if "hw_machine_type" in values else values
            asked = {CATEGORY_OF[name] for name in named if name in CATEGORY_OF}
            ability = Ability(hostfacts.ask(hypervisor, settings, wanted, progress, asked))
            problems = tuple(_problems(target, values, ability))
            if problems and not force:
                raise HostCannot(
                    "; ".join(problems),
                    culprit=target.record.uuid,
                    cure="--force goes ahead all the same",
                )
            return _apply(hypervisor, recordstore, target, values, ability, problems)
    finally:
        hypervisor.close()


def restore(settings: Settings, instance: str, force: bool) -> Done:
    """Put back the definition that the last `set` replaced, byte for byte, and the record.

    Raises InstanceNotFound, InstanceState (running; nothing was kept; changed since, and no
    `force`), HostCannot.
    """
    hypervisor = Hypervisor(settings.libvirt)
    try:
        hypervisor.open()
        with Store(settings.state_dir / DATABASE) as store:
            handle = domains.find(hypervisor, instance)
            redefine.require_stopped(hypervisor, handle, "restore")
            return _restore(hypervisor, store, handle, force)
    finally:
        hypervisor.close()


def _restore(hypervisor: Hypervisor, store: Store, handle: libvirt.virDomain, force: bool) -> Done:
    definitions, recordstore = Definitions(store), RecordStore(store)
    uuid, name, now = handle.UUIDString(), handle.name(), time.time()
    kept = definitions.last(uuid)
    if kept is None:
        raise InstanceState(
            f"No earlier definition of instance {name} is kept.",
            culprit=name,
            cure="only what image-property set replaced can be restored",
        )
    current = redefine.definition(hypervisor, handle)
    changed = not kept.still_left(current)
    if changed and not force:
        raise InstanceState(
            f"The definition of {name} was changed after the set that would be taken back.",
            culprit=name,
            cure="--force takes it back with that change, which is kept for another restore",
        )
    # kept before the other is put in force: what somebody did by hand is not to be had again
    later = definitions.keep(uuid, current, now) if changed else None
    try:
        redefine.put(hypervisor, kept.xml)
    except CapdError:
        if later is not None:
            definitions.drop(later)
        raise
    if later is not None:
        definitions.left(later, redefine.definition(hypervisor, handle))
    domain = reading.read(kept.xml, f"domain {name}")

    def undo(record: Optional[Record]) -> tuple[Record, str]:
        if record is None:
            return records.begin(domain, Ability(None, waiting=True), now), "recorded"
        return _undone(recordstore, record, kept.at), "restored"

    record = recordstore.update(uuid, undo, now)
    definitions.drop(kept.number)
    return Done(record, (f"{name}: the earlier definition is in force again",))


def _target(hypervisor: Hypervisor, store: RecordStore, instance: str) -> _Target:
    """The instance, here or only recorded. Raises InstanceNotFound."""
    try:
        handle = domains.find(hypervisor, instance)
    except InstanceNotFound:
        return _Target(store.find(instance), None, None)
    xml = hypervisor.call("reading a domain", handle.XMLDesc, 0)
    domain = reading.read(xml, f"domain {instance}")
    record = store.get(domain.uuid)
    if record is None:
        record = records.begin(domain, Ability(None, waiting=True), time.time())
    return _Target(record, handle, domain)


def _machines(target: _Target, values: Mapping[str, str]) -> set[str]:
    """The names of machine types that matter: the present one and the one to be set."""
    recorded = target.record.properties.get("hw_machine_type")
    names = {
        values.get("hw_machine_type"),
        target.record.machine,
        recorded.value if recorded is not None else None,
        target.domain.machine if target.domain is not None else None,
    }
    return {name for name in names if name}


def _problems(target: _Target, values: Mapping[str, str], ability: Ability) -> Iterator[str]:
    """Why this host cannot do it, one phrase each."""
    record, domain = target.record, target.domain
    current = (domain.machine if domain is not None else None) or record.machine
    kind = values.get("hw_machine_type", current)
    if "hw_machine_type" in values:
        if ability.has_machine(record.arch, (kind,)) is Support.NO:
            yield f"hw_machine_type={kind}: this host has no such machine type for {record.arch}"
            return
        # what the instance has must be possible there, too
        has = domain.properties if domain is not None else {}
        values = {**{name: seen.value for name, seen in has.items()}, **values}
    machine = ability.machine(record.arch, kind, record.virt_type)
    for name, value in values.items():
        answer = ability.of(machine, name, value)
        if answer.support is Support.NO:
            text = f"{name}={value}: {answer.because}"
            if answer.possible is not None:
                text += f"; possible: {', '.join(answer.possible) or 'none'}"
            yield text


def _apply(
    hypervisor: Hypervisor,
    store: RecordStore,
    target: _Target,
    values: Mapping[str, str],
    ability: Ability,
    problems: Sequence[str],
) -> Done:
    record, handle = target.record, target.handle
    now = time.time()
    messages: list[str] = []
    warnings = [f"forced: {problem}" for problem in problems]
    if store.get(record.uuid) is None:
        store.update(record.uuid, lambda before: (before or record, "recorded"), now)
    if handle is None:
        warnings.append(f"{record.name} is not on this host: only its record has been changed")
    elif record.managed_by == "libvirt":
        unseen = redefine.redefine(
            hypervisor,
            handle,
            {name: value for name, value in values.items() if not is_trait_name(name)},
            lambda xml: _keep(Definitions(store.store), record.uuid, xml, now),
        )
        messages += _unseen((*unseen, *filter(is_trait_name, values)))
        domain = reading.read(redefine.definition(hypervisor, handle), record.name)
        target = replace(target, domain=domain)
    exact = _exact_machine(target, values, ability)

    def change(before: Optional[Record]) -> tuple[Record, str]:
        return records.assign(before or record, values, exact), "set"

    after = store.update(record.uuid, change, now)
    messages.insert(0, f"{record.name}: {' '.join(f'{k}={v}' for k, v in values.items())}")
    if record.managed_by == "nova":
        warnings.append(_novas_word(record, values))
    return Done(after, tuple(messages), tuple(warnings))


def _keep(
    definitions: Definitions, uuid: str, xml: str, now: float
) -> Callable[[Optional[str]], None]:
    number = definitions.keep(uuid, xml, now)

    def kept(made: Optional[str]) -> None:
        if made is None:
            definitions.drop(number)
        else:
            definitions.left(number, made)

    return kept


def _exact_machine(target: _Target, values: Mapping[str, str], ability: Ability) -> Optional[str]:
    kind = values.get("hw_machine_type")
    if kind is None:
        return None
    if target.record.managed_by == "libvirt" and target.domain is not None:
        return target.domain.machine
    return ability.resolve(target.record.arch, kind) or kind


def _unseen(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name in ONLY_RECORDED or is_trait_name(name):
            yield f"{name} is recorded; no definition shows it"
        else:
            yield f"{name} is recorded only: the domain has no such device, or capd changes none"


def _novas_word(record: Record, values: Mapping[str, str]) -> str:
    given = " ".join(
        f"--property {shlex.quote(f'{name}={value}')}" for name, value in values.items()
    )
    return (
        f"only the record has been changed: Nova manages {record.name}, and Nova's database "
        "decides what it gets; on a controller give: capd --config-file /etc/nova/nova.conf "
        f"image-property set {given} {record.uuid}"
    )


def _undone(store: RecordStore, record: Record, at: float) -> Record:
    """`record` as it was before the `set` at the time `at`."""
    properties = dict(record.properties)
    machine = record.machine
    for event in store.history(record.uuid):
        if event.at != at or event.event != "set" or event.property is None:
            continue
        if event.property == "machine":
            machine = event.old_value
        elif event.old_value is None:
            properties.pop(event.property, None)
        else:
            source = Source(event.old_source)
            properties[event.property] = Property(event.old_value, source)
    return replace(record, properties=properties, machine=machine)
