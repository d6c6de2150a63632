"""Image properties of this host's instances: records, domains and facts, as rows and documents.

Implements `capd.commands.backend.Backend` with `capd.records`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Optional

from capd.commands.backend import Changed, Listing, Shown
from capd.config import Settings
from capd.errors import HostCannot, InstanceState, LibvirtError
from capd.properties import CAPTURED, is_novas
from capd.records import change, export, look
from capd.records.entry import Entry
from capd.records.records import Source
from capd.ticker import Ticker

_HEADER = (
    "NAME",
    "UUID",
    "BY",
    "MACHINE",
    "CDROM",
    "DISK",
    "FLOPPY",
    "INPUT",
    "POINTER",
    "VIDEO",
    "VIF",
    "REMARKS",
)
_LEGEND = "(x) default, no such device now   x= from the image   x! set   x+ others beside it"


class LocalBackend:
    """`source` is a recorded host whose facts are used; `drift` and `unsupported` narrow `list`
    down to instances of which that is true."""

    def __init__(
        self,
        settings: Settings,
        source: Optional[Path] = None,
        drift: bool = False,
        unsupported: bool = False,
        judge: bool = True,
    ) -> None:
        self._settings = settings
        self._source = source
        self._drift, self._unsupported = drift, unsupported
        self._judge = judge or unsupported

    def list(self, instance: Optional[str]) -> Listing:
        """All instances of this host, or one by uuid or libvirt name."""
        with Ticker() as ticker:
            found = look.overview(
                self._settings,
                instance,
                source=self._source,
                judge=self._judge,
                progress=ticker,
            )
        if self._drift and not found.live:
            raise LibvirtError(f"drift cannot be told: {'; '.join(found.problems)}")
        if self._unsupported and not found.judged:
            raise LibvirtError(
                f"what this host can do cannot be told: {'; '.join(found.problems)}",
                cure="--from DIR takes a recorded host's facts",
            )
        notes = list(found.problems)
        unwritten = sum(1 for entry in found.entries if not entry.written)
        if unwritten:
            notes.append(f"{unwritten} not recorded yet: the daemon does that when it runs")
        return self._listing(found.entries, notes)

    def files(self, files: Sequence[Path]) -> Listing:
        """Domain XML in files instead of this host's instances."""
        entries, errors = look.in_files(self._settings, files, self._source)
        listing = self._listing(entries, [error.line() for error in errors], files=True)
        return replace(listing, exit_code=1) if errors else listing

    def show(self, instance: str, name: str) -> Shown:
        """One property, and whether record, domain and Nova's metadata agree on it."""
        found = look.overview(self._settings, instance, judge=False)
        views = look.views(found.entries[0], name)
        places = {"record": views.recorded, "domain": views.domain, "image": views.image}
        notes = list(found.problems)
        if views.conflict:
            said = ", ".join(f"{place} {value}" for place, value in places.items() if value)
            notes.append(f"conflict: {name}: {said}")
        document = {
            "uuid": found.entries[0].record.uuid,
            "property": name,
            "value": views.recorded,
            "source": views.source,
            "domain": views.domain,
            "image": views.image,
            "conflict": views.conflict,
        }
        return Shown(views.recorded, document, notes)

    def set(self, instance: str, assignments: Sequence[str], force: bool) -> Changed:
        """Change the domain and its record, or the record alone."""
        with Ticker() as ticker:
            done = change.set_properties(self._settings, instance, assignments, force, ticker)
        return _changed(done)

    def restore(self, instance: str, force: bool) -> Changed:
        """Put back the definition that the last `set` replaced."""
        return _changed(change.restore(self._settings, instance, force))

    def export(self, instance: Optional[str]) -> Sequence[str]:
        """Records as lines of JSON."""
        return list(look.exported(self._settings, instance))

    def _listing(
        self, entries: Sequence[Entry], notes: Sequence[str], files: bool = False
    ) -> Listing:
        code = 0
        if self._drift or self._unsupported:
            entries = [
                entry
                for entry in entries
                if (self._drift and entry.drift) or (self._unsupported and entry.unsupported)
            ]
            if any(entry.unsupported for entry in entries) and self._unsupported:
                code = HostCannot.exit_code
            elif entries:
                code = InstanceState.exit_code
        return Listing(
            [export.document(entry) for entry in entries],
            _HEADER,
            [_row(entry, files) for entry in entries],
            _LEGEND,
            notes,
            code,
        )


def _changed(done: change.Done) -> Changed:
    return Changed(done.messages, done.warnings, export.document(Entry(done.record)))


def _row(entry: Entry, from_file: bool) -> tuple[str, ...]:
    record = entry.record
    shown = [
        _cell(entry, name)
        for name in ("hw_machine_type", *(name for name in CAPTURED if name != "hw_machine_type"))
    ]
    machine = record.machine or ""
    if machine and shown[0].rstrip("=!") != machine:
        shown[0] = f"{shown[0]} ({machine})" if shown[0] else machine
    return (
        record.name,
        record.uuid,
        record.managed_by,
        *shown,
        "; ".join(_remarks(entry, from_file)),
    )


def _cell(entry: Entry, name: str) -> str:
    found = entry.record.properties.get(name)
    if found is None:
        return "-" if name != "hw_machine_type" else ""
    if found.source is Source.DEFAULT:
        return f"({found.value})"
    mark = {Source.IMAGE: "=", Source.SET: "!"}.get(found.source, "")
    return f"{found.value}{mark}{'+' if found.mixed else ''}"


def _remarks(entry: Entry, from_file: bool) -> list[str]:
    record = entry.record
    remarks = [] if entry.written or from_file else ["not recorded"]
    if record.gone is not None:
        remarks.append("gone")
    if entry.domain is not None and entry.domain.rescued:
        remarks.append("rescued: no witness")
    for name, found in sorted(record.properties.items()):
        if name in CAPTURED and not is_novas(name, found.value):
            remarks.append(f"Nova has no {name}={found.value}")
        elif name not in CAPTURED:
            remarks.append(f"{name}={found.value}")
    remarks += [f"drift: {finding.text()}" for finding in entry.drift]
    remarks += [f"unsupported: {finding.text()}" for finding in entry.unsupported]
    return remarks
