"""The command on a controller: `capd --config-file nova.conf image-property ...`, and its host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from capd.novadb import schema
from tests.functional.novadb.conftest import Twins
from tests.functional.novadb.world import ident, run
from tests.rig import nova
from tests.rig.placement import Placement

#: nothing here depends on the server but what Nova's own command answers
on_sqlite = pytest.mark.parametrize("pristine", ["sqlite"], indirect=True)

#: what capd reports on a host with q35 and pc, as far as disks go
TRAITS = (
    "HW_ARCH_X86_64",
    "COMPUTE_STORAGE_BUS_IDE",
    "COMPUTE_STORAGE_BUS_SATA",
    "COMPUTE_STORAGE_BUS_VIRTIO",
    "CUSTOM_CAPD_Q35_STORAGE_BUS_SATA",
    "CUSTOM_CAPD_Q35_STORAGE_BUS_VIRTIO",
    "CUSTOM_CAPD_PC_STORAGE_BUS_IDE",
    "CUSTOM_CAPD_PC_STORAGE_BUS_VIRTIO",
    "CUSTOM_CAPD_DEFAULT_STORAGE_BUS_IDE",
    "CUSTOM_CAPD_DEFAULT_STORAGE_BUS_VIRTIO",
    "CUSTOM_CAPD_MACHINE_Q35",
    "CUSTOM_CAPD_MACHINE_PC",
)


@pytest.fixture(scope="module")
def host(
    twins: Twins, placement: Placement, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """A file with [placement]; an instance on a compute node that Placement knows, by uuid."""
    name, provider = f"host-{twins.capd.kind}", ident(f"host-{twins.capd.kind}")
    client = placement.client
    for trait in TRAITS:
        if trait.startswith("CUSTOM_"):
            client.request("PUT", f"/traits/{trait}")
    client.create_provider(name, provider, TRAITS)
    twins.reader.node(name, provider)
    twins.reader.create(
        ident("hosted"),
        host=name,
        name="hosted",
        system_metadata={"image_hw_machine_type": "q35"},
    )
    extra = tmp_path_factory.mktemp("placement") / "capd.conf"
    extra.write_text(placement.snippet)
    return extra, ident("hosted")


def capd(twins: Twins, *words: Any, extra: Any = ()) -> tuple[int, str, str]:
    done = run("--config-file", twins.capd.conf, *extra, "image-property", *words)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("pristine", ["mariadb"], indirect=True)
def test_the_real_commands_answer_alike(twins: Twins) -> None:
    """nova-manage itself, not its class: exit codes and text of show and set."""
    uuid = ident("spare1")
    for words in (
        ("show", uuid, "hw_cdrom_bus"),
        ("show", ident("nowhere"), "hw_disk_bus"),
        ("set", "--property", "hw_disk_bus=floppy", uuid),
        ("set", "--property", "hw_cdrom_bus=sata", "--property", "hw_disk_bus=sata", uuid),
        ("show", uuid, "hw_cdrom_bus"),
        ("set", "--property", "hw_cdrom_bus=sata", ident("active")),
    ):
        theirs = nova.manage("image_property", *words, config=twins.nova.conf)
        code, out, err = capd(twins, *words)
        assert code == theirs.returncode
        if words[0] == "show" and code == 0:
            assert out == theirs.stdout
        elif code != 0:
            assert theirs.stdout.strip() in err
    (theirs_rows, spec), (ours_rows, our_spec) = twins.nova.of(uuid), twins.capd.of(uuid)
    assert [row["value"] for row in ours_rows] == [row["value"] for row in theirs_rows]
    assert our_spec == spec


@on_sqlite
def test_list(twins: Twins) -> None:
    code, out, _ = capd(twins, "list", "--json", "--host", "host1")
    assert code == 0
    listed = {document["uuid"]: document for document in json.loads(out)}
    assert ident("in-cell0") not in listed
    assert listed[ident("untouched")] == {
        "uuid": ident("untouched"),
        "name": "untouched",
        "managed_by": "nova",
        "cell": "cell1",
        "host": "host1",
        "vm_state": "stopped",
        "image": "11111111-2222-4333-8444-555555555555",
        "properties": {
            "base_image_ref": {"value": "11111111-2222-4333-8444-555555555555"},
            "hw_disk_bus": {"value": "virtio"},
        },
    }
    code, out, _ = capd(twins, "list", "--all")
    assert code == 0
    assert ident("in-cell0") in out and ident("untouched") in out
    assert ident("deleted") not in out and ident("no-mapping") in out
    code, out, _ = capd(twins, "list", ident("untouched"))
    assert len(out.splitlines()) == 2
    assert capd(twins, "list", ident("nowhere"))[0] == 2
    code, _, err = capd(twins, "list", ident("untouched"), "--all")
    assert (code, err) == (2, "capd: list takes an instance, --host or --all, one of them\n")


@on_sqlite
def test_b50_request_spec_left_behind_is_shown_and_mended(twins: Twins) -> None:
    """As nova-manage of Yoga leaves them: system metadata changed, the request spec not."""
    uuid, table = ident("spare2"), schema.system_metadata
    assert capd(twins, "set", "--property", "hw_disk_bus=virtio", uuid)[0] == 0
    assert capd(twins, "show", uuid, "hw_disk_bus") == (0, "virtio\n", "")
    mine = (table.c.instance_uuid == uuid) & (table.c.key == "image_hw_disk_bus")
    twins.capd.row("cell", update(table).where(mine).values(value="sata"))
    code, out, err = capd(twins, "show", uuid, "hw_disk_bus")
    assert (code, out) == (0, "sata\n")
    assert err == (
        "capd: conflict: the request spec has hw_disk_bus=virtio, by which Nova moves the "
        "instance; set --property hw_disk_bus=sata mends it\n"
    )
    assert capd(twins, "set", "--property", "hw_disk_bus=sata", uuid)[0] == 0
    assert capd(twins, "show", uuid, "hw_disk_bus") == (0, "sata\n", "")
    document = json.loads(capd(twins, "show", "--json", uuid, "hw_disk_bus")[1])
    assert document == {
        "uuid": uuid,
        "property": "hw_disk_bus",
        "value": "sata",
        "request_spec": "sata",
    }


@on_sqlite
def test_nothing_to_set(twins: Twins) -> None:
    code, _, err = capd(twins, "set", ident("untouched"))
    assert (code, err) == (
        2,
        "capd: no property to set (give --property NAME=VALUE at least once)\n",
    )


@on_sqlite
def test_host_that_cannot_is_refused_and_forced(twins: Twins, host: tuple[Path, str]) -> None:
    extra, uuid = ("--config-file", host[0]), host[1]
    words = ("set", "--property", "hw_disk_bus=ide", uuid)
    code, _, err = capd(twins, *words, extra=extra)
    assert (code, err) == (
        7,
        f"capd: host-{twins.capd.kind} cannot do hw_disk_bus=ide for machine type q35: it can do "
        "sata, virtio (--force sets it all the same)\n",
    )
    assert twins.reader.show(uuid, "hw_disk_bus")[0] == 3
    code, _, err = capd(twins, *words, "--force", extra=extra)
    assert code == 0
    assert err.startswith(f"capd: forced: host-{twins.capd.kind} cannot do hw_disk_bus=ide")
    assert twins.reader.show(uuid, "hw_disk_bus") == [0, "ide\n"]
    code, _, err = capd(twins, "set", "--property", "hw_disk_bus=sata", uuid, extra=extra)
    assert (code, err) == (0, "")


@on_sqlite
def test_b57_new_machine_type_is_asked_for_everything(
    twins: Twins, host: tuple[Path, str]
) -> None:
    extra, uuid = ("--config-file", host[0]), host[1]
    words = ("set", "--property", "hw_disk_bus=sata", "--property", "hw_cdrom_bus=sata", uuid)
    assert capd(twins, *words, extra=extra)[0] == 0
    code, _, err = capd(twins, "set", "--property", "hw_machine_type=pc", uuid, extra=extra)
    assert code == 7
    assert "cannot do hw_disk_bus=sata for machine type pc: it can do ide, virtio" in err
    code, _, err = capd(twins, "set", "--property", "hw_machine_type=microvm", uuid, extra=extra)
    assert code == 7
    assert "cannot do hw_machine_type=microvm: it can do pc, q35" in err
    code, _, err = capd(twins, "set", "--property", "hw_cdrom_bus=virtio", uuid, extra=extra)
    assert (code, err.partition(":")[2].strip()[:40]) == (
        7,
        "a CD-ROM cannot be on bus virtio: it has",
    )
    words = ("set", "--property", "hw_disk_bus=virtio", "--property", "hw_cdrom_bus=ide")
    code, _, err = capd(twins, *words, "--property", "hw_machine_type=pc", uuid, extra=extra)
    assert (code, err) == (0, "")
    words = ("set", "--property", "hw_disk_bus=sata", "--property", "hw_cdrom_bus=sata")
    code, _, err = capd(twins, *words, "--property", "hw_machine_type=q35", uuid, extra=extra)
    assert (code, err) == (0, "")


@on_sqlite
def test_unknown_is_allowed_with_a_warning(
    twins: Twins, host: tuple[Path, str], tmp_path: Path
) -> None:
    extra, uuid = ("--config-file", host[0]), host[1]
    code, _, err = capd(twins, "set", "--property", "hw_vif_model=e1000", uuid, extra=extra)
    assert code == 0
    assert "can do hw_vif_model=e1000 for machine type q35 is not known: it has no trait" in err
    lost = tmp_path / "lost.conf"
    lost.write_text(
        "[placement]\nauth_type = admin_token\nendpoint = http://127.0.0.1:1\ntoken = x\n"
    )
    code, _, err = capd(
        twins, "set", "--property", "hw_disk_bus=usb", uuid, extra=("--config-file", lost)
    )
    assert code == 0
    assert "is not known" in err and "127.0.0.1:1" in err
    assert twins.reader.show(uuid, "hw_disk_bus") == [0, "usb\n"]
    assert capd(twins, "set", "--property", "hw_disk_bus=sata", uuid, extra=extra)[0] == 0


@on_sqlite
def test_instance_on_no_host_is_allowed(twins: Twins, host: tuple[Path, str]) -> None:
    words = ("set", "--property", "hw_disk_bus=ide", ident("offloaded"))
    code, _, err = capd(twins, *words, extra=("--config-file", host[0]))
    assert code == 0
    assert "the instance is on no host now" in err
