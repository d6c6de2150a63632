"""The hypervisor's domains: which there are, and the XML of each.

I/O only, through `capd.hypervisor` so that no call can hang for ever; `capd.records.tracker` and
the commands read what comes back. Domains are asked for in small batches, so that one is read
while libvirt writes the next, and one that fails takes no other with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

import libvirt

from capd.errors import InstanceNotFound
from capd.hypervisor import Hypervisor

#: domains per call
BATCH = 10

_NONE = libvirt.VIR_ERR_NO_DOMAIN


class Handle(NamedTuple):
    """A listed domain; `number` is -1 unless it runs, and another one each time it is started."""

    domain: libvirt.virDomain
    number: int


@dataclass(frozen=True)
class Description:
    """The XML of one domain as it is now (live if it runs), or the error that came instead."""

    uuid: str
    xml: Optional[str]
    error: Optional[str] = None


def list_all(hypervisor: Hypervisor) -> dict[str, Handle]:
    """All domains, running or not, by uuid; costs one call. Raises LibvirtError."""
    found = hypervisor.call("listAllDomains", hypervisor.connection.listAllDomains, 0)
    return {domain.UUIDString(): Handle(domain, domain.ID()) for domain in found}


def describe_each(
    hypervisor: Hypervisor, handles: Sequence[Handle]
) -> Iterator[list[Description]]:
    """The descriptions of domains, in batches. Raises LibvirtError if libvirt does not answer.

    A domain that vanished meanwhile is in no batch.
    """
    calls = (
        (start, _describe, ([handle.domain for handle in handles[start : start + BATCH]],))
        for start in range(0, len(handles), BATCH)
    )
    for _, outcome in hypervisor.each("reading domains", calls):
        yield outcome.result()


def describe(hypervisor: Hypervisor, uuid: str) -> Optional[Description]:
    """The description of one domain, None if there is none of that uuid. Raises LibvirtError."""

    def ask() -> list[Description]:
        try:
            domain = hypervisor.connection.lookupByUUIDString(uuid)
        except libvirt.libvirtError as error:
            if error.get_error_code() == _NONE:
                return []
            raise
        return _describe([domain])

    found = hypervisor.call("reading a domain", ask)
    return found[0] if found else None


def find(hypervisor: Hypervisor, instance: str) -> libvirt.virDomain:
    """The domain of that uuid or name. Raises InstanceNotFound or LibvirtError."""
    connection = hypervisor.connection

    def look() -> Optional[libvirt.virDomain]:
        for lookup in (connection.lookupByUUIDString, connection.lookupByName):
            try:
                return lookup(instance)
            except libvirt.libvirtError as error:
                if error.get_error_code() not in (_NONE, libvirt.VIR_ERR_INVALID_ARG):
                    raise
        return None

    domain = hypervisor.call("looking for a domain", look)
    if domain is None:
        raise InstanceNotFound(
            f"Instance {instance} could not be found.",
            culprit=instance,
            cure="virsh list --all shows the domains of this host",
        )
    return domain


def _describe(domains: Sequence[libvirt.virDomain]) -> list[Description]:
    found: list[Description] = []
    failure: Optional[libvirt.libvirtError] = None
    for domain in domains:
        uuid = domain.UUIDString()
        try:
            # a stopped domain's persistent definition is all there is, and costs libvirt less
            flags = 0 if domain.ID() >= 0 else libvirt.VIR_DOMAIN_XML_INACTIVE
            found.append(Description(uuid, domain.XMLDesc(flags)))
        except libvirt.libvirtError as error:
            if error.get_error_code() != _NONE:
                failure = error
                found.append(Description(uuid, None, str(error)))
    if failure is not None and all(entry.xml is None for entry in found):
        raise failure
    return found
