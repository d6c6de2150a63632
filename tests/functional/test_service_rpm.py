"""The RPM, built with Debian's rpm: what is in it, whose it is, and what its scriptlets do.

That is less than an installation on Fedora or CentOS: names of packages, macros and SELinux there
are not tried. Skipped where there is no rpmbuild.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parts import running
from tests.rig.base import REPOSITORY, Unavailable, program, wait_for
from tests.rig.nspawn import Machine

#: everything but the modules: mode, owner, flags (c configuration, n not replaced, d, l), path
FILES = """\
drwxr-x--- root:capd - /etc/capd
-rw-r----- root:capd cn /etc/capd/capd.conf
-rw-r--r-- root:root cn /etc/default/capd
-rwxr-xr-x root:root - /usr/bin/capd
drwxr-xr-x root:root - {site}/capd
drwxr-xr-x root:root - {site}/capd-0.1.0.dist-info
-rw-r--r-- root:root - {site}/capd-0.1.0.dist-info/METADATA
-rw-r--r-- root:root - {site}/capd-0.1.0.dist-info/entry_points.txt
drwxr-xr-x root:root - {site}/capd/commands
drwxr-xr-x root:root - {site}/capd/match
drwxr-xr-x root:root - {site}/capd/novadb
-rw-r--r-- root:root - {site}/capd/py.typed
drwxr-xr-x root:root - {site}/capd/records
-rw-r--r-- root:root - /usr/lib/systemd/system/capd.service
-rw-r--r-- root:root - /usr/lib/sysusers.d/capd.conf
-rw-r--r-- root:root - /usr/lib/tmpfiles.d/capd.conf
-rw-r--r-- root:root - /usr/share/bash-completion/completions/capd
drwxr-xr-x root:root - /usr/share/doc/capd
drwxr-xr-x root:root - /usr/share/doc/capd/examples
-rw-r--r-- root:root d /usr/share/doc/capd/examples/40-capd-access.rules
drwxr-xr-x root:root - /usr/share/licenses/capd-0.1.0
-rw-r--r-- root:root l /usr/share/licenses/capd-0.1.0/LICENSE
-rw-r--r-- root:root d /usr/share/man/man5/capd.conf.5.gz
-rw-r--r-- root:root d /usr/share/man/man8/capd.8.gz
-rw-r--r-- root:root - /usr/share/polkit-1/rules.d/50-capd.rules
drwx------ capd:capd - /var/lib/capd
"""

_OWNER = "%{FILEUSERNAME}:%{FILEGROUPNAME}"
_FORMAT = f"[%{{FILEMODES:perms}} {_OWNER} -%{{FILEFLAGS:fflags}} %{{FILENAMES}}\\n]"


def _build(directory: Path, kind: str, **env: str) -> Path:
    # rpmbuild runs a copy that is gone when coverage looks for its source
    inherited = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    done = subprocess.run(
        [str(REPOSITORY / "packaging" / kind), str(directory)],
        capture_output=True,
        text=True,
        env={**inherited, "PYTHON": sys.executable, **env},
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def query(package: Path, *options: str) -> str:
    done = subprocess.run(
        [program("rpm"), "-qp", *options, str(package)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def rpm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        program("rpmbuild")
    except Unavailable as reason:
        pytest.skip(str(reason))
    return _build(tmp_path_factory.mktemp("rpm"), "rpm")


def rows(package: Path) -> list[tuple[str, str, str, str]]:
    """Mode, owner, flags and path of each file."""
    found = []
    for line in query(package, "--qf", _FORMAT).splitlines():
        mode, owner, flags, path = line.split()
        found.append((mode, owner, flags.lstrip("-") or "-", path))
    return found


def test_files_modes_and_owners(rpm: Path) -> None:
    site = next(path for *_, path in rows(rpm) if path.endswith("/site-packages/capd"))
    site = site.rpartition("/")[0]
    assert re.fullmatch(r"/usr/lib/python3\.\d+/site-packages", site)
    modules = {
        f"{site}/{path.relative_to(REPOSITORY)}" for path in (REPOSITORY / "capd").rglob("*.py")
    }
    pages = {
        f"/usr/share/doc/capd/{path.name}"
        for path in (*REPOSITORY.glob("docs/*.md"), *map(Path, ("README.md", "CHANGELOG.md")))
    }
    rest = [row for row in rows(rpm) if row[-1] not in modules | pages]
    assert "".join(f"{' '.join(row)}\n" for row in rest) == FILES.format(site=site)
    for mode, owner, flags, path in rows(rpm):
        if path in modules | pages:
            assert (mode, owner) == ("-rw-r--r--", "root:root"), path
            assert flags == ("d" if path in pages else "-"), path
    assert modules | pages <= {path for *_, path in rows(rpm)}


def test_same_files_as_the_debian_package(rpm: Path, tmp_path: Path) -> None:
    """But for Python's directory and the licence's place."""
    deb = _build(tmp_path, "deb")
    listed = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", str(deb)], capture_output=True, check=True
    ).stdout
    names = subprocess.run(["tar", "-t"], input=listed, capture_output=True, check=True).stdout
    debian = {
        name[1:].replace("/usr/lib/python3/dist-packages/", "SITE/")
        for name in names.decode().splitlines()
        if not name.endswith("/")
    }
    here = {
        re.sub(r"^/usr/lib/python3\.\d+/site-packages/", "SITE/", path)
        for mode, *_, path in rows(rpm)
        if not mode.startswith("d")
    }
    assert debian - here == {"/usr/share/doc/capd/copyright"}
    assert here - debian == {"/usr/share/licenses/capd-0.1.0/LICENSE"}


def test_dependencies_are_those_of_setup_cfg(rpm: Path) -> None:
    """By the names that Fedora and RDO give the packages."""
    names = {line.split()[0] for line in query(rpm, "--requires").splitlines()}
    python = {name for name in names if name.startswith("python3")}
    assert python == {
        "python3",
        "python3-keystoneauth1",
        "python3-libvirt",
        "python3-lxml",
        "python3-os-traits",
        "python3-oslo-config",
        "python3-requests",
    }
    assert "python3-systemd" in query(rpm, "--recommends").split()


# -- installed, on a Debian tree for want of another


@pytest.fixture(scope="module")
def machine(rpm: Path) -> Iterator[Machine]:
    """Debian 12 with users, groups and systemd, and an RPM whose modules are where its Python
    looks."""
    booted = Machine("bookworm")
    yield from running(booted)


def _rpm(machine: Machine, *options: str) -> str:
    """rpm on the machine's files; scriptlets run in its root, but not as its processes."""
    command = [program("rpm"), f"--root={machine.files}", "--nodeps", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_installed_upgraded_and_erased(machine: Machine, tmp_path: Path) -> None:
    """By scriptlets: the user and its group, nothing started unasked, state kept."""
    site = "/usr/lib/python3/dist-packages"
    old = _build(tmp_path / "old", "rpm", PYTHON_SITE=site)
    new = _build(tmp_path / "new", "rpm", PYTHON_SITE=site, VERSION="0.1.1")
    _rpm(machine, "-i", str(old))
    assert machine.run("capd", "--version") == "capd 0.1.0"
    assert "libvirt" in machine.run("id", "-nG", "capd").split()
    for path, expected in (
        ("/etc/capd", "root:capd 750"),
        ("/etc/capd/capd.conf", "root:capd 640"),
        ("/var/lib/capd", "capd:capd 700"),
    ):
        assert machine.run("stat", "-c", "%U:%G %a", path) == expected
    assert _rpm(machine, "-V", "capd") == ""
    machine.run("systemctl", "daemon-reload")
    assert machine.property("ActiveState") == "inactive"
    machine.run("systemctl", "start", "capd")
    active = lambda: machine.property("ActiveState") == "active"  # noqa: E731
    wait_for("the service", active, 10)
    wait_for("a status", lambda: "no Placement" in machine.property("StatusText"), 30)
    machine.run("sh", "-c", "echo '[DEFAULT]' > /etc/capd/capd.conf")
    _rpm(machine, "-U", str(new))
    assert machine.run("cat", "/etc/capd/capd.conf") == "[DEFAULT]"
    assert machine.run("stat", "-c", "%U:%G %a", "/etc/capd/capd.conf") == "root:capd 640"
    machine.run("systemctl", "restart", "capd")
    wait_for("the service", active, 10)
    machine.run("systemctl", "stop", "capd")
    _rpm(machine, "-e", "capd")
    assert machine.call("test", "-e", "/usr/bin/capd").returncode == 1
    assert machine.run("stat", "-c", "%U %a", "/var/lib/capd/capd.db") == "capd 600"
    assert machine.run("cat", "/etc/capd/capd.conf.rpmsave") == "[DEFAULT]"
