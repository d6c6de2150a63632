"""What this host can do, kept from pass to pass and looked at anew when it has to be.

For `capd.cycle`: the link to libvirt, the last discovery and its assessment, and the judgement of
`capd.freshness` whether they still hold. With a recording as witness there is no link.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Optional

from capd import traits
from capd.config import Settings
from capd.discover import UNTRIED, Memo, Witness, discover, give_back
from capd.emulator import Answer
from capd.errors import LibvirtError
from capd.events import Post
from capd.facts import Discovery
from capd.freshness import Freshness, differs
from capd.hypervisor import Hypervisor
from capd.link import Link
from capd.live import LiveWitness
from capd.progress import Progress
from capd.verdicts import Assessment, affirmed

LOG = logging.getLogger(__name__)

#: seconds of grace on top of a step's own limits before it counts as hung
SLACK = 5.0


@dataclass(frozen=True)
class Sight:
    """What is known of the host. `looked` is why it was asked anew, None if it was not."""

    discovery: Discovery
    assessment: Assessment
    looked: Optional[str]


class Lookout:
    """One host. `once` asks nothing for the sake of a later pass."""

    def __init__(
        self, settings: Settings, post: Optional[Post], witness: Optional[Witness], once: bool
    ) -> None:
        self.link = Link(settings.libvirt, post)
        self.freshness = Freshness()
        self._settings = settings
        self._witness = witness
        self._once = once
        self._memo = Memo()
        self._answers: dict[str, Answer] = {}
        self._sight: Optional[Sight] = None

    def connect(self, progress: Progress) -> tuple[Hypervisor, bool]:
        """A connection that answers, and whether it is new. Raises LibvirtError.

        On a new one nothing still counts as known: libvirt itself may be another.
        """
        progress.expect(self._settings.libvirt.connect_timeout + 2 * SLACK)
        hypervisor, new = self.link.connect(progress.step)
        if new:
            self._memo.clear()
            self.freshness.expire("a new connection to libvirt")
        return hypervisor, new

    def look(
        self,
        hypervisor: Optional[Hypervisor],
        progress: Progress,
        early: Callable[[Sight], None],
    ) -> Sight:
        """What holds now; `early` is given the native part of a look that takes long, without any
        denial: half a look must not count as one of the two that deny.

        Raises CapdError if nothing at all can be learnt.
        """
        libvirt = self._settings.libvirt
        progress.expect(self._limit)
        if hypervisor is None:
            if self._witness is None:
                raise ValueError("neither a connection nor a witness")
            return self._ask(self._witness, progress, early, "a recording")
        hypervisor.on_wait = progress.step
        hypervisor.give_up = time.monotonic() + libvirt.sweep_timeout
        reason: Optional[str] = "asked to"
        if not self._once:
            progress.step("comparing with the last pass")
            reason = self.freshness.stale(hypervisor)
            if reason is None and self._sight is not None:
                LOG.debug("what is known still holds")
                return self._sight
            self.freshness.begin(hypervisor)
        before = self._sight
        witness = LiveWitness(hypervisor, libvirt, self._answers)
        sight = self._ask(witness, progress, early, reason or "the first pass")
        if not self._once:
            self._worth_it(hypervisor, sight)
            self._sight = Sight(sight.discovery, sight.assessment, None)
            changed = before is None or before.discovery is not sight.discovery
            self.freshness.learnt(hypervisor, sight.discovery, changed)
            give_back()
        return sight

    def _ask(
        self, witness: Witness, progress: Progress, early: Callable[[Sight], None], reason: str
    ) -> Sight:
        """A full look. What did not change stays the same object."""
        before = self._sight

        def so_far(discovery: Discovery) -> None:
            sight = self._judge(discovery, reason)
            early(replace(sight, assessment=affirmed(sight.assessment)))
            progress.expect(self._limit)

        LOG.debug("everything is asked anew: %s", reason)
        progress.step("asking libvirt")
        found = discover(self._settings, witness, self._memo, progress.discovering, so_far)
        if before is not None and not differs(before.discovery, found):
            sight = Sight(before.discovery, before.assessment, reason)
        else:
            sight = self._judge(found, reason)
        return sight

    def _worth_it(self, hypervisor: Hypervisor, sight: Sight) -> None:
        """Raises LibvirtError if libvirt or KVM went away meanwhile.

        What had not been answered by then says nothing, and claims that had not been tried yet
        would count as good: such a look is worth less than what was known before.
        """
        cut = next((text for text in sight.discovery.problems if text.startswith(UNTRIED)), None)
        before = self._sight
        if cut is not None and before is not None and before.discovery.trials:
            self._memo.clear()
            raise LibvirtError(f"{cut}; what was known stands", culprit=hypervisor.uri)
        if not hypervisor.alive():
            raise LibvirtError(
                f"{hypervisor.uri}: libvirt went away while it was asked; what was known stands",
                culprit=hypervisor.uri,
                cure="capd asks again as soon as it is back",
            )

    @property
    def _limit(self) -> float:
        """Seconds that one step of a look may take."""
        libvirt = self._settings.libvirt
        return max(libvirt.call_timeout, 2 * libvirt.emulator_timeout) + SLACK

    def _judge(self, discovery: Discovery, reason: str) -> Sight:
        settings = self._settings
        assessment = traits.assess(discovery, settings.traits, settings.libvirt)
        return Sight(discovery, assessment, reason)
