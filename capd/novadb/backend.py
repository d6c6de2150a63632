"""List, show and set image properties where Nova keeps them.

`show` and `set` answer as `nova-manage image_property` does, with its words and exit codes, in
its order of checks: mapping, instance, state, format, name, value. `set` does more: it holds the
instance's row from the check of its state to the end, so that an instance that is being started
is refused or starts after; it asks whether the host can do it; it looks whether the instance is
in one cell only; and it never writes what the cloud's own Nova could not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Optional

from sqlalchemy.engine import Connection

from capd import properties
from capd.errors import (
    CapdError,
    DatabaseError,
    InputError,
    InstanceNotFound,
    InstanceState,
    PropertyValue,
)
from capd.novadb import hosts, instances, specs
from capd.novadb.agreement import agreeing
from capd.novadb.cells import Cell, Cloud
from capd.novadb.database import Unfit
from capd.novadb.instances import Instance
from capd.novadb.releases import Release, understands_value

#: the states in which Nova lets image properties be set
SETTABLE_STATES = ("stopped", "shelved", "shelved_offloaded")


@dataclass(frozen=True)
class Listed:
    """One instance of a listing."""

    cell: str
    instance: Instance


@dataclass(frozen=True)
class Done:
    """What a `set` did; `warnings` are what could not be checked, one sentence each."""

    instance: Instance
    properties: Mapping[str, str]
    warnings: tuple[str, ...] = ()


class Backend:
    """Nova's databases as a place for image properties; `ask` asks a host for its traits."""

    def __init__(self, cloud: Cloud, ask: Optional[hosts.AskHost] = None) -> None:
        self.cloud = cloud
        self._ask = ask

    def show(self, uuid: str, name: str) -> str:
        """The value of one property. Raises InstanceNotFound or InstanceState (not found)."""
        uuid, cell = self.cloud.cell_of(uuid)
        self.cloud.release_of(cell)
        with cell.database.read() as connection:
            instance = _one(connection, cell, uuid)
        value = instance.value(name)
        if value is None:
            raise InstanceState(
                f"Image property {name} not found for instance {uuid}.", culprit=name
            )
        return value

    def conflict(self, uuid: str, name: str, value: str) -> Optional[str]:
        """What the request spec says instead of `value`, None where it agrees or says nothing.

        They differ after `nova-manage image_property set` of Yoga, which left the spec behind.
        """
        with self.cloud.api.read() as connection:
            try:
                held = specs.read(connection, [uuid], lock=False).get(uuid)
            except Unfit:
                return None
        said = held.properties().get(name) if held is not None else None
        try:
            agrees = said is None or said == properties.coerce(name, value)
        except CapdError:
            return None
        return None if agrees else str(said)

    def get(self, uuid: str) -> Listed:
        """One instance. Raises InstanceNotFound."""
        uuid, cell = self.cloud.cell_of(uuid)
        self.cloud.release_of(cell)
        with cell.database.read() as connection:
            return Listed(cell.name, _one(connection, cell, uuid))

    def all(self, host: Optional[str] = None) -> Iterator[Listed]:
        """All instances of all cells that are not disabled, or those of one host."""
        for cell in self.cloud.cells:
            if cell.disabled:
                continue
            self.cloud.release_of(cell)
            with cell.database.read() as connection:
                for page in instances.pages(connection, host):
                    yield from (Listed(cell.name, item) for item in page)

    def set(self, uuid: str, assignments: Sequence[str], force: bool = False) -> Done:
        """Set all of `assignments` (`name=value`) or none.

        `force` goes ahead where the host says it cannot. Raises InstanceNotFound, InstanceState,
        PropertyFormat, PropertyName, PropertyValue, HostCannot or DatabaseError.
        """
        uuid, cell = self.cloud.cell_of(uuid)
        release = self.cloud.release_of(cell)
        with cell.database.read() as connection:
            before = _one(connection, cell, uuid)
            provider = hosts.provider_of(connection, before)
        wanted = _check(before, assignments, release)
        warnings = self._ask_host(before, provider, wanted, force)
        warnings += self._other_cells(cell, uuid)
        return agreeing(
            self.cloud,
            cell,
            [uuid],
            release,
            lambda: self._write(cell, before, assignments, release, warnings),
        )

    def _write(
        self,
        cell: Cell,
        before: Instance,
        assignments: Sequence[str],
        release: Release,
        warnings: list[str],
    ) -> Done:
        """Check once more with the instance's row locked, then write both databases."""
        with self.cloud.writing(cell) as (main, api):
            instance = _one(main, cell, before.uuid, lock=True)
            wanted = _check(instance, assignments, release)
            place = (instance.host, instance.node, instance.value(hosts.MACHINE))
            if place != (before.host, before.node, before.value(hosts.MACHINE)):
                raise InstanceState(
                    f"Instance {instance.uuid} has been changed or moved meanwhile",
                    culprit=instance.uuid,
                    cure="give the same command again",
                )
            change = instances.plan(instance, wanted)
            spec = specs.read(api, [instance.uuid]).get(instance.uuid)
            if spec is None:
                raise specs.missing(instance.uuid)
            specs.write(api, [(spec, change)], release)
            instances.write(main, [change])
        return Done(instance, wanted, tuple(warnings))

    def _ask_host(
        self, instance: Instance, provider: Optional[str], wanted: Mapping[str, str], force: bool
    ) -> list[str]:
        """Warnings about what is unknown. Raises HostCannot unless `force`."""
        before = instance.properties()
        asked = hosts.questions(before, wanted)
        if instance.host is None:
            host = hosts.Host("the next host", "", None, "the instance is on no host now")
        elif provider is None:
            host = hosts.Host(instance.host, "", None, "Nova has no compute node of that name")
        elif self._ask is None:
            host = hosts.Host(instance.host, provider, None, "Placement is not configured")
        else:
            host = self._ask(instance.host, provider)
        answers = list(hosts.judge(host, {**before, **wanted}, asked))
        try:
            return hosts.refuse(answers)
        except CapdError as error:
            if not force:
                raise
            return [f"forced: {error}"]

    def _other_cells(self, cell: Cell, uuid: str) -> list[str]:
        """Warnings about cells that cannot be asked. Raises DatabaseError if it is in two."""
        warnings: list[str] = []
        for other in self.cloud.others(cell):
            try:
                with other.database.read() as connection:
                    found = instances.present(connection, [uuid])
            except DatabaseError as error:
                warnings.append(f"{error}; whether the instance is there too is not known")
                continue
            if found:
                raise in_two_cells(uuid, cell, other)
        return warnings


