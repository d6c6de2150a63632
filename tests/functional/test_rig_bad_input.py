"""Bad input to the whole program, on real parts: one clear line, the exit code, no traceback.

What is checked of every failure: the exit code, exactly one line that begins with `capd: `, the
culprit and the cure in it, nothing that looks like a traceback, and no half-written state.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from tests.rig.base import REPOSITORY, program, wait_for
from tests.rig.libvirtd import CRASHES, HANGS, JUNK, Libvirtd, wrapper
from tests.rig.placement import Placement
from tests.rig.program import Done, capd, command, environment, write_config

#: progress on standard error, which is no failure
PROGRESS = re.compile(r"^capd: .* \.\.\.( |$)")

UNREACHABLE = "[libvirt]\nconnection_uri = qemu:///system?socket=/nonexistent/sock\n"


def complaints(done: Done) -> list[str]:
    """The lines of standard error that are no progress."""
    return [line for line in done.err.splitlines() if line and not PROGRESS.match(line)]


def clear(done: Done, code: int, *words: str) -> None:
    """One line with these words, this code, no traceback."""
    assert "Traceback" not in done.err, done.err
    assert done.code == code, done.err
    lines = complaints(done)
    assert len(lines) == 1, done.err
    assert lines[0].startswith("capd: ")
    for word in words:
        assert word in lines[0]


@pytest.fixture
def without_override() -> list[str]:
    """A prefix under which root is bound by file permissions like everyone."""
    if os.geteuid() != 0:
        return []
    lost = "-dac_override,-dac_read_search"
    return [program("setpriv"), f"--bounding-set={lost}", f"--inh-caps={lost}"]


# -- configuration


def test_configuration_file_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "no.conf"
    clear(capd("--dump", "--config-file", path), 2, str(path), "No such file", "check the path")


def test_configuration_file_is_forbidden(tmp_path: Path, without_override: list[str]) -> None:
    path = tmp_path / "capd.conf"
    path.write_text("[DEFAULT]\n")
    path.chmod(0)
    done = capd("--dump", "--config-file", path, prefix=without_override)
    clear(done, 2, str(path), "Permission denied", "permissions")


def test_configuration_file_is_a_directory(tmp_path: Path) -> None:
    clear(capd("--dump", "--config-file", tmp_path), 2, str(tmp_path), "it is a directory")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (bytes(range(256)), ("malformed", "it is not UTF-8")),
        (b"interval = 60\n", ("malformed", "line 1: it is before the first [section]")),
        (b"[libvirt\nworkers = 2\n", ("malformed",)),
    ],
    ids=["binary", "no-section", "broken-section"],
)
def test_configuration_file_is_no_configuration(
    tmp_path: Path, content: bytes, words: tuple[str, ...]
) -> None:
    path = tmp_path / "capd.conf"
    path.write_bytes(content)
    clear(capd("--dump", "--config-file", path), 2, str(path), *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[libvirt]\nconection_uri = x\n", ("conection_uri", "did you mean connection_uri?")),
        ("[libvrit]\nworkers = 2\n", ("[libvrit]", "did you mean [libvirt]?")),
        ("[traits]\nfoo = x\n", ("foo", "[traits] knows: emulated, override, standard")),
        ("[placement]\nprovder_uuid = x\n", ("provder_uuid", "did you mean provider_uuid?")),
        ("[libvirt]\nworkers = many\n", ("[libvirt] workers", "'many'", "capd.conf(5)")),
        ("[libvirt]\nworkers = 99\n", ("[libvirt] workers", "less than or equal to 16")),
        ("[libvirt]\ntrials = perhaps\n", ("[libvirt] trials", "perhaps")),
        ("[traits]\nstandard = maybe\n", ("[traits] standard", "auto", "never", "maybe")),
        ("[traits]\noverride = BOCHS\n", ("override", "BOCHS", "+TRAIT or -TRAIT")),
        ("[libvirt]\nhw_machine_type = q35\n", ("hw_machine_type", "x86_64=q35")),
        ("[DEFAULT]\nstate_dir =\n", ("[DEFAULT] state_dir", "no absolute path")),
        ("[libvirt]\nconnection_uri\n", ("line 4", "neither [section] nor key = value")),
    ],
)
@pytest.mark.parametrize("mode", ["--dump", "--once"])
def test_configuration_is_wrong(mode: str, text: str, words: tuple[str, ...]) -> None:
    clear(capd(mode, config=text), 2, *words)


def test_nova_conf_may_have_what_capd_does_not_know(tmp_path: Path) -> None:
    nova = tmp_path / "nova.conf"
    nova.write_text(
        "[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n[libvirt]\ncpu_mode = none\n"
        "rbd_connect_timeout = 5\n[record]\n[workarounds]\nenable_qemu_monitor_announce_self = 1\n"
    )
    done = capd("--config-file", nova, "--dump", config=UNREACHABLE)
    clear(done, 1, "/nonexistent/sock", "No such file")


def test_state_directory_is_a_file(tmp_path: Path, libvirtd_x86: Libvirtd) -> None:
    (tmp_path / "state").write_text("mine")
    done = capd("--once", directory=tmp_path, config=libvirtd_x86.snippet)
    clear(done, 1, str(tmp_path / "state"), "state_dir")
    assert (tmp_path / "state").read_text() == "mine"


def test_a_recording_of_another_host_does_not_take_this_ones_traits(
    tmp_path: Path, libvirtd_x86: Libvirtd, placement: Placement
) -> None:
    uuid = placement.client.create_provider("rig-own-host")
    text = f"{libvirtd_x86.snippet}{placement.snippet}provider_name = rig-own-host\n"
    assert capd("--once", directory=tmp_path, config=text).code == 0
    before = placement.client.traits(uuid)
    other = REPOSITORY / "fixtures" / "hosts" / "bookworm-s390x"
    done = capd("--once", "--from", other, directory=tmp_path, config=text)
    clear(done, 2, str(other), "was recorded on bookworm-s390x.example.org", "state_dir")
    assert placement.client.traits(uuid) == before
    # a state of its own is the operator's word that it is meant
    (tmp_path / "apart").mkdir()
    done = capd("--once", "--from", other, directory=tmp_path / "apart", config=text)
    assert done.code == 0, done.err
    assert "HW_ARCH_S390X" in placement.client.traits(uuid)


# -- command line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bogus"], "unrecognized arguments: --bogus"),
        (["--dump", "--once"], "not allowed with argument --dump"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
    ],
)
def test_command_line_is_wrong(arguments: list[str], words: str) -> None:
    done = capd(*arguments)
    assert done.code == 2
    assert words in done.err
    assert "Traceback" not in done.err


def test_reader_goes_away(libvirtd_x86: Libvirtd, tmp_path: Path) -> None:
    config = write_config(tmp_path, libvirtd_x86.snippet)
    done = subprocess.run(
        ["/bin/sh", "-c", '"$@" | head -n 1', "sh", *command("--config-file", config, "--dump")],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_take_no_file_of_ours(tmp_path: Path, closed: str) -> None:
    config = write_config(tmp_path, "")
    recording = REPOSITORY / "fixtures" / "hosts" / "bookworm-x86_64"
    words = command("--config-file", config, "--dump", "--from", recording)
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {closed}', "sh", *words],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ("bookworm-x86_64" in done.stdout) is (">&-" not in closed.replace("2>&-", ""))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15)])
def test_interrupted_in_the_middle(
    make_libvirtd: Callable[..., Libvirtd], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    daemon = make_libvirtd(emulators=["x86_64"])
    config = write_config(tmp_path, daemon.snippet)
    daemon.pause()
    process = subprocess.Popen(
        command("--config-file", config, "--once"),
        stderr=subprocess.PIPE,
        text=True,
        env=environment(measured=True),
    )
    tasks = Path(f"/proc/{process.pid}/task")
    wait_for("the call", lambda: len(list(tasks.iterdir())) > 1)
    time.sleep(0.5)
    process.send_signal(number)
    begun = time.monotonic()
    _, err = process.communicate(timeout=20)
    assert time.monotonic() - begun < 5
    assert process.returncode == code
    assert "Traceback" not in err


# -- libvirt


def test_libvirt_is_absent() -> None:
    done = capd("--dump", config=UNREACHABLE)
    clear(done, 1, "/nonexistent/sock", "No such file", "start libvirtd or virtqemud")
    assert done.out == ""


def test_libvirt_socket_is_stale(make_libvirtd: Callable[..., Libvirtd]) -> None:
    daemon = make_libvirtd(emulators=["x86_64"])
    daemon.kill()
    assert daemon.socket.exists()
    done = capd("--once", config=daemon.snippet)
    clear(done, 1, str(daemon.socket), "Connection refused", "start libvirtd or virtqemud")


def test_libvirt_refuses_this_user(
    make_libvirtd: Callable[..., Libvirtd], without_override: list[str]
) -> None:
    daemon = make_libvirtd(emulators=["x86_64"])
    daemon.socket.chmod(0)
    done = capd("--dump", config=daemon.snippet, prefix=without_override)
    clear(done, 1, str(daemon.socket), "Permission denied", "let capd's user use libvirt")


def test_b23_read_only_socket_is_named_at_the_start(libvirtd_x86: Libvirtd) -> None:
    text = f"[libvirt]\nconnection_uri = {libvirtd_x86.readonly_uri}\n"
    done = capd("--dump", config=text)
    clear(done, 1, "read only", "capd needs the read-write socket", "getDomainCapabilities")
    assert done.out == ""


def test_session_instead_of_system() -> None:
    done = capd("--dump", config="[libvirt]\nconnection_uri = qemu:///session\n")
    clear(done, 1, "qemu:///session", "connection_uri = qemu:///system")


@pytest.mark.parametrize("uri", ["qemu", "nonsense:///x", "qemu+tcp://127.0.0.1:1/system"])
def test_uri_leads_nowhere(uri: str) -> None:
    clear(capd("--dump", config=f"[libvirt]\nconnection_uri = {uri}\n"), 1, uri, "connection_uri")


def test_b43_libvirt_accepts_and_never_answers(make_libvirtd: Callable[..., Libvirtd]) -> None:
    daemon = make_libvirtd(emulators=["x86_64"])
    daemon.pause()
    done = capd("--dump", config=f"{daemon.snippet}connect_timeout = 1\n", timeout=30)
    clear(done, 1, daemon.uri, "not answered within 1 s", "restart it if it hangs")
    assert done.seconds < 10


def _in_the_middle(daemon: Libvirtd, act: Callable[[], None]) -> threading.Thread:
    """Do `act` once libvirt has begun to probe emulators, on a thread."""

    def wait_and_act() -> None:
        capabilities = daemon.root / "cache" / "qemu" / "capabilities"
        end = time.monotonic() + 30
        while time.monotonic() < end and len(list(capabilities.glob("*.xml"))) < 2:
            time.sleep(0.01)
        act()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


@pytest.mark.parametrize("name", ["KILL", "TERM"])
def test_libvirt_dies_in_the_middle(
    make_libvirtd: Callable[..., Libvirtd], placement: Placement, name: str
) -> None:
    daemon = make_libvirtd(warm=False)
    uuid = placement.client.create_provider(f"rig-dies-{name}", traits=["CUSTOM_RIG_KEEP"])
    thread = _in_the_middle(daemon, lambda: daemon.kill(name))
    text = f"{daemon.snippet}{placement.snippet}provider_name = rig-dies-{name}\n"
    done = capd("--once", config=text)
    thread.join()
    assert "Traceback" not in done.err
    assert done.code == 1
    assert any(daemon.uri in line for line in complaints(done))
    assert len(complaints(done)) <= 3, done.err
    assert placement.client.traits(uuid) == {"CUSTOM_RIG_KEEP"}


def _inside(daemon: Libvirtd, *arguments: str) -> tuple[int, str, str]:
    """capd within the daemon's namespaces, where /run/libvirt is its own."""
    prefix = ["env", f"PYTHONPATH={REPOSITORY}"]
    return daemon.run_any(*prefix, sys.executable, "-m", "capd", *arguments)


