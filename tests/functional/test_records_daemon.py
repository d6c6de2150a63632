"""The daemon records a new instance within a second of its definition."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

from capd.records.records import Record
from capd.records.recordstore import RecordStore
from capd.store import DATABASE, Store

ROOT = Path(__file__).parents[2]
UUID = "99999999-2222-3333-4444-55555555550{}"


def guest(number: int, bus: str) -> str:
    target = {"ide": "hda", "virtio": "vda"}.get(bus, "sda")
    return (
        f"<domain type='qemu'><name>followed-{number}</name><uuid>{UUID.format(number)}</uuid>"
        "<memory unit='MiB'>32</memory><vcpu>1</vcpu><os><type arch='x86_64' machine='q35'>hvm"
        "</type></os><features><acpi/></features><devices><disk type='file' device='disk'>"
        f"<source file='/none.img'/><target dev='{target}' bus='{bus}'/></disk>"
        "<memballoon model='none'/></devices></domain>"
    )


def record(state: Path, number: int) -> Optional[Record]:
    with Store(state / DATABASE, read_only=True) as store:
        return RecordStore(store).get(UUID.format(number))


def waited(condition: Callable[[], bool], limit: float) -> float:
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > limit:
            pytest.fail(f"not within {limit} s")
        time.sleep(0.02)
    return time.monotonic() - begun


def test_a_new_instance_is_on_disk_within_a_second(libvirtd_x86: Any, tmp_path: Path) -> None:
    path, state = tmp_path / "capd.conf", tmp_path / "state"
    path.write_text(
        f"[DEFAULT]\nstate_dir = {state}\ninterval = 600\n{libvirtd_x86.snippet}"
        "[placement]\nauth_type = admin_token\nendpoint = http://127.0.0.1:1\ntoken = t\n"
    )
    connection = libvirtd_x86.connect()
    domains = [connection.defineXML(guest(0, "sata"))]
    daemon = subprocess.Popen(
        [sys.executable, "-m", "capd", "--config-file", str(path)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        waited(lambda: (state / DATABASE).exists() and record(state, 0) is not None, 120.0)
        first = record(state, 0)
        assert first is not None
        assert first.properties["hw_machine_type"].value == "q35"
        time.sleep(3.0)
        for number, bus in enumerate(("virtio", "scsi", "usb"), 1):
            domains.append(connection.defineXML(guest(number, bus)))
            seconds = waited(lambda number=number: record(state, number) is not None, 10.0)
            found = record(state, number)
            assert found is not None
            assert found.properties["hw_disk_bus"].value == bus
            print(f"on disk after {seconds:.2f} s")
            assert seconds < 1.0
        domains[1].undefine()
        gone = lambda: (found := record(state, 1)) is not None and found.gone is not None  # noqa: E731
        assert waited(gone, 10.0) < 1.0
    finally:
        daemon.terminate()
        daemon.communicate(timeout=30)
        for domain in connection.listAllDomains(0):
            domain.undefine()
        connection.close()
    assert daemon.returncode == 0
