"""Whether what is known still holds: every change libvirt can show, and nothing for nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from capd import config, freshness, lookout, stamps
from capd import trial as trials
from capd.calls import Outcome
from capd.capabilities import Combination
from capd.errors import LibvirtError, LibvirtRefusal
from capd.facts import Cost, Discovery, Emulator, Host, Machine, Trial
from capd.freshness import Freshness, differs
from capd.progress import Progress


def machine(name: str, arch: str = "x86_64", error: str | None = None) -> Machine:
    family = name.split("-")[0]
    default = name == "pc"
    return Machine(
        arch, "kvm", name, name, None, family, default, False, f"/q/{arch}", error=error
    )


HOST = Host("h", "9.0.0", "qemu:///system", "x86_64", "kvm", True)
MACHINES = (machine("q35"), machine("pc"), machine("isapc"), machine("virt", "aarch64"))
DISCOVERY = Discovery(
    HOST, (Emulator("/q/x86_64", "x86_64", "7.2", "f", frozenset()),), MACHINES, (), Cost(9, 1.0)
)


class Libvirt:
    """A hypervisor whose answers a test changes."""

    def __init__(self) -> None:
        self.text = "<capabilities/>"
        self.answers: dict[str, str] = {}
        self.asked: list[str] = []

    def capabilities(self) -> str:
        return self.text

    def domain_capabilities(
        self, rows: Iterable[Combination]
    ) -> Iterator[tuple[Combination, Outcome[str]]]:
        for row in rows:
            assert row.machine is not None and row.emulator
            self.asked.append(row.machine)
            answer = self.answers.get(row.machine, "same")
            error = LibvirtError(answer) if answer.startswith("error") else None
            yield row, Outcome(None if error else answer, error)


@pytest.fixture
def libvirt(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(stamps, "take", lambda *paths: ("unchanged",))
    return Libvirt()


@pytest.fixture
def known(libvirt: Any) -> Freshness:
    """What two looks that agree leave."""
    made = Freshness()
    assert made.stale(libvirt) == "the first pass"
    look(made, libvirt, changed=True)
    assert made.stale(libvirt) == "the last look found a change"
    look(made, libvirt)
    libvirt.asked.clear()
    return made


def look(made: Freshness, libvirt: Any, discovery: Discovery = DISCOVERY, **more: bool) -> None:
    made.begin(libvirt)
    made.learnt(libvirt, discovery, more.get("changed", False))


def test_unchanged_host_is_asked_one_of_each_native_family_and_one_in_turn(
    known: Freshness, libvirt: Any
) -> None:
    for _ in range(4):
        assert known.stale(libvirt) is None
    assert libvirt.asked[0::4] == ["pc"] * 4  # the default's family first
    assert libvirt.asked[1::4] == ["q35"] * 4
    assert sorted(libvirt.asked[3::4]) == ["isapc", "pc", "q35", "virt"]  # each in its turn


def test_b29_different_answer_with_no_file_changed_is_seen_in_the_next_pass(
    known: Freshness, libvirt: Any
) -> None:
    """QXL gone from libvirt's answer: every machine type of that emulator shows it."""
    libvirt.answers["q35"] = "without qxl"
    assert known.stale(libvirt) == "libvirt answers differently for q35 on x86_64"


def test_different_answer_for_a_foreign_machine_is_seen_in_its_turn(
    known: Freshness, libvirt: Any
) -> None:
    for _ in range(4):
        assert known.stale(libvirt) is None
    libvirt.answers["virt"] = "other"
    reasons = [known.stale(libvirt) for _ in range(4)]
    assert "libvirt answers differently for virt on aarch64" in reasons


def test_answer_that_becomes_an_error_is_a_difference(known: Freshness, libvirt: Any) -> None:
    libvirt.answers["pc"] = "error: refused"
    assert known.stale(libvirt) == "libvirt answers differently for pc on x86_64"


