"""Figures for Prometheus: a textfile for node_exporter, and HTTP on loopback if asked for.

From `capd.daemon` after each pass. prometheus_client is loaded only if one of the two is
configured; the file is replaced in one step, so that a collector never reads half of it.
"""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capd import __version__
from capd.config import MetricsSettings
from capd.facts import Support
from capd.stages import CycleResult
from capd.values import address

if TYPE_CHECKING:
    from capd.health import Health

LOG = logging.getLogger(__name__)


class Exporter:
    """The metrics of one daemon. Without `[metrics]` it does nothing and loads nothing."""

    def __init__(self, settings: MetricsSettings) -> None:
        self._settings = settings
        self._registry: Any = None
        self._gauges: dict[str, Any] = {}
        self._server: Any = None
        self._failed = ""
        self.port = 0

    def start(self) -> None:
        """Serve over HTTP if that is configured; a failure is logged, not fatal."""
        if not self._settings.listen:
            return
        host, port = address(self._settings.listen)
        if not self._prepare():
            return
        from prometheus_client import start_http_server

        try:
            server = start_http_server(port, addr=host, registry=self._registry)
        except OSError as error:
            LOG.error("metrics are not served on %s: %s", self._settings.listen, error.strerror)
            return
        # Since 0.19 the server is returned; before, nothing is.
        self._server = server[0] if isinstance(server, tuple) else None
        self.port = self._server.server_port if self._server is not None else port

    def reconfigure(self, settings: MetricsSettings) -> None:
        """A new textfile; the address stays until the next start."""
        self._settings = MetricsSettings(settings.textfile, self._settings.listen)

    def update(self, result: CycleResult, health: Health) -> None:
        """Take the figures of a pass, and write the file."""
        if not (self._settings.textfile or self._settings.listen) or not self._prepare():
            return
        self._take(result, health)
        if self._settings.textfile is not None:
            self._write(self._settings.textfile)

    def _prepare(self) -> bool:
        if self._registry is not None:
            return True
        try:
            from prometheus_client import CollectorRegistry
        except ImportError:
            self._complain("metrics need prometheus_client (python3-prometheus-client)")
            return False
        self._registry = CollectorRegistry()
        return True

    def _set(self, name: str, text: str, value: float, **labels: str) -> None:
        from prometheus_client import Gauge

        gauge = self._gauges.get(name)
        if gauge is None:
            gauge = Gauge(f"capd_{name}", text, sorted(labels), registry=self._registry)
            self._gauges[name] = gauge
        (gauge.labels(**labels) if labels else gauge).set(value)

    def _take(self, result: CycleResult, health: Health) -> None:
        self._set("info", "Always 1; the version is a label.", 1, version=__version__)
        self._set("passes_total", "Passes since the start.", health.passes)
        self._set("looks_total", "Passes that asked everything anew.", health.looks)
        self._set("libvirt_calls_total", "libvirt calls since the start.", health.calls)
        self._set("pass_duration_seconds", "Wall time of the last pass.", result.seconds)
        for stage, at in health.last_success.items():
            self._set(
                "last_success_timestamp_seconds",
                "When the stage last went well.",
                at,
                stage=stage.value,
            )
        for stage, seconds in health.duration.items():
            self._set(
                "stage_duration_seconds",
                "Wall time of the stage in the last pass.",
                seconds,
                stage=stage.value,
            )
            self._set(
                "stage_failures_total",
                "Failures of the stage since the start.",
                health.failures[stage],
                stage=stage.value,
            )
        self._discovered(result)
        self._reported(result)
        if result.records is not None:
            status = result.records
            self._set("records", "Instances here that are recorded.", len(status.here))
            self._set("drift", "Instances that differ from their record.", status.drifting)
            self._set(
                "unsupported", "Instances this host cannot do as recorded.", status.unsupported
            )
            self._set("unreadable", "Instances that could not be read.", len(status.unreadable))

    def _discovered(self, result: CycleResult) -> None:
        discovery, assessment = result.discovery, result.assessment
        if discovery is not None:
            self._set("emulators", "Emulators known.", len(discovery.emulators))
            self._set("combinations", "Combinations listed.", len(discovery.machines))
            failed = sum(machine.error is not None for machine in discovery.machines)
            self._set("combinations_failed", "Combinations that could not be asked.", failed)
            refused = sum(1 for _ in discovery.refusals())
            self._set("claims_refused", "Claims that a trial refused.", refused)
        if assessment is not None:
            for support in Support:
                count = sum(v.support is support for v in assessment.verdicts.values())
                self._set("traits", "Traits by support.", count, support=support.value)

    def _reported(self, result: CycleResult) -> None:
        report = result.report
        if report is None or report.error:
            return
        plan = report.plan
        counts = {
            "owned": plan.owned,
            "foreign": plan.others,
            "contested": plan.contested,
            "disagreeing": plan.disagree,
            "pending_removal": plan.pending,
            "unknown_to_placement": plan.unknown_to_placement,
        }
        for state, names in counts.items():
            self._set("provider_traits", "Traits of the provider.", len(names), state=state)
        self._set("placement_requests", "Requests of the last pass.", report.requests)

    def _write(self, path: Path) -> None:
        from prometheus_client import generate_latest

        partial = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            partial.write_bytes(generate_latest(self._registry))
            partial.chmod(0o644)
            partial.replace(path)
            self._failed = ""
        except OSError as error:
            _discard(partial)
            self._complain(f"metrics cannot be written to {path}: {error.strerror}")

    def _complain(self, text: str) -> None:
        if text != self._failed:
            LOG.warning("%s", text)
        self._failed = text


def _discard(path: Path) -> None:
    """Remove a file if it is there and can be removed."""
    with contextlib.suppress(OSError):
        path.unlink()
