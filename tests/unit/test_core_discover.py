"""Discovery and judgement from a scripted witness: faults that the real parts rarely show.

The real libvirt and QEMU are asked in `tests/functional`; here one row, one document, one trial
at a time goes wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

import pytest

from capd import config, devices, traits
from capd.calls import Outcome
from capd.capabilities import Combination
from capd.config import Override, Settings
from capd.discover import Memo, discover
from capd.emulator import Answer
from capd.errors import LibvirtError, LibvirtRefusal, LibvirtTimeout
from capd.facts import Discovery, Machine, Source, Support, Trial
from capd.verdicts import Assessment

CAPS = """<capabilities><host><cpu><arch>x86_64</arch></cpu></host><guest><os_type>hvm</os_type>
<arch name='x86_64'><emulator>/bin/qemu</emulator>
<machine canonical='pc-i440fx-7.2'>pc</machine><machine>pc-i440fx-7.2</machine>
<machine canonical='pc-q35-7.2'>q35</machine><machine>pc-q35-7.2</machine>
{more}<domain type='{virt}'/></arch></guest>{guests}</capabilities>"""

DOC = """<domainCapabilities><path>/bin/qemu</path><domain>kvm</domain><machine>m</machine>
<arch>x86_64</arch><devices><disk supported='yes'><enum name='diskDevice'><value>disk</value>
<value>cdrom</value></enum><enum name='bus'>{buses}</enum></disk><video supported='yes'>
<enum name='modelType'>{video}</enum></video></devices></domainCapabilities>"""

DEVICES = 'Network devices:\nname "e1000", bus PCI\nname "virtio-net-pci", bus PCI\n'


def document(buses: Sequence[str], video: Sequence[str] = ("vga", "qxl")) -> str:
    def values(words: Iterable[str]) -> str:
        return "".join(f"<value>{word}</value>" for word in words)

    return DOC.format(buses=values(buses), video=values(video))


PC = document(["ide", "sata", "virtio"])
Q35 = document(["sata", "virtio"])


@dataclass
class Script:
    """A witness that says what it is told; errors are raised or handed out."""

    documents: dict[str, str | Exception] = field(default_factory=dict)
    more: str = ""
    virt: str = "kvm"
    guests: str = ""
    device_list: Optional[str] = DEVICES
    refuse: dict[tuple[str, str, str], str] = field(default_factory=dict)
    order: Optional[Sequence[str]] = None
    die_after: Optional[int] = None
    asked: list[Combination] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)

    def host(self) -> tuple[str, str, str]:
        return "node-1", "9.0.0", "qemu:///system"

    def capabilities(self) -> str:
        return CAPS.format(more=self.more, virt=self.virt, guests=self.guests)

    def domain_capabilities(
        self, rows: Iterable[Combination]
    ) -> Iterator[tuple[Combination, Outcome[str]]]:
        listed = list(rows)
        if self.order is not None:
            order = {name: place for place, name in enumerate(self.order)}
            listed.sort(key=lambda row: order.get(row.machine or "", 99))
        for done, row in enumerate(listed):
            if done == self.die_after:
                raise LibvirtError("qemu:///system: end of file while reading data")
            self.asked.append(row)
            answer = self.documents.get(row.machine or "", PC)
            if isinstance(answer, Exception):
                yield row, Outcome(None, answer)
            else:
                yield row, Outcome(answer, None)

    def emulators(self, paths: Sequence[str]) -> Iterator[Answer]:
        for path in paths:
            if self.device_list is None:
                yield Answer(path, None, "mark", None, "", f"{path} cannot be run")
            else:
                listed = devices.read(self.device_list, path)
                yield Answer(path, "QEMU 7.2", "mark", listed, self.device_list, None)

    def try_claims(self, machine: Machine, claims: Iterable[tuple[str, str]]) -> tuple[Trial, ...]:
        self.tried.append(machine.name)
        return tuple(
            Trial(
                machine.arch,
                machine.virt_type,
                machine.name,
                category,
                value,
                self.refuse.get((machine.name, category, value)),
            )
            for category, value in claims
        )

    def calls(self) -> int:
        return len(self.asked)


Q35S = {"q35": Q35, "pc-q35-7.2": Q35}


def run(
    script: Script, settings: Optional[Settings] = None, memo: Optional[Memo] = None
) -> tuple[Discovery, Assessment]:
    chosen = settings or config.load()
    discovery = discover(chosen, script, memo)
    return discovery, traits.assess(discovery, chosen.traits, chosen.libvirt)


def support(assessment: Assessment, name: str) -> Support:
    return assessment.judge(name).support


def test_families_and_default_are_judged_apart() -> None:
    _, found = run(Script(documents={**Q35S}))
    assert support(found, "COMPUTE_STORAGE_BUS_IDE") is Support.YES
    assert support(found, "CUSTOM_CAPD_PC_STORAGE_BUS_IDE") is Support.YES
    # B35: the union promises ide, the family that lacks it does not
    assert support(found, "CUSTOM_CAPD_Q35_STORAGE_BUS_IDE") is Support.NO
    assert support(found, "CUSTOM_CAPD_DEFAULT_STORAGE_BUS_IDE") is Support.YES
    assert support(found, "CUSTOM_CAPD_MACHINE_PC_Q35_7_2") is Support.YES
    assert support(found, "CUSTOM_CAPD_MACHINE_Q35") is Support.YES


def test_the_default_family_follows_nova_configuration() -> None:
    settings = config.load()
    chosen = replace(settings, libvirt=replace(settings.libvirt, machine_types={"x86_64": "q35"}))
    _, found = run(Script(documents={**Q35S}), chosen)
    assert support(found, "CUSTOM_CAPD_DEFAULT_STORAGE_BUS_IDE") is Support.NO
    assert support(found, "CUSTOM_CAPD_DEFAULT_STORAGE_BUS_SATA") is Support.YES


@pytest.mark.parametrize(
    "order", list(itertools.permutations(["pc-i440fx-7.2", "pc-q35-7.2", "isapc"]))
)
def test_b22_one_failing_machine_type_costs_no_other_in_any_order(order: Sequence[str]) -> None:
    script = Script(
        documents={**Q35S, "isapc": LibvirtRefusal("x", reason="invalid argument: no isapc")},
        more="<machine>isapc</machine>",
        order=order,
    )
    discovery, found = run(script)
    errors = {row.name: row.error for row in discovery.machines if row.error}
    assert errors == {"isapc": "x"}
    assert support(found, "CUSTOM_CAPD_PC_STORAGE_BUS_IDE") is Support.YES
    assert support(found, "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA") is Support.YES
    assert support(found, "CUSTOM_CAPD_ISAPC_STORAGE_BUS_SATA") is Support.UNKNOWN
    assert support(found, "CUSTOM_CAPD_MACHINE_ISAPC") is Support.UNKNOWN
    assert support(found, "COMPUTE_STORAGE_BUS_XEN") is Support.UNKNOWN


def test_b24_arguments_are_taken_from_the_listing() -> None:
    script = Script()
    run(script)
    assert {(row.emulator, row.arch, row.virt_type) for row in script.asked} == {
        ("/bin/qemu", "x86_64", "kvm")
    }
    assert "" not in {row.machine for row in script.asked}


def test_b25_errors_on_foreign_combinations_are_rows_of_their_own() -> None:
    guests = (
        "<guest><os_type>hvm</os_type><arch name='sh4eb'><emulator>/bin/sh4eb</emulator>"
        "<machine>r2d</machine><domain type='qemu'/></arch></guest>"
    )
    script = Script(
        documents={**Q35S, "r2d": LibvirtError("invalid argument: unknown architecture")},
        guests=guests,
    )
    discovery, found = run(script)
    row = discovery.machine("sh4eb", "r2d", "qemu")
    assert row is not None and row.error == "invalid argument: unknown architecture"
    assert support(found, "CUSTOM_CAPD_ARCH_SH4EB") is Support.UNKNOWN
    assert support(found, "COMPUTE_STORAGE_BUS_SATA") is Support.YES


def test_b26_kvm_that_is_not_offered() -> None:
    settings = config.load()
    discovery, found = run(Script(virt="qemu"))
    assert (discovery.host.virt_type, discovery.host.accelerated) == ("qemu", False)
    assert support(found, "COMPUTE_STORAGE_BUS_SATA") is Support.YES
    explicit = replace(settings, libvirt=replace(settings.libvirt, virt_type="kvm"))
    discovery, found = run(Script(virt="qemu"), explicit)
    assert discovery.problems == (
        "[libvirt] virt_type = kvm, but libvirt offers only qemu for x86_64",
    )
    verdict = found.judge("COMPUTE_STORAGE_BUS_SATA")
    assert (verdict.support, verdict.source) == (Support.NO, Source.CAPABILITIES)


def test_b27_an_emulator_that_cannot_be_asked_leaves_its_models_unknown() -> None:
    discovery, found = run(Script(device_list=None))
    assert discovery.problems == ("/bin/qemu cannot be run",)
    assert support(found, "COMPUTE_NET_VIF_MODEL_E1000") is Support.UNKNOWN
    assert support(found, "COMPUTE_STORAGE_BUS_IDE") is Support.YES
    assert discovery.machines[0].values("vif_model") is None


def test_native_and_canonical_machine_types_come_first() -> None:
    guests = (
        "<guest><os_type>hvm</os_type><arch name='aarch64'><emulator>/bin/arm</emulator>"
        "<machine>virt-7.2</machine><domain type='qemu'/></arch></guest>"
    )
    script = Script(guests=guests)
    run(script)
    assert [row.arch for row in script.asked] == ["x86_64"] * 4 + ["aarch64"]


def test_libvirt_dying_in_the_middle_keeps_what_was_learnt() -> None:
    discovery, found = run(Script(documents={**Q35S}, die_after=2))
    learnt = [row.name for row in discovery.machines if row.error is None]
    assert len(learnt) == 2
    assert discovery.problems[0] == (
        "2 machine types not asked: qemu:///system: end of file while reading data"
    )
    assert support(found, "COMPUTE_STORAGE_BUS_XEN") is Support.UNKNOWN


def test_a_refused_claim_yields_no_trait_and_is_listed() -> None:
    script = Script(
        documents={**Q35S},
        refuse={("pc-q35-7.2", "disk_bus", "sata"): "XML error: No PCI buses available"},
    )
    discovery, found = run(script)
    assert [(trial.machine, trial.value) for trial in discovery.refusals()] == [
        ("pc-q35-7.2", "sata")
    ]
    verdict = found.judge("CUSTOM_CAPD_Q35_STORAGE_BUS_SATA")
    assert (verdict.support, verdict.source) == (Support.NO, Source.TRIAL)
    assert verdict.because == (
        "pc-q35-7.2: claimed, but libvirt refuses it: XML error: No PCI buses available"
    )
    assert support(found, "COMPUTE_STORAGE_BUS_SATA") is Support.YES


def test_trials_are_made_once_per_family_and_remembered() -> None:
    memo = Memo()
    script = Script(documents={**Q35S})
    run(script, memo=memo)
    run(script, memo=memo)
    assert script.tried == ["pc-i440fx-7.2", "pc-q35-7.2"]


def test_trials_can_be_switched_off_and_the_claim_then_stands() -> None:
    settings = config.load()
    off = replace(settings, libvirt=replace(settings.libvirt, trials=False))
    script = Script(documents={**Q35S})
    _, found = run(script, off)
    assert script.tried == []
    verdict = found.judge("CUSTOM_CAPD_Q35_STORAGE_BUS_SATA")
    assert (verdict.support, verdict.because) == (
        Support.YES,
        "pc-q35-7.2 and 1 more: claimed, not tried",
    )


def test_b29_a_different_answer_in_the_next_pass_counts_at_once() -> None:
    memo = Memo()
    script = Script(documents={**Q35S})
    _, before = run(script, memo=memo)
    gone = document(["ide", "sata", "virtio"], ["vga"])
    script.documents = {"pc": gone, "pc-i440fx-7.2": gone, "q35": gone, "pc-q35-7.2": gone}
    _, after = run(script, memo=memo)
    assert support(before, "COMPUTE_GRAPHICS_MODEL_QXL") is Support.YES
    assert support(after, "COMPUTE_GRAPHICS_MODEL_QXL") is Support.NO


def test_a_default_machine_type_that_is_not_there_is_a_problem() -> None:
    settings = config.load()
    machines = {"x86_64": "q53", "aarch64": "virt"}
    chosen = replace(settings, libvirt=replace(settings.libvirt, machine_types=machines))
    _, found = run(Script(documents={**Q35S}), chosen)
    assert found.problems == (
        "[libvirt] hw_machine_type = x86_64=q53, but this host has no such machine type: images "
        "that name none cannot start here",
    )
    chosen = replace(chosen, libvirt=replace(chosen.libvirt, machine_types={"x86_64": "q35"}))
    assert run(Script(documents={**Q35S}), chosen)[1].problems == ()


def test_a_slip_in_an_architecture_is_a_problem_and_one_that_is_elsewhere_is_not() -> None:
    settings = config.load()
    chosen = replace(
        settings,
        libvirt=replace(settings.libvirt, machine_types={"X86_64": "q35", "aarch64": "virt"}),
        traits=replace(settings.traits, emulated=("arm64", "s390x")),
    )
    _, found = run(Script(documents={**Q35S}), chosen)
    assert found.problems == (
        "[libvirt] hw_machine_type: X86_64 is no architecture by libvirt's name, so that nothing "
        "follows from it; this host has x86_64",
        "[traits] emulated: arm64 is no architecture by libvirt's name, so that nothing "
        "follows from it; this host has x86_64",
    )


def test_b32_overrides_are_applied_and_shown() -> None:
    settings = config.load()
    chosen = replace(
        settings,
        traits=replace(
            settings.traits,
            overrides=(
                Override("COMPUTE_GRAPHICS_MODEL_BOCHS", True),
                Override("COMPUTE_GRAPHICS_MODEL_QXL", False),
                Override("CUSTOM_SOMEBODY", True),
            ),
        ),
    )
    _, found = run(Script(documents={**Q35S}), chosen)
    verdict = found.judge("COMPUTE_GRAPHICS_MODEL_BOCHS")
    assert (verdict.support, verdict.source, verdict.because) == (
        Support.YES,
        Source.OVERRIDE,
        "set by the operator, discovered as no",
    )
    assert support(found, "COMPUTE_GRAPHICS_MODEL_QXL") is Support.NO
    assert "CUSTOM_SOMEBODY" not in found.verdicts
    assert found.problems == (
        "[traits] override: CUSTOM_SOMEBODY is neither a standard trait nor one of capd's "
        "(CUSTOM_CAPD_...); ignored",
    )


def test_b38_listed_but_refused_is_unknown_and_deprecated_is_flagged() -> None:
    script = Script(
        documents={**Q35S, "pc-0.12": LibvirtRefusal("x", reason="unsupported machine")},
        more="<machine>pc-0.12</machine><machine deprecated='yes'>pc-i440fx-2.1</machine>",
    )
    _, found = run(script)
    assert support(found, "CUSTOM_CAPD_MACHINE_PC_0_12") is Support.UNKNOWN
    verdict = found.judge("CUSTOM_CAPD_MACHINE_PC_I440FX_2_1")
    assert verdict.because == "libvirt offers pc-i440fx-2.1, deprecated"


def test_what_no_source_tells_stays_unknown() -> None:
    _, found = run(Script())
    assert support(found, "COMPUTE_NET_VIF_MODEL_LAN9118") is Support.UNKNOWN
    assert support(found, "COMPUTE_SOUND_MODEL_PCSPK") is Support.UNKNOWN
    assert support(found, "COMPUTE_NET_VIF_MODEL_IGB") is Support.NO


def test_emulated_architectures_are_published_only_when_listed() -> None:
    guests = (
        "<guest><os_type>hvm</os_type><arch name='aarch64'><emulator>/bin/arm</emulator>"
        "<machine canonical='virt-7.2'>virt</machine><machine>virt-7.2</machine>"
        "<domain type='qemu'/></arch></guest>"
    )
    _, found = run(Script(guests=guests))
    assert support(found, "COMPUTE_ARCH_AARCH64") is Support.YES
    assert not [name for name in found.verdicts if "AARCH64_VIRT" in name]
    settings = config.load()
    chosen = replace(settings, traits=replace(settings.traits, emulated=("aarch64",)))
    _, found = run(Script(guests=guests), chosen)
    assert support(found, "CUSTOM_CAPD_AARCH64_VIRT_STORAGE_BUS_SATA") is Support.YES
    assert support(found, "CUSTOM_CAPD_AARCH64_MACHINE_VIRT_7_2") is Support.YES
    assert support(found, "CUSTOM_CAPD_AARCH64_DEFAULT_STORAGE_BUS_IDE") is Support.YES
    verdict = found.judge("CUSTOM_CAPD_AARCH64_VIRT_STORAGE_BUS_SATA")
    assert verdict.because == "virt-7.2 and 1 more: accepted by libvirt"


def test_the_vocabulary_has_every_custom_name_supported_or_not() -> None:
    _, found = run(Script(documents={**Q35S}))
    assert "CUSTOM_CAPD_Q35_STORAGE_BUS_IDE" in found.vocabulary
    assert "CUSTOM_CAPD_MICROVM_STORAGE_BUS_VIRTIO" in found.vocabulary
    assert "CUSTOM_CAPD_DEFAULT_NET_VIF_MODEL_TULIP" in found.vocabulary
    assert all(name.startswith("CUSTOM_CAPD_") for name in found.vocabulary)
    assert list(found.vocabulary) == sorted(found.vocabulary)


def test_a_timeout_of_one_row_is_unknown_not_no() -> None:
    script = Script(documents={**Q35S, "pc-q35-7.2": LibvirtTimeout("not answered within 20 s")})
    _, found = run(script)
    assert support(found, "CUSTOM_CAPD_MACHINE_PC_Q35_7_2") is Support.UNKNOWN
    # the alias answered
    assert support(found, "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA") is Support.YES


def test_b28_native_machine_types_are_passed_on_early_where_the_host_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("capd.discover.EARLY_AFTER", -1.0)
    guests = (
        "<guest><os_type>hvm</os_type><arch name='aarch64'><emulator>/bin/arm</emulator>"
        "<machine>virt-7.2</machine><domain type='qemu'/></arch></guest>"
    )
    script = Script(documents={**Q35S}, guests=guests)
    settings = config.load()
    partial: list[Discovery] = []
    whole = discover(settings, script, early=partial.append)
    (before,) = partial
    assert (before.complete, whole.complete) == (False, True)
    found = traits.assess(before, settings.traits, settings.libvirt)
    assert support(found, "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA") is Support.YES
    assert found.judge("CUSTOM_CAPD_Q35_STORAGE_BUS_SATA").because.endswith("accepted by libvirt")
    assert support(found, "COMPUTE_ARCH_AARCH64") is Support.UNKNOWN
    # a name that a complete pass would retire is kept by an incomplete one
    assert support(found, "CUSTOM_CAPD_MACHINE_PC_Q35_1_0") is Support.UNKNOWN
    after = traits.assess(whole, settings.traits, settings.libvirt)
    assert support(after, "COMPUTE_ARCH_AARCH64") is Support.YES
    assert support(after, "CUSTOM_CAPD_MACHINE_PC_Q35_1_0") is Support.NO


def test_a_quick_host_is_passed_on_once() -> None:
    partial: list[Discovery] = []
    discover(config.load(), Script(documents={**Q35S}), early=partial.append)
    assert partial == []
