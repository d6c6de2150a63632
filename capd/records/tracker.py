"""The tracker: follows the hypervisor's domains and keeps their records.

The daemon (or one full pass) owns the loop and the connection and calls in: `start` reads every
domain, `on_event` one that libvirt spoke of, `reconcile` looks at all again in case an event was
lost, `facts` brings what the host can do. A domain whose XML has not changed since it was read
costs one comparison. What differs from its record, or cannot be done here, is logged once when it
begins and once when it ends.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Callable, Optional, Union

from capd.errors import DocumentError
from capd.facts import Discovery
from capd.hypervisor import Hypervisor
from capd.records import domains, drift, reading, records
from capd.records.ability import Ability
from capd.records.domains import Description, Handle
from capd.records.drift import Drift, Unsupported
from capd.records.reading import Domain
from capd.records.records import Record
from capd.records.recordstore import RecordStore

log = logging.getLogger(__name__)

#: unchanged domains read again in each interval
SLICE = 250

#: this many new records are named one by one; more are only counted
_NAMED = 10


@dataclass(frozen=True)
class Standing:
    """How one instance that is here stands; `name` is libvirt's."""

    name: str
    drift: tuple[Drift, ...] = ()
    unsupported: tuple[Unsupported, ...] = ()


@dataclass(frozen=True)
class Status:
    """What the tracker knows, for metrics and the dump: instances here, by uuid."""

    here: Mapping[str, Standing]
    unreadable: Mapping[str, str]

    @property
    def drifting(self) -> int:
        """Instances that differ from their record."""
        return sum(1 for standing in self.here.values() if standing.drift)

    @property
    def unsupported(self) -> int:
        """Instances of which this host cannot do what is recorded."""
        return sum(1 for standing in self.here.values() if standing.unsupported)


