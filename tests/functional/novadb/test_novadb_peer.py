"""capd against `nova-manage image_property` on copies of one cloud: codes, words, every row.

The documented cases one by one, Nova on one copy and capd on the other; then all tables of both
are compared, and Nova's objects load what capd wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from capd import config
from capd.errors import CapdError
from capd.novadb.backend import Backend
from capd.novadb.cells import Cloud
from capd.novadb.urls import resolve
from tests.functional.novadb.conftest import Twins
from tests.functional.novadb.world import Peer, World, ident, normal

LONG = "x" * 255

#: instance, assignments, exit code, text ({u} is the uuid); text None: the server's own words
SETS: list[tuple[str, list[str], int, Any]] = [
    ("plain", ["hw_disk_bus=sata"], 0, ""),
    ("plain", ["hw_disk_bus=sata"], 0, ""),
    ("plain", ["hw_disk_bus=scsi", "hw_vif_model=VirtualE1000", "hw_video_ram=64"], 0, ""),
    ("plain", ["hw_disk_bus=virtio", "hw_disk_bus=usb"], 0, ""),
    ("plain", ["trait:HW_CPU_X86_AVX2=required", "trait:CUSTOM_X=forbidden"], 0, ""),
    ("plain", ["hw_machine_type=pc-q35-7.2"], 0, ""),
    ("plain", ["hw_machine_type="], 0, ""),
    ("plain", ["hw_qemu_guest_agent=maybe"], 0, ""),
    ("plain", ["hw_disk_bus=xen"], 0, ""),
    ("plain", ["os_require_quiesce=yes", "hw_boot_menu=on"], 0, ""),
    ("plain", ["hw_architecture=amd64"], 0, ""),
    ("plain", ["hw_numa_mem=5", "hw_numa_cpus=0", "traits_required=a"], 0, ""),
    ("plain", [f"os_distro={LONG}"], 0, ""),
    ("rich", ["hw_cdrom_bus=scsi"], 0, ""),
    ("rich", ["hw_scsi_model=virtio-scsi", "hw_rng_model=virtio", "hw_rescue_bus=usb"], 0, ""),
    ("registered", ["hw_disk_bus=scsi"], 0, ""),
    ("registered", ["hw_video_model=virtio"], 0, ""),
    ("empty-value", ["hw_machine_type=q35"], 0, ""),
    ("no-image", ["hw_input_bus=virtio"], 0, ""),
    ("shelved", ["hw_disk_bus=sata"], 0, ""),
    ("offloaded", ["hw_disk_bus=sata"], 0, ""),
    ("in-cell0", ["hw_disk_bus=sata"], 0, ""),
    ("grouped", ["hw_disk_bus=sata"], 0, ""),
    ("nowhere", ["hw_disk_bus=sata"], 2, "Instance {u} has no mapping to a cell."),
    ("no-mapping", ["hw_disk_bus=sata"], 2, "Instance {u} has no mapping to a cell."),
    ("deleted", ["hw_disk_bus=sata"], 2, "Instance {u} could not be found."),
    ("no-spec", ["hw_disk_bus=sata"], 1, "RequestSpec not found for instance {u}"),
    ("plain", ["hw_disk_bus"], 4, "--property should use the format key=value"),
    ("plain", ["hw_disk_bus=sata", "bad"], 4, "--property should use the format key=value"),
    ("plain", ["nonsense=1"], 5, "Invalid image property name nonsense."),
    ("plain", ["=x"], 5, "Invalid image property name ."),
    ("plain", [" hw_disk_bus=sata"], 5, "Invalid image property name  hw_disk_bus."),
    ("plain", ["HW_DISK_BUS=sata"], 5, "Invalid image property name HW_DISK_BUS."),
    ("plain", ["architecture=x86_64"], 5, "Invalid image property name architecture."),
    ("plain", ["min_ram=1"], 5, "Invalid image property name min_ram."),
    ("plain", ["hw_disk_bus=floppy"], 6, "Field value floppy is invalid"),
    ("plain", ["hw_video_ram=much"], 6, "invalid literal for int() with base 10: 'much'"),
    ("plain", ["hw_vif_model=igb", "hw_disk_bus=no"], 6, "Field value no is invalid"),
    ("bad-stored", ["hw_disk_bus=sata"], 6, "invalid literal for int() with base 10: 'much'"),
    ("active", ["hw_disk_bus"], 3, "vm_state"),
    ("active", ["nonsense=1"], 3, "vm_state"),
    *((name, ["hw_disk_bus=sata"], 3, "vm_state") for name in ("active", "paused", "error")),
    *((name, ["hw_disk_bus=sata"], 3, "vm_state") for name in ("rescued", "building")),
    ("unmapped", ["hw_disk_bus=sata"], 3, "vm_state"),
]

SHOWS: list[tuple[str, str, int, str]] = [
    ("rich", "hw_machine_type", 0, "q35"),
    ("rich", "hw_vif_model", 0, "VirtualE1000"),
    ("rich", "custom_key", 0, "anything"),
    ("rich", "trait:HW_CPU_X86_AVX2", 0, "required"),
    ("rich", "base_image_ref", 0, "11111111-2222-4333-8444-555555555555"),
    ("active", "hw_disk_bus", 0, "virtio"),
    ("unmapped", "base_image_ref", 0, "11111111-2222-4333-8444-555555555555"),
    ("in-cell0", "base_image_ref", 0, "11111111-2222-4333-8444-555555555555"),
    ("spare0", "hw_cdrom_bus", 3, "Image property hw_cdrom_bus not found for instance {u}."),
    (
        "bad-stored",
        "hw_video_model",
        3,
        "Image property hw_video_model not found for instance {u}.",
    ),
    ("no-image", "base_image_ref", 3, "Image property base_image_ref not found for instance {u}."),
    ("nowhere", "hw_disk_bus", 2, "Instance {u} has no mapping to a cell."),
    ("deleted", "hw_disk_bus", 2, "Instance {u} could not be found."),
]

STATE = (
    "Instance {u} in vm_state {s}. Cannot image_property set (must be STOPPED, SHELVED, OR "
    "SHELVED_OFFLOADED). while the instance is in this state."
)
UNEXPECTED = "Unexpected error, see nova-manage.log for the full trace: "


@pytest.fixture(scope="module")
def twins(pristine: World) -> Iterator[Twins]:
    """Twins of this module's own: all of their tables are compared."""
    theirs, ours = pristine.copy("peer_theirs"), pristine.copy("peer_ours")
    with Peer(theirs.conf) as peer, Peer(ours.conf) as reader:
        yield Twins(theirs, ours, peer, reader)


