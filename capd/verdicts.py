"""What is to be reported: one verdict per trait, and the vocabulary.

`capd.traits` makes an `Assessment` from a `Discovery`; reporting, the dump and matching read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from capd.facts import Source, Support


@dataclass(frozen=True)
class Verdict:
    """Whether the host has the trait `name`, who says so, and why in one sentence."""

    name: str
    support: Support
    source: Source
    because: str


@dataclass(frozen=True)
class Assessment:
    """The verdicts on every trait capd can speak about here.

    `vocabulary` are all custom names capd can use on this host, supported or not, sorted; they
    are created in Placement before any is needed. `complete` False means the list of machine
    types itself could not be had, so that a name without a verdict is unknown rather than gone.
    `problems` are one-line descriptions of what could not be learnt in this pass.
    """

    verdicts: Mapping[str, Verdict]
    vocabulary: tuple[str, ...]
    complete: bool = True
    problems: tuple[str, ...] = ()

    def judge(self, name: str) -> Verdict:
        """The verdict on `name`; a `CUSTOM_CAPD_` name that nothing here yields is retired."""
        known = self.verdicts.get(name)
        if known is not None:
            return known
        if self.complete:
            return Verdict(name, Support.NO, Source.TABLE, "no longer in use on this host")
        return Verdict(name, Support.UNKNOWN, Source.TABLE, "the host could not be asked in full")


def affirmed(assessment: Assessment) -> Assessment:
    """`assessment` with every no turned into unknown: it can add traits and remove none."""
    verdicts = {
        name: replace(verdict, support=Support.UNKNOWN)
        if verdict.support is Support.NO
        else verdict
        for name, verdict in assessment.verdicts.items()
    }
    return replace(assessment, verdicts=verdicts, complete=False)
