"""Resources: the request that Nova's scheduler would make to Placement for one instance.

`GET /allocation_candidates` answers with allocations over whole trees of providers; what is
wanted here are the hosts at their roots. It is asked for as many candidates as Nova asks for
(`[scheduler] max_placement_results`), since each carries all traits of its tree.

https://docs.openstack.org/api-ref/placement/#allocation-candidates
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from capd.errors import InputError, PlacementError
from capd.match.flavors import Flavor
from capd.match.outcomes import Translation
from capd.match.providers import Providers

#: Nova's default of [scheduler] max_placement_results
LIMIT = 1000

_FORBIDDEN = (1, 22)
_GROUPS = (1, 25)
_ROOT_REQUIRED = (1, 35)


@dataclass(frozen=True)
class Group:
    """A granular group: resources and traits of one provider, under Nova's suffix."""

    suffix: str
    resources: Mapping[str, int]
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """What one instance takes: resources of a host, and granular groups."""

    resources: Mapping[str, int]
    groups: tuple[Group, ...] = ()
    policy: str = "none"
    limit: int = field(default=LIMIT)


def request_for(flavor: Optional[Flavor], volume_backed: bool) -> Optional[Request]:
    """The request of an instance of `flavor`, None if it asks for no resources.

    Raises InputError where the extra specs name traits of a group without resources.
    """
    if flavor is None:
        return None
    resources = flavor.resources(volume_backed)
    groups = []
    for suffix, (amounts, signs) in sorted(flavor.groups().items()):
        if not amounts:
            raise InputError(
                f"the flavor names traits of group {suffix} and no resources of it",
                culprit=suffix,
                cure=f"add resources{suffix}:CLASS",
            )
        groups.append(
            Group(
                suffix,
                amounts,
                tuple(sorted(trait for trait, sign in signs.items() if sign == "required")),
                tuple(sorted(trait for trait, sign in signs.items() if sign == "forbidden")),
            )
        )
    if not resources and not groups:
        return None
    policy = flavor.extra_specs.get("group_policy", "none")
    return Request(resources, tuple(groups), policy)


def candidates(
    providers: Providers, request: Request, translation: Translation, used: frozenset[str]
) -> tuple[frozenset[str], Optional[int]]:
    """The roots of the trees that can take the instance, and the limit if it was reached.

    `used` are the traits that some provider has; Placement refuses to be asked for others.
    """
    if not used.issuperset(translation.required):
        return frozenset(), None
    query = _query(providers.version, request, translation, used)
    answer = providers.get(f"/allocation_candidates?{query}&limit={request.limit}")
    try:
        rows = answer["allocation_requests"]
        summaries = answer["provider_summaries"]
        roots = frozenset(
            summaries[uuid].get("root_provider_uuid") or uuid
            for row in rows
            for uuid in row["allocations"]
        )
    except (TypeError, KeyError, AttributeError):
        raise providers.unreadable("allocation candidates") from None
    return roots, request.limit if len(rows) >= request.limit else None


def _query(
    version: tuple[int, int], request: Request, translation: Translation, used: frozenset[str]
) -> str:
    """The query of a request: what devices need goes to the root, what was named anywhere."""
    named = translation.passed
    root = [trait for trait in translation.required if trait not in named]
    anywhere = [trait for trait in translation.required if trait in named]
    forbidden = [trait for trait in translation.forbidden if trait in used]
    if not request.resources:
        root, anywhere = root + anywhere, []
    elif version < _ROOT_REQUIRED:
        root, anywhere = [], root + anywhere
    if (forbidden or any(group.forbidden for group in request.groups)) and version < _FORBIDDEN:
        raise PlacementError(
            f"forbidden traits need Placement 1.22, this one has {_text(version)}",
            culprit=_text(version),
            cure="upgrade Placement, or match without what is forbidden",
        )
    if request.groups and version < _GROUPS:
        raise PlacementError(
            f"granular groups need Placement 1.25, this one has {_text(version)}",
            culprit=_text(version),
            cure="upgrade Placement, or match without the numbered groups of the flavor",
        )
    unsigned = anywhere + [f"!{trait}" for trait in forbidden]
    terms = [_resources("", request.resources)] if request.resources else []
    terms += [f"root_required={','.join(root)}"] if root else []
    terms += [f"required={','.join(unsigned)}"] if unsigned else []
    for group in request.groups:
        terms.append(_resources(group.suffix, group.resources))
        signed = [*group.required, *(f"!{trait}" for trait in group.forbidden)]
        terms += [f"required{group.suffix}={','.join(signed)}"] if signed else []
    if len(request.groups) > 1:
        terms.append(f"group_policy={request.policy}")
    return "&".join(terms)


def _resources(suffix: str, amounts: Mapping[str, int]) -> str:
    text = ",".join(f"{name}:{amount}" for name, amount in sorted(amounts.items()))
    return f"resources{suffix}={text}"


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