@pytest.fixture
def modular(make_libvirtd: Callable[..., Libvirtd]) -> Iterator[Libvirtd]:
    """A libvirtd whose socket is also a modular daemon's, as far as a client can tell."""
    daemon = make_libvirtd(emulators=["x86_64"])
    yield daemon


def _stale(path: Path) -> None:
    """A socket file that nobody listens on any more."""
    import socket

    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))


@pytest.mark.parametrize("kind", ["only libvirtd", "only virtqemud", "libvirtd, dead virtqemud"])
def test_b45_connects_to_the_daemon_that_lives(modular: Libvirtd, kind: str) -> None:
    version, run = modular.virsh_version(), modular.root / "run"
    if kind == "only virtqemud":
        modular.socket.rename(run / "virtqemud-sock")
    elif kind == "libvirtd, dead virtqemud":
        _stale(run / "virtqemud-sock")
    code, out, err = _inside(modular, "--dump", "--json")
    assert code == 0, err
    document = json.loads(out)
    assert document["host"]["libvirt"] == version
    assert len(document["machines"]) > 100


def test_b45_virtqemud_lives_and_libvirtd_is_dead(modular: Libvirtd) -> None:
    run = modular.root / "run"
    modular.socket.rename(run / "virtqemud-sock")
    _stale(modular.socket)
    code, _, err = _inside(modular, "--dump", "--json")
    assert code == 0, err


