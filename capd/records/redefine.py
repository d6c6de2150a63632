"""A domain that Nova does not manage, defined anew with other devices; and put back.

For `capd.records.change`. libvirt validates the new definition before it replaces the old one,
which is kept in the state database first; what libvirt made of it is then read back and compared,
and the old definition is put back if it is not what was wanted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Callable, Optional

import libvirt
from lxml import etree

from capd import documents
from capd.errors import CapdError, HostCannot, InstanceState, LibvirtError, LibvirtRefusal
from capd.hypervisor import Hypervisor
from capd.records import reading
from capd.records.rewrite import rewrite

log = logging.getLogger(__name__)

#: the persistent definition, with passwords, so that none is lost; it is stored, never shown
_WHOLE = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE

#: devices that need something of the host to be validated, a tap device or a PCI device
_NEEDY = ("interface", "hostdev", "vsock", "tpm")


def definition(hypervisor: Hypervisor, domain: libvirt.virDomain) -> str:
    """The persistent definition of `domain`, whole. Raises LibvirtError."""
    return str(hypervisor.call("reading a definition", domain.XMLDesc, _WHOLE))


def require_stopped(hypervisor: Hypervisor, domain: libvirt.virDomain, action: str) -> None:
    """Raise InstanceState unless `domain` is persistent, shut off and has no saved memory."""
    name = domain.name()
    if hypervisor.call("asking for the state", domain.isActive):
        raise InstanceState(
            f"Instance {name} is running. Cannot image_property {action} while the instance is "
            "in this state (it must be shut off).",
            culprit=name,
            cure="shut it down first",
        )
    if hypervisor.call("asking for saved memory", domain.hasManagedSaveImage):
        raise InstanceState(
            f"Instance {name} has saved memory, which would not fit other devices.",
            culprit=name,
            cure=f"start and shut it down, or: virsh managedsave-remove {name}",
        )


def redefine(
    hypervisor: Hypervisor,
    domain: libvirt.virDomain,
    values: Mapping[str, str],
    keep: Callable[[str], Callable[[Optional[str]], None]],
) -> tuple[str, ...]:
    """Give `domain` the devices of `values`; all of them or none.

    `keep` is called with the old definition before it is replaced, and not at all if nothing has
    to change; what it returns is called with the definition that is in force then, None if the
    old one was not replaced after all. Returns the properties that the domain shows nowhere,
    because it has no such device. Raises HostCannot if libvirt refuses; nothing has changed then.
    """
    old = definition(hypervisor, domain)
    new, unseen = rewrite(old, values, f"domain {domain.name()}")
    if new == old:
        return unseen
    _validate(hypervisor, old, new)
    kept = keep(old)
    try:
        put(hypervisor, new)
    except CapdError:
        kept(None)
        raise
    made = definition(hypervisor, domain)
    problem = _difference(made, values, unseen)
    if problem is not None:
        put(hypervisor, old)
        kept(None)
        raise HostCannot(f"{problem}; the old definition is in force again", culprit="libvirt")
    kept(made)
    return unseen


def _difference(xml: str, values: Mapping[str, str], unseen: Sequence[str]) -> Optional[str]:
    """What libvirt made of a value, if it is not the value."""
    domain = reading.read(xml, "the new definition")
    for name, value in values.items():
        seen = domain.properties.get(name)
        if name in unseen or name == "hw_machine_type" or (seen and seen.value == value):
            continue
        return f"libvirt made {seen.value if seen else 'nothing'} of {name}={value}"
    return None


def put(hypervisor: Hypervisor, xml: str) -> None:
    """Define a domain. Raises HostCannot if libvirt refuses; it keeps the old one then."""
    try:
        hypervisor.call("defining a domain", hypervisor.connection.defineXML, xml)
    except LibvirtRefusal as error:
        raise HostCannot(f"libvirt refuses it: {error.reason}", culprit=error.culprit) from None


def _validate(hypervisor: Hypervisor, old: str, new: str) -> None:
    """Have libvirt validate `new` as for a start. Raises HostCannot with its text.

    If it will not even take the definition that is in force, its word says nothing.
    """
    guests = (("old", _bare(old)), ("new", _bare(new)))
    errors: dict[str, LibvirtError] = {}
    for key, outcome in hypervisor.to_native(guests):
        if isinstance(outcome.error, LibvirtError):
            errors[key] = outcome.error
    error = errors.get("new")
    if error is None:
        return
    if not isinstance(error, LibvirtRefusal):
        raise error
    if "old" in errors:
        log.debug("libvirt does not validate the old definition either: %s", errors["old"])
        return
    raise HostCannot(f"libvirt refuses it: {error.reason}", culprit="libvirt")


def _bare(xml: str) -> str:
    """The definition without what cannot be validated from here."""
    domain = reading.find_domain(documents.parse(xml, "definition"), "definition")
    for devices in domain.findall("devices"):
        for name in _NEEDY:
            for element in devices.findall(name):
                devices.remove(element)
    return str(etree.tostring(domain, encoding="unicode"))
