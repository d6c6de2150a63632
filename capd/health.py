"""How the service is: what went well last, what is wrong now, what changed.

`capd.daemon` tells it of every pass; it gives the status line that systemd shows, the log (changes
and not cycles, a repeated failure once) and the counts that `capd.metrics` exports.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Optional

from capd.errors import CapdError
from capd.facts import Discovery, Support
from capd.journal import Repeats, fields
from capd.outcome import Report
from capd.stages import CycleResult, Stage
from capd.verdicts import Assessment

LOG = logging.getLogger(__name__)

#: lines that one pass may log of one kind; the rest is counted
_LINES = 40


class Health:
    """The state of the service; used by the main thread only."""

    def __init__(self) -> None:
        self.last_success: dict[Stage, float] = {}
        self.duration: dict[Stage, float] = {}
        self.failures: Counter[Stage] = Counter()
        self.passes = 0
        self.looks = 0
        self.calls = 0
        self._repeats = Repeats(LOG)
        self._good: Optional[float] = None
        self._doing = ""
        self._reload = ""
        self._summary = "nothing reported yet"
        self._discovery: Optional[Discovery] = None
        self._assessment: Optional[Assessment] = None

    def line(self) -> str:
        """One line for `systemctl status`."""
        good = time.strftime("%H:%M:%S", time.localtime(self._good)) if self._good else "none yet"
        parts = [f"last good pass {good}", self._summary]
        parts += [f"{stage} fails: {text}" for stage, text in self._repeats.failing().items()]
        if self._reload:
            parts.append(self._reload)
        if self._doing:
            parts.append(f"now: {self._doing}")
        return "; ".join(" ".join(part.split()) for part in parts)[:800]

    def doing(self, text: str) -> None:
        """What the pass under way is at, '' between passes."""
        self._doing = text

    def finished(self, result: CycleResult) -> None:
        """A pass came to its end, whatever became of its stages."""
        self.passes += result.full
        self.calls += result.calls
        self.looks += result.looked is not None
        failed = {problem.stage for problem in result.errors}
        for stage in result.stages:
            self.duration[stage.stage] = stage.seconds
            if stage.error is None:
                self.last_success[stage.stage] = time.time()
                self._repeats.succeeded(stage.stage.value)
            else:
                self.failures[stage.stage] += 1
                self._repeats.failed(stage.stage.value, stage.error.line())
        self._repeats.succeeded("pass")
        if not failed and result.full:
            self._good = time.time()
        if result.discovery is not None and result.discovery is not self._discovery:
            self._learnt(result.discovery)
        if result.assessment is not None and result.assessment is not self._assessment:
            self._judged(result.assessment)
        if result.report is not None and not result.report.error:
            self._reported(result.report)

    def crashed(self, error: BaseException) -> None:
        """A pass ended in an exception nobody foresaw; its trace is logged once."""
        message = f"{type(error).__name__}: {error}"
        if self._repeats.failing().get("pass") != message:
            LOG.error("a pass ended unexpectedly", exc_info=error, extra=fields(stage="pass"))
        self._repeats.failed("pass", message)

    def reloaded(self, error: Optional[CapdError], later: Sequence[str] = ()) -> None:
        """SIGHUP was served: with `error` the old configuration stays in force."""
        if error is not None:
            text = error.line()
            LOG.error("reload failed, the old configuration stays: %s", text)
            self._reload = f"reload failed: {text}"
            return
        self._reload = ""
        LOG.info("configuration reloaded")
        for name in later:
            LOG.warning("%s takes effect at the next start", name, extra=fields(setting=name))

    def _learnt(self, discovery: Discovery) -> None:
        before, self._discovery = self._discovery, discovery
        host = discovery.host
        if before is None:
            LOG.info(
                "libvirt %s at %s: %d combinations, %d emulators, native %s, %s",
                host.libvirt,
                host.uri,
                len(discovery.machines),
                len(discovery.emulators),
                host.arch,
                host.virt_type,
            )
        elif before.host != host:
            LOG.info("the host changed: libvirt %s, %s", host.libvirt, host.virt_type)
        _limited(_machine_changes(before, discovery))

    def _reported(self, report: Report) -> None:
        """What was written, and what capd left to others."""
        plan = report.plan
        self._summary = f"{len(plan.owned)} traits on {plan.name}"
        for label, names in (("contested", plan.contested), ("disagreeing", plan.disagree)):
            if names:
                self._summary += f", {len(names)} {label}"
        for line in report.changes:
            level = logging.WARNING if line.startswith("contested: ") else logging.INFO
            LOG.log(level, "%s", line, extra=fields(provider=plan.provider))
        about = {"provider": plan.provider}
        _limited((f"removed {name}", fields(trait=name, **about)) for name in report.removed)
        _limited((f"added {name}", fields(trait=name, **about)) for name in report.added)

    def _judged(self, assessment: Assessment) -> None:
        before, self._assessment = self._assessment, assessment
        # those of the discovery are among them
        known = set(before.problems) if before else set()
        fresh = [problem for problem in assessment.problems if problem not in known]
        _limited(((problem, {}) for problem in fresh), logging.WARNING)
        supported = sum(v.support is Support.YES for v in assessment.verdicts.values())
        self._summary = f"{supported} traits supported"
        if before is None:
            LOG.info("%d traits supported here", supported)
            return
        _limited(_trait_changes(before, assessment))


def _machine_changes(
    before: Optional[Discovery], after: Discovery
) -> Iterable[tuple[str, dict[str, str]]]:
    """Machine types that came, went, or began or ceased to fail."""
    old = {(m.arch, m.virt_type, m.name): m for m in before.machines} if before else {}
    new = {(m.arch, m.virt_type, m.name): m for m in after.machines}
    for key, machine in new.items():
        name, was = " ".join(key), old.get(key)
        if machine.error and (was is None or was.error != machine.error):
            yield f"machine type {name}: {machine.error}", fields(machine=machine.name)
        elif was is not None and was.error and not machine.error:
            yield f"machine type {name} can be asked again", fields(machine=machine.name)
        elif was is None and before is not None:
            yield f"machine type {name} is new", fields(machine=machine.name)
    for key in old.keys() - new.keys():
        yield f"machine type {' '.join(key)} is gone", fields(machine=key[2])


def _trait_changes(before: Assessment, after: Assessment) -> Iterable[tuple[str, dict[str, str]]]:
    """Traits whose support differs."""
    for name in sorted(before.verdicts.keys() | after.verdicts.keys()):
        was, now = before.judge(name), after.judge(name)
        if was.support is not now.support:
            text = f"{name}: {now.support.value}, was {was.support.value} ({now.because})"
            yield text, fields(trait=name)


def _limited(lines: Iterable[tuple[str, dict[str, str]]], level: int = logging.INFO) -> None:
    """Log the lines, but not hundreds of them."""
    count = 0
    for text, about in lines:
        count += 1
        if count <= _LINES:
            LOG.log(level, "%s", text, extra=about)
    if count > _LINES:
        LOG.info("and %d more of that kind; capd --dump shows all", count - _LINES)
