"""What the tests of reporting share: assessments in one line, and a host with its reporter."""

from __future__ import annotations

import functools
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

from capd.config import Settings, load
from capd.facts import Source, Support
from capd.report import Reporter
from capd.store import Store
from capd.verdicts import Assessment, Verdict
from tests.fake_placement import FakeClient, FakePlacement

YES, NO, UNKNOWN = Support.YES, Support.NO, Support.UNKNOWN

BOCHS = "COMPUTE_GRAPHICS_MODEL_BOCHS"
VGA = "COMPUTE_GRAPHICS_MODEL_VGA"
IGB = "COMPUTE_NET_VIF_MODEL_IGB"
IDE = "COMPUTE_STORAGE_BUS_IDE"
A, B, C = "CUSTOM_CAPD_A", "CUSTOM_CAPD_B", "CUSTOM_CAPD_C"
GOLD = "CUSTOM_GOLD"
MARK = "CUSTOM_CAPD_UNCONFIRMED"
STANDARD = (BOCHS, VGA, IGB, IDE)


def assess(*, complete: bool = True, overrides: tuple[str, ...] = (), **traits: Any) -> Assessment:
    """An assessment from names to yes, no, unknown."""
    verdicts = {
        name: Verdict(
            name,
            Support(support),
            Source.OVERRIDE if name in overrides else Source.DOMCAPS,
            "for this test",
        )
        for name, support in traits.items()
    }
    vocabulary = tuple(sorted(name for name in verdicts if name.startswith("CUSTOM_CAPD_")))
    return Assessment(verdicts, vocabulary, complete)


def configure(directory: Path, text: str = "", placement: str = "") -> Settings:
    """Settings with a state directory of their own."""
    files = "" if "compute_id_files" in placement else "compute_id_files =\n"
    path = directory / "capd.conf"
    path.write_text(
        f"[DEFAULT]\nstate_dir = {directory}/state\n{text}\n"
        f"[placement]\nauth_type = admin_token\n{files}{placement}\n"
    )
    return load([path])


@functools.cache
def _settings(text: str) -> Settings:
    """Settings for fake hosts; parsed once, since the property test makes thousands of them."""
    with tempfile.TemporaryDirectory() as scratch:
        return configure(Path(scratch), text)


class FakeHost:
    """One host whose provider lives on a fake Placement."""

    def __init__(self, directory: Path, text: str = "", traits: tuple[str, ...] = (GOLD,)) -> None:
        self.directory = directory
        self.fake = FakePlacement(STANDARD)
        self.uuid = self.fake.create("host1", traits=traits)
        self.store: Optional[Store] = None
        self.restart(text)

    def restart(self, text: str = "") -> None:
        """A new process with the same state."""
        if self.store is not None:
            self.store.close()
        self.settings = replace(_settings(text), state_dir=self.directory / "state")
        self.store = Store(self.settings.state_dir / "capd.db")
        self.client = FakeClient(self.settings, self.fake)
        self.reporter = Reporter(self.settings, self.store, "host1", client=self.client)

    def forget(self) -> None:
        """Lose capd.db, and restart."""
        assert self.store is not None
        self.store.close()
        for path in self.settings.state_dir.glob("capd.db*"):
            path.unlink()
        self.restart()

    @property
    def traits(self) -> set[str]:
        return self.fake.providers[self.uuid].traits

    def report(self, **traits: Any) -> Any:
        """One pass with these verdicts."""
        return self.reporter.report(assess(**traits))