def test_b45_none_lives_and_the_sockets_are_named(modular: Libvirtd) -> None:
    modular.kill()
    for socket in (modular.root / "run").glob("*-sock"):
        socket.unlink()
    code, out, err = _inside(modular, "--dump")
    words = ("libvirt/libvirt-sock", "libvirt/virtqemud-sock", "start libvirtd or virtqemud")
    clear(Done(code, out, err, 0, 0), 1, *words)


# -- emulators


def _traits(out: str) -> dict[str, Any]:
    return {row["name"]: row for row in json.loads(out)["traits"]}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("kill -SEGV $$", "died of signal 11"),
        ("echo broken library >&2; exit 127", "broken library"),
        ("head -c 20000 /dev/zero; exit 0", "device"),
        ("exec sleep 600", "did not finish within 2 s"),
        ("yes '<<<<<<<<<<<<<<<<<<<<<<<<<'", "printed more than"),
    ],
    ids=["crashes", "fails", "prints-junk", "never-ends", "prints-for-ever"],
)
def test_b27_emulator_that_libvirt_can_use_but_capd_cannot(
    make_libvirtd: Callable[..., Libvirtd], fault: str, words: str
) -> None:
    """Its models are unknown, never no; everything else is known; the emulator is named."""
    daemon = make_libvirtd(fakes={"x86_64": wrapper("x86_64", fault)})
    done = capd("--dump", "--json", config=f"{daemon.snippet}emulator_timeout = 2\n", timeout=60)
    assert "Traceback" not in done.err
    traits = _traits(done.out)
    assert traits["COMPUTE_NET_VIF_MODEL_E1000"]["support"] == "unknown"
    because = traits["COMPUTE_NET_VIF_MODEL_E1000"]["because"]
    assert str(daemon.bin / "qemu-system-x86_64") in because
    assert words in because
    assert traits["COMPUTE_STORAGE_BUS_SATA"]["support"] == "yes"
    assert done.code == 1
    document = json.loads(done.out)
    assert {row["vif_model"] is None for row in document["machines"]} == {True}
    assert document["cost"]["seconds"] < 30


