"""Where an image and a flavor, or two trait demands, cannot both be met.

The last step of `capd.match.translate`: the outcomes concerned become errors, and so ask for
nothing; all others stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from capd.match.guest import Given
from capd.match.outcomes import Origin, Outcome, Status


def settle(outcomes: Sequence[Outcome], entries: Sequence[Given]) -> tuple[Outcome, ...]:
    """`outcomes` (one for each of `entries`), with those in dispute turned into errors."""
    return _contradictions(_conflicts(outcomes, entries))


def _conflicts(outcomes: Sequence[Outcome], entries: Sequence[Given]) -> list[Outcome]:
    """Nova refuses an instance whose flavor and image differ on a device."""
    result = list(outcomes)
    first: dict[str, int] = {}
    for index, entry in enumerate(entries):
        if entry.meaning is None or outcomes[index].passed:
            continue
        other = first.setdefault(entry.meaning, index)
        if other == index or entry.origin is not Origin.FLAVOR:
            continue
        if outcomes[other].canonical != outcomes[index].canonical:
            for place, rival in ((index, entries[other]), (other, entry)):
                note = f"conflicts with {rival.name}={rival.value} of the {rival.origin.value}"
                result[place] = _error(result[place], note)
    return result


def _contradictions(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """A trait cannot be required and forbidden; Placement refuses the whole request."""
    signs = Counter(
        trait for trait, _ in {(ask.trait, ask.forbidden) for one in outcomes for ask in one.asks}
    )
    both = {trait for trait, count in signs.items() if count > 1}
    return tuple(
        _error(one, f"{one.asks[0].trait} is required and forbidden at the same time")
        if one.passed and one.asks[0].trait in both
        else one
        for one in outcomes
    )


def _error(outcome: Outcome, note: str) -> Outcome:
    return replace(outcome, status=Status.ERROR, asks=(), note=note)
