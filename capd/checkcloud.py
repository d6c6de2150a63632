"""What `capd --check` asks of Placement: reached, allowed to write, the provider, Nova's line.

Nothing is changed, but for one trait name that capd would create anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from capd import authoptions, longline
from capd.config import Settings
from capd.errors import CapdError, ConfigError
from capd.facts import Discovery, Support
from capd.findings import Finding, fail, good, warn
from capd.ledger import is_custom
from capd.placement import Placement
from capd.plan import Plan
from capd.provider import Identity, ProviderMissing, find, identify
from capd.verdicts import Assessment


def placement(
    settings: Settings, discovery: Optional[Discovery], assessment: Optional[Assessment]
) -> Iterator[Finding]:
    """Placement: reached, authenticated, allowed to write; the provider, and Nova's care of it."""
    try:
        authoptions.check(settings.conf)
    except ConfigError as error:
        yield fail("configuration", error)
        return
    client = Placement(settings)
    client.begin()
    try:
        known = client.custom_names()
        yield good("placement", f"reached and authenticated, {len(known)} of capd's names exist")
        name = _probe_name(assessment)
        refused = client.create_names([name])
        if refused:
            yield fail("placement", refused[name])
        else:
            yield good("placement", "allowed to write")
        hostname = discovery.host.hostname if discovery else ""
        identity = identify(settings.placement, hostname)
        if identity.uuid or identity.name:
            wanted = _wanted(settings, assessment) if assessment else frozenset()
            yield from _provider(client, settings, identity, wanted)
        else:
            yield warn("provider", "unknown: libvirt did not give the host's name")
    except CapdError as error:
        yield fail("placement", error)


def _provider(
    client: Placement, settings: Settings, identity: Identity, wanted: frozenset[str]
) -> Iterator[Finding]:
    """Raises PlacementError if there is none and capd is not to create it, or in doubt."""
    try:
        provider = find(client, identity, create=False)
    except ProviderMissing:
        if not settings.placement.create_provider:
            raise
        yield good(
            "provider",
            f"{identity.name} does not exist yet; the first pass creates it, by {identity.how}",
        )
        return
    yield good("provider", f"{provider.name} ({provider.uuid}), by {provider.how}")
    yield from nova_line(client, provider.uuid, wanted)


def nova_line(client: Placement, uuid: str, wanted: frozenset[str]) -> Iterator[Finding]:
    """Whether nova-compute can ask for all traits of the provider by name, `wanted` among them.

    Raises PlacementError if Placement cannot be asked.
    """
    shown = client.provider_traits(uuid).traits
    plan = Plan(others=tuple(shown), add=tuple(wanted - shown))
    length = f"the {plan.query_bytes} bytes in which nova-compute asks for its traits"
    if longline.takes(client, plan):
        yield good("provider", f"Placement's web server takes {length}")
    else:
        yield warn(
            "provider",
            f"Placement's web server refuses {length}: nova-compute could update it no more",
            "raise the server's limit: docs/reporting.md, Many traits",
        )


def _supported(assessment: Assessment) -> Iterator[str]:
    return (name for name, one in assessment.verdicts.items() if one.support is Support.YES)


def _wanted(settings: Settings, assessment: Assessment) -> frozenset[str]:
    """What capd would have on the provider."""
    names = _supported(assessment)
    return frozenset(name for name in names if settings.traits.standard or is_custom(name))


def _probe_name(assessment: Optional[Assessment]) -> str:
    """A custom name that capd creates in any case."""
    if assessment is None:
        return "CUSTOM_CAPD_STORAGE_BUS_NVME"
    supported = {*_supported(assessment)}
    return next(filter(supported.__contains__, assessment.vocabulary), assessment.vocabulary[0])