def capd(world: World, what: str, *arguments: Any) -> tuple[int, str]:
    """Exit code and text of capd's own `show` or `set`."""
    with Cloud(config.load([world.conf]).conf) as cloud:
        try:
            result = getattr(Backend(cloud), what)(*arguments)
        except CapdError as error:
            return error.exit_code, str(error)
    return 0, result if isinstance(result, str) else ""


def nova(answer: tuple[int, str]) -> tuple[int, str]:
    """nova-manage's answer without the words that go before every unexpected error."""
    code, text = answer
    text = text.rstrip("\n")
    return code, (text[len(UNEXPECTED) :].strip() if text.startswith(UNEXPECTED) else text)


def case_id(case: Any) -> str:
    return f"{case[0]}-{case[1]}"


@pytest.mark.parametrize("case", SHOWS, ids=case_id)
def test_show_answers_as_nova_manage(twins: Twins, case: tuple[str, str, int, str]) -> None:
    name, key, code, text = case
    expected = (code, text.format(u=ident(name)))
    assert nova(twins.peer.show(ident(name), key)) == expected
    assert capd(twins.capd, "show", ident(name), key) == expected


@pytest.mark.parametrize("case", SETS, ids=case_id)
def test_set_answers_as_nova_manage(twins: Twins, case: tuple[str, list[str], int, Any]) -> None:
    name, assignments, code, text = case
    if text == "vm_state":
        state = {"active": "active", "unmapped": "building"}.get(name, name)
        text = STATE.replace("{s}", state)
    expected = (code, text.format(u=ident(name)))
    assert nova(twins.peer.set(ident(name), assignments)) == expected
    assert capd(twins.capd, "set", ident(name), assignments) == expected


