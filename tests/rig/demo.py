"""`make demo`: the whole way from real emulators to traits in a real Placement, and back.

Starts a private libvirt and a Placement on SQLite with one provider that carries two traits of
somebody else's, runs `capd --dump` and `capd --once`, and lets Placement itself tell what changed.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.rig.base import Broken, Unavailable
from tests.rig.libvirtd import Libvirtd
from tests.rig.placement import Placement
from tests.rig.program import environment, write_config

FOREIGN = ("CUSTOM_GOLD_RACK", "HW_CPU_X86_AVX2")
#: lines of a section of the dump, and columns, that the demo shows
SECTION, WIDTH = 16, 110

_COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ
_begun = time.monotonic()


def say(text: str, bold: bool = True) -> None:
    """A line of the demo itself."""
    text = f"[demo {time.monotonic() - _begun:3.0f}s] {text}"
    print(f"\033[1m{text}\033[0m" if _COLOUR and bold else text, flush=True)


def run(config: Path, *arguments: str, brief: bool = False) -> int:
    """Run capd and show what it prints (with `brief` the beginning of each section)."""
    say("$ " + shlex.join(["capd", "--config-file", str(config), *arguments]))
    begun = time.monotonic()
    command = [sys.executable, "-m", "capd", "--config-file", str(config), *arguments]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, env=environment(), stdin=subprocess.DEVNULL
    )
    seconds = time.monotonic() - begun
    for section in done.stdout.split("\n\n"):
        lines = section.splitlines()
        shown = lines[:SECTION] if brief and len(lines) > SECTION + 2 else lines
        for line in shown:
            print("    " + (line if len(line) <= WIDTH else line[: WIDTH - 4] + " ..."))
        if len(shown) < len(lines):
            print(f"      ... {len(lines) - len(shown)} more lines")
        print()
    say(f"exit {done.returncode} after {seconds:.1f} s", bold=False)
    return done.returncode


def sample(names: Iterable[str]) -> None:
    """A readable part of a set of traits, by kind."""
    kinds: dict[str, list[str]] = {}
    for name in sorted(names):
        kinds.setdefault(_kind(name), []).append(name)
    for kind, members in kinds.items():
        print(f"    {kind:34}{len(members):4}   {', '.join(members[:2])}")


def _kind(name: str) -> str:
    if not name.startswith(("CUSTOM_CAPD_", "COMPUTE_", "HW_ARCH_")):
        return "somebody else's"
    if name.startswith("CUSTOM_CAPD_MACHINE_"):
        return "machine types"
    for family in ("Q35", "PC", "DEFAULT", "VIRT"):
        if name.startswith(f"CUSTOM_CAPD_{family}_"):
            return "default family" if family == "DEFAULT" else f"family {family.lower()}"
    if name.startswith("CUSTOM_CAPD_"):
        return "host, no standard name"
    return "standard"


def traits(placement: Placement, uuid: str) -> set[str]:
    """What Placement itself says."""
    found, generation = placement.client.read(uuid)
    say(f"Placement: provider demo-host, generation {generation}, {len(found)} traits")
    return found


def demo(libvirtd: Libvirtd, placement: Placement, directory: Path) -> Sequence[str]:
    """The steps; what went wrong, if anything."""
    wrong = []
    uuid = placement.client.create_provider("demo-host", traits=FOREIGN)
    text = f"{libvirtd.snippet}{placement.snippet}provider_name = demo-host\n"
    config = write_config(directory, text)
    before = traits(placement, uuid)
    sample(before)
    if run(config, "--dump", brief=True) != 0:
        wrong.append("capd --dump failed")
    if traits(placement, uuid) != before:
        wrong.append("--dump changed the provider")
    placement.forget_requests()
    if run(config, "--once") != 0:
        wrong.append("capd --once failed")
    made = [one for one in placement.requests() if one.status == 201]
    say(f"(of that, {len(made)} requests made capd's names known: once per cloud)", bold=False)
    after = traits(placement, uuid)
    say(f"{len(after - before)} traits arrived, {len(before - after)} went")
    sample(after)
    if not after > before or len(after) < 20:
        wrong.append("the traits did not arrive, or foreign ones were lost")
    say("once more: nothing changed on the host, so nothing is written")
    placement.forget_requests()
    if run(config, "--once") != 0:
        wrong.append("the second capd --once failed")
    asked = [(one.method, one.status) for one in placement.requests()]
    say(f"requests of that pass: {asked}", bold=False)
    if traits(placement, uuid) != after or any(method != "GET" for method, _ in asked):
        wrong.append("the second pass wrote")
    return wrong


def main() -> int:
    """Run it; 0 if everything came out as it should."""
    try:
        say("starting a private libvirt with every installed emulator, and Placement on SQLite")
        with ExitStack() as stack:
            libvirtd = stack.enter_context(Libvirtd())
            placement = stack.enter_context(Placement())
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="capd-demo-"))
            wrong = demo(libvirtd, placement, Path(directory))
    except Unavailable as reason:
        say(f"cannot run here: {reason}")
        return 1
    except Broken as reason:
        say(f"could not be started: {reason}")
        return 1
    for problem in wrong:
        say(f"NOT AS IT SHOULD BE: {problem}")
    if not wrong:
        say("done; libvirt, Placement and their files are gone again")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