@pytest.mark.parametrize("kind", ["crashes", "junk", "not executable", "missing"])
def test_b27_one_bad_emulator_costs_the_others_nothing(
    make_libvirtd: Callable[..., Libvirtd], kind: str, tmp_path: Path
) -> None:
    texts = {"crashes": CRASHES, "junk": JUNK, "not executable": "", "missing": ""}
    daemon = make_libvirtd(emulators=["x86_64"], fakes={"sparc": texts[kind]})
    if kind == "missing":
        daemon.remove_emulator("sparc")
        (daemon.bin / "qemu-system-sparc").symlink_to(tmp_path / "gone")
    done = capd("--dump", "--json", config=f"{daemon.snippet}emulator_timeout = 2\n")
    assert "Traceback" not in done.err
    traits = _traits(done.out)
    assert traits["COMPUTE_STORAGE_BUS_SATA"]["support"] == "yes"
    assert traits["COMPUTE_NET_VIF_MODEL_E1000"]["support"] == "yes"
    assert traits["HW_ARCH_X86_64"]["support"] == "yes"


def test_emulator_that_hangs_libvirt_itself_ends_with_the_sweep(
    make_libvirtd: Callable[..., Libvirtd],
) -> None:
    """libvirt has no limit of its own there and answers nothing about any emulator."""
    daemon = make_libvirtd(emulators=["x86_64"], fakes={"sparc": HANGS})
    done = capd("--dump", config=f"{daemon.snippet}call_timeout = 2\nsweep_timeout = 5\n")
    clear(done, 1, daemon.uri, "getCapabilities", "not answered")
    assert done.seconds < 20


