"""Fixtures: the real parts of `tests.rig`, shared over a session where no test can spoil them.

| fixture | what | scope |
| --- | --- | --- |
| `libvirtd` | every installed emulator, probed already; KVM as the machine has it | session |
| `libvirtd_x86` | x86_64's emulator only | session |
| `make_libvirtd` | `make_libvirtd(emulators=[...], fakes={...}, kvm=...)`: a test's own | test |
| `placement` | on SQLite, `X-Auth-Token: admin`; make providers with names of your own | session |
| `make_placement` | `make_placement(workers=..., database=...)`: a test's own | test |
| `keystone`, `make_keystone` | fernet on SQLite; add users and catalog | session, test |
| `keystone_placement` | a Placement that takes `keystone`'s tokens, in its catalog | session |
| `mariadb`, `make_mariadb` | root without password; make databases as you like | session, test |
| `postgresql` | likewise | session |
| `nova_python` | path of the Python that has Nova installed (`tests.rig.nova`) | session |

A part that cannot be had on this machine skips the test with the exact reason. Shared parts must
be left as found (undefine guests, resume what was paused); what a test breaks, it makes itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, TypeVar

import pytest

from tests.parts import running
from tests.rig import nova
from tests.rig.base import Unavailable
from tests.rig.databases import MariaDB, PostgreSQL
from tests.rig.keystone import Keystone
from tests.rig.libvirtd import Libvirtd
from tests.rig.placement import Placement

Part = TypeVar("Part")


def _factory(kind: Callable[..., Part]) -> Iterator[Callable[..., Part]]:
    made: list[Any] = []

    def make(*arguments: Any, **options: Any) -> Part:
        part: Any = kind(*arguments, **options)
        try:
            part.start()
        except Unavailable as reason:
            pytest.skip(str(reason))
        made.append(part)
        return part  # type: ignore[no-any-return]

    try:
        yield make
    finally:
        for part in reversed(made):
            part.stop()


@pytest.fixture(scope="session")
def libvirtd() -> Iterator[Libvirtd]:
    """A private libvirtd with all emulators, probed already."""
    for daemon in running(Libvirtd()):
        daemon.warm_up()
        yield daemon


@pytest.fixture(scope="session")
def libvirtd_x86() -> Iterator[Libvirtd]:
    """A private libvirtd with x86_64's emulator only, probed already."""
    for daemon in running(Libvirtd(emulators=["x86_64"])):
        daemon.warm_up()
        yield daemon


@pytest.fixture
def make_libvirtd() -> Iterator[Callable[..., Libvirtd]]:
    """Make libvirtds of the test's own."""
    yield from _factory(Libvirtd)


@pytest.fixture(scope="session")
def placement() -> Iterator[Placement]:
    """A Placement on SQLite."""
    yield from running(Placement())


@pytest.fixture
def make_placement() -> Iterator[Callable[..., Placement]]:
    """Make Placements of the test's own."""
    yield from _factory(Placement)


@pytest.fixture(scope="session")
def keystone() -> Iterator[Keystone]:
    """A keystone."""
    yield from running(Keystone())


@pytest.fixture
def make_keystone() -> Iterator[Callable[..., Keystone]]:
    """Make keystones of the test's own (each takes about 10 s)."""
    yield from _factory(Keystone)


@pytest.fixture(scope="session")
def keystone_placement(keystone: Keystone) -> Iterator[Placement]:
    """A Placement that takes keystone's tokens; user `capd`, password `secret` may write."""
    for placement in running(Placement(keystone_authtoken=keystone.authtoken)):
        keystone.register("placement", placement.url)
        keystone.create_user("capd", "secret")
        yield placement


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """A MariaDB server."""
    yield from running(MariaDB())


@pytest.fixture
def make_mariadb() -> Iterator[Callable[..., MariaDB]]:
    """Make MariaDB servers of the test's own."""
    yield from _factory(MariaDB)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A PostgreSQL server."""
    yield from running(PostgreSQL())


@pytest.fixture(scope="session")
def nova_python() -> Path:
    """The Python in whose environment Nova is installed."""
    try:
        return nova.python()
    except Unavailable as reason:
        pytest.skip(str(reason))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Goldens change only when asked to."""
    parser.addoption(
        "--regenerate-goldens",
        action="store_true",
        help="rewrite fixtures/hosts/*/expected from what capd says now; read the diff",
    )
