"""How long discovery takes and how much memory, side by side with a bare loop and with Nova.

    python -m bench.discovery [--uri URI] [--rounds N]

All peers run in this one run, interleaved, on the same warm libvirt; the ratios count, not the
seconds. Without --uri a private libvirtd with every installed emulator is started.

  bare loop   one connection, getDomainCapabilities for every combination, nothing parsed
  sweep       capd: getCapabilities, the same calls, all parsing and the rows
  whole       capd: that, and the device lists of all emulators (cold) and the trials
  once        `capd --once`, from process start to traits in a real Placement (names known)
  Nova        Host.get_domain_capabilities and its trait functions, whole process
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

BARE = """
import json, resource, sys, time
import libvirt
import xml.etree.ElementTree as E
conn = libvirt.open(sys.argv[1])
rows = []
for arch in E.fromstring(conn.getCapabilities()).iter('arch'):
    if arch.get('name'):
        for domain in arch.findall('domain'):
            emulator = domain.findtext('emulator') or arch.findtext('emulator')
            for machine in domain.findall('machine') or arch.findall('machine'):
                rows.append((emulator, arch.get('name'), machine.text, domain.get('type')))
libvirt.registerErrorHandler(lambda *_: None, None)
begun = time.monotonic()
size = 0
for row in rows:
    try:
        size += len(conn.getDomainCapabilities(*row, 0))
    except libvirt.libvirtError:
        pass
print(json.dumps({'seconds': time.monotonic() - begun, 'rows': len(rows), 'bytes': size,
                  'peak_kb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""

SWEEP = """
import json, resource, sys, time
from dataclasses import replace
from capd import config, traits
from capd.discover import discover
from capd.hypervisor import Hypervisor
from capd.live import LiveWitness

class NoDevices(LiveWitness):
    def emulators(self, paths):
        return iter(())

settings = config.load()
whole = sys.argv[2] == 'whole'
settings = replace(settings, libvirt=replace(settings.libvirt, connection_uri=sys.argv[1],
                                             trials=whole))
hypervisor = Hypervisor(settings.libvirt)
hypervisor.open()
begun = time.monotonic()
witness = (LiveWitness if whole else NoDevices)(hypervisor, settings.libvirt)
found = discover(settings, witness)
traits.assess(found, settings.traits, settings.libvirt)
print(json.dumps({'seconds': time.monotonic() - begun, 'rows': len(found.machines),
                  'peak_kb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


def child(*command: str) -> dict[str, Any]:
    """Run a child that prints JSON; adds its wall time as a whole."""
    begun = time.monotonic()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)[:60]}: {done.stderr[-2000:]}")
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    result: dict[str, Any] = json.loads(lines[-1])
    return {**result, "process": time.monotonic() - begun}


def timed(*command: str) -> dict[str, float]:
    """Wall time and peak memory of one child."""
    begun = time.monotonic()
    pid = os.posix_spawn(
        command[0], command, {**os.environ, "PYTHONPATH": str(ROOT)},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )  # fmt: skip
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return {"process": time.monotonic() - begun, "peak_kb": usage.ru_maxrss}


@contextmanager
def libvirt_uri(given: str, emulators: Any = None) -> Iterator[str]:
    """The URI given, or that of a private libvirtd, probed already."""
    if given:
        yield given
        return
    from tests.rig.libvirtd import Libvirtd

    with Libvirtd(emulators=emulators) as daemon:
        daemon.warm_up()
        yield daemon.uri


def show(name: str, rows: list[dict[str, Any]], key: str = "seconds") -> float:
    """One line of the table; returns the median."""
    values = [row[key] for row in rows]
    middle = statistics.median(values)
    peak = max(row["peak_kb"] for row in rows) / 1024
    process = statistics.median(row.get("process", 0.0) for row in rows)
    print(
        f"{name:<12}{middle * 1000:>9.0f} ms{min(values) * 1000:>9.0f} ms"
        f"{process * 1000:>11.0f} ms{peak:>9.1f} MB"
    )
    return middle


def sweeps(uri: str, rounds: int) -> None:
    """Bare loop, capd and Nova, interleaved."""
    from tests.rig.base import Unavailable
    from tests.rig.nova import python as nova_python

    try:
        nova = str(nova_python())
    except Unavailable as reason:
        nova = ""
        print(f"without Nova: {reason}")

    found: dict[str, list[dict[str, Any]]] = {}
    virt = "kvm" if Path("/dev/kvm").exists() else "qemu"
    for _ in range(rounds):
        for name, command in (
            ("bare loop", (sys.executable, "-c", BARE, uri)),
            ("sweep", (sys.executable, "-c", SWEEP, uri, "sweep")),
            ("whole", (sys.executable, "-c", SWEEP, uri, "whole")),
            ("Nova", (nova, str(ROOT / "bench/nova_discovery.py"), uri, virt)),
        ):
            if not command[0]:
                continue
            found.setdefault(name, []).append(child(*command))
    first = found["bare loop"][0]
    print(f"{first['rows']} combinations, {first['bytes'] / first['rows'] / 1000:.1f} kB each")
    print(f"{'':<12}{'median':>12}{'best':>12}{'process':>14}{'peak':>12}")
    bare = show("bare loop", found["bare loop"])
    sweep = show("sweep", found["sweep"])
    show("whole", found["whole"])
    print(f"sweep / bare loop: {sweep / bare:.2f} (goal: at most 1.50)")
    if "Nova" in found:
        show("Nova", [{**row, "seconds": row["ask"] + row["traits"]} for row in found["Nova"]])
        print(
            f"Nova asks about {found['Nova'][0]['machines']} machine types, "
            f"imports for {statistics.median(row['import'] for row in found['Nova']):.1f} s"
        )


def once(uri: str, rounds: int) -> None:
    """`capd --once` against a real Placement that knows the names already."""
    import libvirt

    from tests.rig.placement import Placement

    with Placement() as placement, tempfile.TemporaryDirectory() as directory:
        hostname = libvirt.open(uri).getHostname()
        uuid = placement.client.create_provider(hostname)
        command = [sys.executable, "-m", "capd", "--once", "--config-file", f"{directory}/c"]
        rows = []
        os.chdir(ROOT)
        for number in range(rounds + 1):
            state = Path(directory) / f"state{number}"
            Path(directory, "c").write_text(
                f"[DEFAULT]\nstate_dir = {state}\n[libvirt]\nconnection_uri = {uri}\n"
                + placement.snippet
            )
            placement.client.set_traits(uuid, set())
            rows.append(timed(*command))
            traits = len(placement.client.traits(uuid))
        print(f"capd --once, {traits} traits, one architecture's emulators")
        print(f"  the first ever, creating the names: {rows[0]['process'] * 1000:.0f} ms")
        middle = show("once", rows[1:], "process")
        print(f"goal: under 1000 ms and 60 MB: {middle * 1000:.0f} ms")


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--uri", default="", help="a libvirt to ask instead of a private one")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    compileall.compile_dir(ROOT / "capd", quiet=1)  # as every installation does
    with libvirt_uri(options.uri) as uri:
        sweeps(uri, options.rounds)
    with libvirt_uri("", ["x86_64"]) as uri:
        once(uri, options.rounds)


if __name__ == "__main__":
    main()