class Tracker:
    """Keeps the records of one host; `retention` in seconds. Not for several threads at a time."""

    def __init__(
        self,
        store: RecordStore,
        retention: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store = store
        self.retention = retention
        self._clock = clock
        self._hypervisor: Optional[Hypervisor] = None
        self._ability = Ability(None, waiting=True)
        self._seen: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._turn = 0
        self._here: dict[str, Standing] = {}
        self._unreadable: dict[str, str] = {}
        self._present: set[str] = set()
        self._judged: dict[tuple[object, ...], tuple[Unsupported, ...]] = {}
        self._version: Optional[int] = None

    def start(self, hypervisor: Hypervisor, discovery: Optional[Discovery] = None) -> None:
        """Read every domain; again after each reconnection. Raises LibvirtError, StoreError.

        Without a `discovery`, machine types and defaults are recorded once `facts` brings one.
        """
        self._hypervisor = hypervisor
        self._seen.clear()
        if discovery is not None:
            self.facts(discovery)
        self.reconcile()

    def facts(self, discovery: Discovery) -> None:
        """Take what the host can do; if that changed, the next `reconcile` looks at everything."""
        known = self._ability.discovery
        if known is None or (known.machines, known.trials, known.complete) != (
            discovery.machines,
            discovery.trials,
            discovery.complete,
        ):
            self._ability = Ability(discovery)
            self._seen.clear()
            self._judged.clear()

    def on_event(self, uuid: str) -> None:
        """Look at one domain again, whatever happened to it. Raises LibvirtError, StoreError."""
        if self._hypervisor is None:
            return
        found = domains.describe(self._hypervisor, uuid)
        if found is None:
            self._vanished({uuid} & self._present)
        elif self._changed(found) and self._examine(found):
            self._say_begun([uuid])

    def reconcile(self) -> None:
        """Compare the domains with what was last seen. Raises LibvirtError, StoreError.

        Those that are new, gone, started or stopped show in libvirt's list. Of the others, whose
        definition could have changed unseen only if libvirt lost an event on a connection that
        held, SLICE are read again each time, in turn.
        """
        if self._hypervisor is None:
            return
        self._notice_other_writers()
        listed = domains.list_all(self._hypervisor)
        begun: list[str] = []
        with ExitStack() as writing:
            bulk = False
            for batch in domains.describe_each(self._hypervisor, self._due(listed)):
                changes = [found for found in batch if self._changed(found)]
                if changes and not bulk:
                    bulk = True
                    writing.enter_context(self.store.bulk())
                begun += [found.uuid for found in changes if self._examine(found)]
        self._say_begun(begun)
        self._vanished(self._present - listed.keys())
        for uuid in self.store.purge(self._clock() - self.retention):
            log.info("%s: record deleted, retention time is over", uuid)

    def _due(self, listed: Mapping[str, Handle]) -> list[Handle]:
        """The domains to be read now."""
        due: list[Handle] = []
        rest: list[Handle] = []
        for uuid, handle in listed.items():
            known = uuid in self._seen and self._numbers.get(uuid) == handle.number
            (rest if known else due).append(handle)
            self._numbers[uuid] = handle.number
        begin = self._turn % len(rest) if rest else 0
        self._turn = begin + SLICE
        return due + (rest[begin:] + rest[:begin])[:SLICE]

    @property
    def status(self) -> Status:
        """A snapshot for metrics."""
        return Status(dict(self._here), dict(self._unreadable))

    def _notice_other_writers(self) -> None:
        """After somebody else wrote (`image-property set`), everything is compared anew."""
        version = self.store.version()
        if version != self._version:
            self._version = version
            self._seen.clear()
            self._present = self.store.present()

    def _changed(self, found: Description) -> bool:
        """Whether a description differs from what was last read; notes those without XML."""
        if found.xml is not None:
            return self._seen.get(found.uuid) != hash(found.xml)
        self._complain(found.uuid, found.error or "no XML")
        return False

    def _examine(self, found: Description) -> bool:
        """Record what a domain's XML says; whether that began its record."""
        xml = found.xml or ""
        try:
            domain = reading.read(xml, f"domain {found.uuid}")
        except DocumentError as error:
            self._complain(found.uuid, str(error))
            return False
        record, begun = self._recorded(domain)
        self._seen[found.uuid] = hash(xml)
        self._present.add(found.uuid)
        self._unreadable.pop(found.uuid, None)
        self._stand(record, domain)
        return begun

    def _recorded(self, domain: Domain) -> tuple[Record, bool]:
        """The record of a domain that was just read, and whether it was begun now."""
        now = self._clock()
        if domain.uuid not in self._present:
            new = records.begin(domain, self._ability, now)
            if self.store.add(new):
                return new, True

        def look(record: Optional[Record]) -> tuple[Record, str]:
            if record is None:
                return records.begin(domain, self._ability, now), "recorded"
            if not domain.rescued and records.rebuilt(record, domain):
                return records.begin(domain, self._ability, now), "rebuilt"
            return records.observe(record, domain, self._ability), "defined"

        return self.store.update(domain.uuid, look, now), False

    def _stand(self, record: Record, domain: Domain) -> None:
        """Log what began or ended to be wrong with an instance."""
        before = self._here.get(record.uuid, Standing(record.name))
        after = Standing(
            record.name,
            drift.compare(record, domain, self._ability),
            self._unsupported(record),
        )
        self._here[record.uuid] = after
        _log_changes(record, "drift", before.drift, after.drift)
        _log_changes(record, "this host cannot do it", before.unsupported, after.unsupported)

    def _unsupported(self, record: Record) -> tuple[Unsupported, ...]:
        """The judgement on a record; instances of a host are alike, so it is remembered."""
        values = ((name, found.value) for name, found in record.properties.items())
        key = (record.arch, record.virt_type, record.machine, *values)
        known = self._judged.get(key)
        if known is None:
            known = self._judged[key] = drift.unsupported(record, self._ability)
        return known

    def _vanished(self, uuids: Iterable[str]) -> None:
        for uuid in sorted(uuids):
            standing = self._here.pop(uuid, None)
            self.store.vanish(uuid, self._clock())
            log.info("%s (%s): gone from this host", standing.name if standing else "?", uuid)
            self._present.discard(uuid)
            self._seen.pop(uuid, None)
            self._numbers.pop(uuid, None)
            self._unreadable.pop(uuid, None)

    def _say_begun(self, uuids: list[str]) -> None:
        if len(uuids) > _NAMED:
            log.info("%d instances recorded for the first time", len(uuids))
            return
        for uuid in uuids:
            log.info("%s (%s): recorded", self._here[uuid].name, uuid)

    def _complain(self, uuid: str, text: str) -> None:
        if self._unreadable.get(uuid) != text:
            self._unreadable[uuid] = text
            log.warning("domain %s cannot be read: %s", uuid, text)


Finding = Union[Drift, Unsupported]


def _log_changes(
    record: Record, what: str, before: Sequence[Finding], after: Sequence[Finding]
) -> None:
    for finding in after:
        if finding not in before:
            log.warning("%s (%s): %s: %s", record.name, record.uuid, what, finding.text())
    for finding in before:
        if finding not in after:
            log.info("%s (%s): no longer: %s", record.name, record.uuid, finding.text())
