"""Image properties where Nova keeps them, as rows and documents.

Implements `capd.commands.backend.Backend` with `capd.novadb`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from capd.commands.backend import Changed, Listing, Shown
from capd.config import Settings
from capd.novadb import hosts
from capd.novadb.backend import Backend, Listed
from capd.novadb.cells import Cloud
from capd.properties import CAPTURED

_HEADER = ("NAME", "UUID", "CELL", "HOST", "STATE", *CAPTURED)


class NovaBackend:
    """The databases that the configuration names."""

    def __init__(self, settings: Settings, host: Optional[str] = None) -> None:
        """`host` narrows `list` down to the instances of one hypervisor."""
        self._settings, self._host = settings, host

    def list(self, instance: Optional[str]) -> Listing:
        """All instances of all cells, or one by uuid."""
        with Cloud(self._settings.conf) as cloud:
            backend = Backend(cloud)
            found = list(backend.all(self._host)) if instance is None else [backend.get(instance)]
        return Listing(
            [_document(listed) for listed in found], _HEADER, [_row(listed) for listed in found]
        )

    def show(self, instance: str, name: str) -> Shown:
        """One property, as Nova has it."""
        with Cloud(self._settings.conf) as cloud:
            backend = Backend(cloud)
            value = backend.show(instance, name)
            other = backend.conflict(instance, name, value)
        document = {"uuid": instance, "property": name, "value": value, "request_spec": other}
        if other is None:
            return Shown(value, {**document, "request_spec": value})
        note = f"conflict: the request spec has {name}={other}, by which Nova moves the instance"
        return Shown(value, document, [f"{note}; set --property {name}={value} mends it"])

    def set(self, instance: str, assignments: Sequence[str], force: bool) -> Changed:
        """Write system metadata and request spec, all properties or none."""
        with Cloud(self._settings.conf) as cloud:
            backend = Backend(cloud, hosts.asking(self._settings))
            done = backend.set(instance, assignments, force)
            document = _document(backend.get(instance))
        said = " ".join(f"{name}={value}" for name, value in done.properties.items())
        return Changed((f"{done.instance.uuid}: {said}",), done.warnings, document)


def _document(listed: Listed) -> dict[str, Any]:
    instance = listed.instance
    return {
        "uuid": instance.uuid,
        "name": instance.name,
        "managed_by": "nova",
        "cell": listed.cell,
        "host": instance.host,
        "vm_state": instance.vm_state,
        "image": instance.image,
        "properties": {name: {"value": value} for name, value in instance.properties().items()},
    }


def _row(listed: Listed) -> tuple[str, ...]:
    instance = listed.instance
    values = instance.properties()
    return (
        instance.name,
        instance.uuid,
        listed.cell,
        instance.host or "-",
        instance.vm_state or "-",
        *(values.get(name, "-") for name in CAPTURED),
    )