def test_all_tables_are_equal_afterwards(twins: Twins) -> None:
    theirs, ours = twins.nova.tables(), twins.capd.tables()
    assert set(theirs) == set(ours)
    assert len(theirs["cell.instance_system_metadata"]) > 60
    for table, rows in theirs.items():
        assert ours[table] == rows, table


@pytest.mark.parametrize(
    "name", ["plain", "rich", "registered", "no-image", "in-cell0", "grouped", "empty-value"]
)
def test_nova_loads_what_capd_wrote(twins: Twins, name: str) -> None:
    theirs, ours = twins.peer.load(ident(name)), twins.reader.load(ident(name))
    assert normal(ours) == normal(theirs)
    assert normal(ours["spec_image"]) == normal(ours["image_meta"])


def test_nova_manage_shows_what_capd_set(twins: Twins) -> None:
    uuid = ident("spare1")
    assert capd(twins.capd, "set", uuid, ["hw_disk_bus=scsi", "hw_vif_model=e1000"]) == (0, "")
    assert twins.reader.show(uuid, "hw_disk_bus") == [0, "scsi\n"]
    assert twins.reader.show(uuid, "hw_vif_model") == [0, "e1000\n"]
    loaded = twins.reader.load(uuid)["spec_image"]["nova_object.data"]["properties"]
    assert loaded["nova_object.data"] == {"hw_disk_bus": "scsi", "hw_vif_model": "e1000"}


def test_capd_shows_what_nova_manage_set(twins: Twins) -> None:
    uuid = ident("spare2")
    assert twins.reader.set(uuid, ["hw_disk_bus=sata", "hw_machine_type=q35"]) == [0, ""]
    assert capd(twins.capd, "show", uuid, "hw_disk_bus") == (0, "sata")
    assert capd(twins.capd, "show", uuid, "hw_machine_type") == (0, "q35")


def test_nova_manage_set_after_capd_changes_nothing(twins: Twins) -> None:
    uuid = ident("spare3")
    assert capd(twins.capd, "set", uuid, ["hw_disk_bus=usb"]) == (0, "")
    before = twins.capd.tables()
    assert twins.reader.set(uuid, ["hw_disk_bus=usb"]) == [0, ""]
    assert twins.capd.tables() == before


TEMPLATES = (
    "{scheme}://{username}:{password}@{hostname}:{port}/{path}?{query}#{fragment}",
    "{scheme}:////{path}_cell0",
    "{username1}{password1}{hostname1}{port1} {username2}{password2}{hostname2}{port2}",
    "{nonsense}",
    "{0}",
    "plain {{}} {",
)
DEFAULTS = (
    "mysql+pymysql://nova:s%40x@db.example:3307/nova?charset=utf8#f",
    "mysql://nova@[::1]:1/n",
    "sqlite:////var/lib/nova.db",
    "mysql://a:b@h1:1,c:d@[::2]:2/n",
    "mysql://h1:1,h2:2/n",
    "mysql://UPPER.Example/n",
    "",
)


@pytest.mark.parametrize("pristine", ["sqlite"], indirect=True)
def test_templates_are_filled_as_nova_fills_them(twins: Twins) -> None:
    for template in TEMPLATES:
        for default in DEFAULTS:
            assert resolve(template, default) == twins.peer.format(template, default)
