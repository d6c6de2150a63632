"""24 simulated hours of the daemon with faults at random: does anything leak, is anything lost.

    python -m bench.soak [--hours 24] [--seed 1]

One simulated hour is 60 passes at one second each. Real libvirtd, QEMU and Placement; about every
tenth pass something fails or changes. After each hour all is made whole, and descriptors, threads
and resident memory are taken. Held: memory within 2 MB of what it was after the first hour,
descriptors and threads no more than then, every trait of others still there, every trait of the
host there again.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.rig.libvirtd import Libvirtd
from tests.rig.placement import Placement
from tests.rig.service import Service

PASSES = 60
FOREIGN = {"CUSTOM_GOLD", "COMPUTE_NODE"}
GUEST = (
    "<domain type='qemu'><name>{name}</name><memory>65536</memory>"
    "<os><type arch='x86_64' machine='q35'>hvm</type></os></domain>"
)


class Soak:
    """The parts, and what can be done to them."""

    def __init__(
        self, libvirtd: Libvirtd, placement: Placement, directory: Path, seed: int
    ) -> None:
        self.libvirtd = libvirtd
        self.placement = placement
        self.directory = directory
        self.random = random.Random(seed)
        self.done: Counter[str] = Counter()
        self.guests: list[str] = []
        self.foreign = set(FOREIGN)
        self.lost: set[str] = set()
        self.uuid = placement.client.create_provider("soak", traits=sorted(FOREIGN))

    def traits(self) -> set[str]:
        return set(self.placement.client.traits(self.uuid))

    def kill_libvirtd(self) -> None:
        self.libvirtd.kill()
        time.sleep(self.random.uniform(0, 3))
        self.libvirtd.launch()

    def restart_libvirtd(self) -> None:
        self.libvirtd.restart()

    def pause_libvirtd(self) -> None:
        self.libvirtd.pause()
        time.sleep(self.random.uniform(1, 8))
        self.libvirtd.resume()

    def placement_down(self) -> None:
        self.placement.down()
        time.sleep(self.random.uniform(0, 6))
        self.placement.launch()

    def another_writer(self) -> None:
        name = f"CUSTOM_OTHER_{self.random.randrange(50)}"
        self.placement.client.create_trait(name)
        self.placement.client.change_traits(self.uuid, add={name})
        self.foreign.add(name)

    def guest(self) -> None:
        if len(self.guests) > 20:
            self.libvirtd.virsh("undefine", self.guests.pop(0))
            return
        name = f"guest{self.random.randrange(10**9)}"
        file = self.directory / "guest.xml"
        file.write_text(GUEST.format(name=name))
        self.libvirtd.virsh("define", str(file))
        self.guests.append(name)

    def kvm(self) -> None:
        self.libvirtd.set_kvm("absent")
        time.sleep(self.random.uniform(0, 4))
        self.libvirtd.set_kvm("usable")

    def emulator(self) -> None:
        self.libvirtd.remove_emulator("aarch64")
        time.sleep(self.random.uniform(0, 5))
        self.libvirtd.add_emulator("aarch64")

    def faults(self) -> list[Callable[[], None]]:
        return [
            self.kill_libvirtd, self.restart_libvirtd, self.pause_libvirtd, self.placement_down,
            self.another_writer, self.guest, self.kvm, self.emulator,
        ]  # fmt: skip

    def hour(self, service: Service, expected: set[str]) -> tuple[int, int, int]:
        """One hour with faults, then all whole again; what the daemon holds then."""
        end = time.monotonic() + PASSES
        while time.monotonic() < end:
            time.sleep(self.random.uniform(2, 10))
            fault = self.random.choice(self.faults())
            fault()
            self.done[fault.__name__] += 1
            self.lost |= self.foreign - self.traits()
        service.wait("all whole again", lambda: expected | self.foreign <= self.traits(), 120)
        service.wait("a good pass", service.passed, 60)
        samples = []
        for _ in range(8):  # between passes, and during one
            time.sleep(0.7)
            samples.append(service.resources())
        return min(samples)


def soak(hours: float, seed: int) -> int:
    """Run it; the exit code."""
    with (
        Libvirtd(emulators=["x86_64", "aarch64"]) as libvirtd,
        Placement() as placement,
        tempfile.TemporaryDirectory(prefix="capd-soak-") as directory,
    ):
        libvirtd.warm_up()
        run = Soak(libvirtd, placement, Path(directory), seed)
        text = (
            f"interval = 1\n[libvirt]\nconnection_uri = {libvirtd.uri}\ncall_timeout = 3\n"
            f"connect_timeout = 2\nkeepalive_interval = 1\n{placement.snippet}"
            f"provider_uuid = {run.uuid}\nprovider_name = soak\nrequest_timeout = 3\n"
            "pass_timeout = 8\n"
        )
        with Service(Path(directory), text, watchdog=1.0) as service:
            service.wait("traits", lambda: "CUSTOM_CAPD_MACHINE_Q35" in run.traits(), 90)
            service.wait("a good pass", service.passed, 60)
            time.sleep(4)
            expected = run.traits()
            first = run.hour(service, expected)
            print(f"hour  1: descriptors, threads, kB {first}", flush=True)
            last = first
            for number in range(2, int(hours) + 1):
                last = run.hour(service, expected)
                print(f"hour {number:2}: descriptors, threads, kB {last}", flush=True)
            code, seconds = service.stop()
            trace = "Traceback" in service.text
    print(f"faults: {dict(sorted(run.done.items()))}")
    grown = last[2] - first[2]
    print(
        f"memory {grown:+} kB, descriptors {last[0] - first[0]:+}, threads {last[1] - first[1]:+}"
    )
    print(
        f"traits of others lost: {len(run.lost)} of {len(run.foreign)}; stopped in {seconds:.1f} s"
    )
    good = grown <= 2048 and last[0] <= first[0] and last[1] <= first[1] and not run.lost
    return 0 if good and code == 0 and not trace else 1


def main() -> int:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=2)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return soak(arguments.hours, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