def test_b72_capabilities_files_events_and_time(
    known: Freshness, libvirt: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    libvirt.text = "<capabilities><guest/></capabilities>"
    assert known.stale(libvirt) == "libvirt's capabilities changed"
    look(known, libvirt)
    assert known.stale(libvirt) is None
    assert not known.touched()
    monkeypatch.setattr(stamps, "take", lambda *paths: ("touched",))
    assert known.touched()
    assert known.stale(libvirt) == "an emulator, a device module or the KVM device changed"
    look(known, libvirt)
    known.expire("a new connection to libvirt")
    assert known.stale(libvirt) == "a new connection to libvirt"
    look(known, libvirt)
    now = freshness.time.monotonic()
    monkeypatch.setattr(freshness.time, "monotonic", lambda: now + 3601)
    assert known.stale(libvirt) == "an hour has passed"


def test_a_change_during_the_look_is_found_after_it(known: Freshness, libvirt: Any) -> None:
    known.begin(libvirt)
    libvirt.answers["pc"] = "changed meanwhile"
    known.learnt(libvirt, DISCOVERY, False)
    assert known.stale(libvirt) == "libvirt answers differently for pc on x86_64"


def test_what_failed_is_asked_again_less_and_less_often(known: Freshness, libvirt: Any) -> None:
    broken = replace(DISCOVERY, machines=(*MACHINES, machine("sh4eb", error="no such machine")))
    passes = []
    for _ in range(8):
        look(known, libvirt, broken)
        count = 1
        while known.stale(libvirt) is None:
            count += 1
        passes.append(count)
    assert passes == [2, 4, 8, 16, 32, 60, 60, 60]


def test_cost_is_no_difference() -> None:
    assert not differs(DISCOVERY, replace(DISCOVERY, cost=Cost(700, 0.4)))
    assert differs(DISCOVERY, replace(DISCOVERY, machines=MACHINES[:3]))


# -- a look that was cut short


class Answering:
    """A hypervisor that is there, or no longer."""

    uri = "qemu:///system"
    calls = 0
    give_up = 0.0

    def __init__(self, alive: bool = True) -> None:
        self._alive = alive
        self.on_wait: Any = None

    def alive(self) -> bool:
        return self._alive

    def capabilities(self) -> str:
        return "<capabilities/>"

    def domain_capabilities(self, rows: Iterable[Combination]) -> Iterator[Any]:
        return iter(())


@pytest.mark.parametrize(
    ("alive", "problem", "words"),
    [
        (False, "", "libvirt went away while it was asked; what was known stands"),
        (True, "no trials of pc: does not support virt type 'kvm'", "what was known stands"),
    ],
)
def test_a_look_cut_short_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alive: bool, problem: str, words: str
) -> None:
    """libvirtd killed, or KVM gone, while the machine types were being tried."""
    path = tmp_path / "capd.conf"
    path.write_text("")
    trial = Trial("x86_64", "kvm", "pc", "disk_bus", "sata", "refused")
    found = [replace(DISCOVERY, trials=(trial,)), replace(DISCOVERY, problems=(problem,))]
    monkeypatch.setattr(lookout, "discover", lambda *args: found.pop(0))
    made = lookout.Lookout(config.load([path]), None, None, once=False)
    hypervisor: Any = Answering()
    first = made.look(hypervisor, Progress(), lambda sight: None)
    made.freshness.expire("again")
    hypervisor = Answering(alive)
    with pytest.raises(LibvirtError, match=words):
        made.look(hypervisor, Progress(), lambda sight: None)
    found.append(replace(DISCOVERY, trials=(trial,)))
    again = made.look(Answering(), Progress(), lambda sight: None)  # type: ignore[arg-type]
    assert again.discovery is first.discovery
    assert again.assessment is first.assessment


def test_a_refusal_that_speaks_of_the_host_is_no_trial() -> None:
    class Refusing:
        def to_native(self, guests: Iterable[tuple[Any, str]]) -> Iterator[Any]:
            text = "unsupported configuration: Emulator '/q' does not support virt type 'kvm'"
            for number, (key, _) in enumerate(guests):
                yield key, Outcome(*(("argv", None) if number == 0 else (None, _refusal(text))))

    def _refusal(text: str) -> LibvirtRefusal:
        return LibvirtRefusal(text, reason=text)

    hypervisor: Any = Refusing()
    with pytest.raises(LibvirtError, match="does not support virt type"):
        trials.run(hypervisor, MACHINES[1], [("disk_bus", "sata")])