def test_partial_failure_reports_what_is_known_and_exits_1(
    make_libvirtd: Callable[..., Libvirtd], placement: Placement
) -> None:
    daemon = make_libvirtd(fakes={"x86_64": wrapper("x86_64", "exit 3")})
    uuid = placement.client.create_provider("rig-partial", traits=["CUSTOM_RIG_KEEP"])
    text = f"{daemon.snippet}{placement.snippet}provider_name = rig-partial\n"
    done = capd("--once", config=text)
    clear(done, 1, str(daemon.bin / "qemu-system-x86_64"), "status 3")
    found = placement.client.traits(uuid)
    assert {"CUSTOM_RIG_KEEP", "COMPUTE_STORAGE_BUS_SATA"} <= found
    assert not [name for name in found if "NET_VIF_MODEL" in name]


# -- recordings


def test_recording_is_missing(tmp_path: Path) -> None:
    done = capd("--dump", "--from", tmp_path / "gone")
    clear(done, 1, str(tmp_path / "gone"), "No such file", "--record")


def test_recording_is_not_writable() -> None:
    done = capd("--dump", "--from", "fixtures/nowhere", "--record", "/proc/capd")
    assert done.code == 1
    assert "Traceback" not in done.err


@pytest.fixture(scope="module")
def recording(libvirtd_x86: Libvirtd, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the one-architecture host."""
    target = tmp_path_factory.mktemp("recording") / "host"
    done = capd("--dump", "--record", target, config=libvirtd_x86.snippet)
    assert done.code == 0, done.err
    return target


def test_recording_gives_what_the_host_gave(recording: Path, libvirtd_x86: Libvirtd) -> None:
    live = json.loads(capd("--dump", "--json", config=libvirtd_x86.snippet).out)
    done = capd("--dump", "--json", "--from", recording)
    assert done.code == 0, done.err
    recorded = json.loads(done.out)
    assert recorded["machines"] == live["machines"]
    # where two of libvirt's reasons hold, which one it gives is not the same each time
    keys = ("arch", "machine", "category", "value")
    assert _columns(recorded["refused"], keys) == _columns(live["refused"], keys)
    keys = ("name", "support", "source")
    assert _columns(recorded["traits"], keys) == _columns(live["traits"], keys)
    assert len(live["traits"]) > 100


def _columns(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[key] for key in keys) for row in rows)


@pytest.mark.parametrize("name", ["index.json", "capabilities.xml"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00junk", b"{", b"<a>", b"[]"])
def test_recording_is_damaged(recording: Path, tmp_path: Path, name: str, content: bytes) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(recording, copy)
    (copy / name).write_bytes(content)
    done = capd("--dump", "--from", copy)
    clear(done, 1, str(copy), name.partition(".")[0])