def in_two_cells(uuid: str, cell: Cell, other: Cell) -> DatabaseError:
    """The refusal to touch an instance of which there are two."""
    return DatabaseError(
        f"Instance {uuid} is in two cells: {cell.name}, to which it is mapped, and {other.name}",
        culprit=uuid,
        cure="one of the two is left over from a failed move; remove it first",
    )


def _one(connection: Connection, cell: Cell, uuid: str, lock: bool = False) -> Instance:
    """The live instance `uuid` of `cell`. Raises InstanceNotFound in Nova's words."""
    found = instances.read(connection, [uuid], lock)
    if not found:
        raise InstanceNotFound(
            f"Instance {uuid} could not be found.",
            culprit=uuid,
            cure=f"it is mapped to cell {cell.name} and is not there, or is deleted",
        )
    return next(iter(found.values()))


def _check(instance: Instance, assignments: Sequence[str], release: Release) -> dict[str, str]:
    """The values to store. Raises what is wrong first in Nova's order: state, format, name, value.

    Nova itself does not look at the task state, and so changes an instance that is being started
    under it; a value that came after the cloud's own Nova is as wrong as any other.
    """
    if instance.vm_state not in SETTABLE_STATES:
        raise InstanceState(
            f"Instance {instance.uuid} in vm_state {instance.vm_state}. Cannot image_property set "
            "(must be STOPPED, SHELVED, OR SHELVED_OFFLOADED). while the instance is in this "
            "state.",
            culprit=instance.uuid,
        )
    if instance.task_state is not None:
        raise InstanceState(
            f"Instance {instance.uuid} in task_state {instance.task_state}. Cannot image_property "
            "set while the instance is being changed.",
            culprit=instance.uuid,
            cure="wait until it is done, then give the command again",
        )
    if not assignments:
        raise InputError(
            "no property to set",
            culprit="--property",
            cure="give --property NAME=VALUE at least once",
        )
    wanted = properties.parse_all(assignments)
    for name, value in wanted.items():
        if not understands_value(release.properties, name, properties.coerce(name, value)):
            raise PropertyValue(
                f"Field value {value} is invalid",
                culprit=name,
                cure=f"the Nova of this cloud, {release}, does not know {name}={value}",
            )
    return wanted
