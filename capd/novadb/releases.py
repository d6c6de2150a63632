"""What each Nova release has in its databases, and which image properties it understands.

A release is told from the schema revision of its databases and from the versions that its
services report. What is written must be readable by the oldest Nova that reads it: a value that
an old Nova does not know makes every load of that instance fail there.

Numbers are those of the releases themselves (the last point release of each, 20.6.1 to 34.0.0).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Release:
    """One release of Nova.

    `main` and `api` are the newest schema revisions of the cell and the API database: a number
    of sqlalchemy-migrate up to Wallaby, else alembic's. `service` is what its services report.
    `properties` and `spec` are the minor versions of ImageMetaProps and RequestSpec.
    """

    number: int
    name: str
    main: str
    api: str
    service: int
    properties: int
    spec: int

    def __str__(self) -> str:
        return f"{self.name} (Nova {self.number})"


RELEASES: tuple[Release, ...] = (
    Release(20, "Train", "402", "67", 40, 24, 12),
    Release(21, "Ussuri", "407", "72", 51, 25, 13),
    Release(22, "Victoria", "412", "77", 53, 27, 13),
    Release(23, "Wallaby", "417", "82", 56, 29, 14),
    Release(24, "Xena", "8f2f1571d55b", "d67eeaabee36", 60, 30, 14),
    Release(25, "Yoga", "16f1fbcab42b", "b30f573d3377", 61, 31, 14),
    Release(26, "Zed", "ccb0fa1a2252", "b30f573d3377", 64, 34, 14),
    Release(27, "2023.1", "960aac0e09ea", "b30f573d3377", 66, 34, 14),
    Release(28, "2023.2", "1acf2c98e646", "cdeec0c85668", 66, 34, 14),
    Release(29, "2024.1", "13863f4e1612", "cdeec0c85668", 67, 37, 15),
    Release(30, "2024.2", "13863f4e1612", "cdeec0c85668", 67, 38, 15),
    Release(31, "2025.1", "2903cd72dc14", "cdeec0c85668", 68, 39, 15),
    Release(32, "2025.2", "2903cd72dc14", "cdeec0c85668", 70, 42, 15),
    Release(33, "2026.1", "2903cd72dc14", "cdeec0c85668", 72, 42, 15),
    Release(34, "2026.2", "ab450ba04102", "cdeec0c85668", 74, 44, 15),
)

OLDEST, NEWEST = RELEASES[0], RELEASES[-1]

#: revisions that no release ends with; each counts as the release before the one that has it
_STEPS_MAIN = {"1b91788ec3a6": 27, "d60bddf7a903": 30}

#: properties that came after Train, by the minor version of ImageMetaProps that has them
_NEW_NAMES: dict[str, int] = {
    "hw_pci_numa_affinity_policy": 25,
    "hw_tpm_model": 27,
    "hw_tpm_version": 27,
    "hw_input_bus": 29,
    "hw_emulation_architecture": 31,
    "hw_ephemeral_encryption": 32,
    "hw_ephemeral_encryption_format": 32,
    "hw_locked_memory": 33,
    "hw_viommu_model": 34,
    "hw_virtio_packed_ring": 35,
    "hw_maxphysaddr_mode": 36,
    "hw_maxphysaddr_bits": 36,
    "hw_ephemeral_encryption_secret_uuid": 37,
    "hw_firmware_stateless": 38,
    "hw_sound_model": 40,
    "hw_usb_model": 41,
    "hw_redirected_usb_ports": 41,
    "hw_mem_encryption_model": 42,
}

#: values that came after Train to properties that were there
_NEW_VALUES: dict[tuple[str, str], int] = {
    ("hw_cpu_policy", "mixed"): 26,
    ("hw_pci_numa_affinity_policy", "socket"): 28,
    ("hw_video_model", "bochs"): 30,
    ("hw_vif_model", "igb"): 39,
    ("hw_mem_encryption_model", "amd-sev-snp"): 43,
    ("hw_mem_encryption_model", "intel-tdx"): 44,
}


def understands_name(minor: int, name: str) -> bool:
    """Whether ImageMetaProps 1.`minor` has the property; if not, it is left unread there."""
    return minor >= _NEW_NAMES.get(name, 0)


def understands_value(minor: int, name: str, value: object) -> bool:
    """Whether ImageMetaProps 1.`minor` takes the (typed, canonical) value of `name`.

    True for a name that it does not have, since it does not look at it then.
    """
    return not understands_name(minor, name) or minor >= _NEW_VALUES.get((name, str(value)), 0)


def by_revision(revision: str, api: bool = False) -> Optional[Release]:
    """The oldest release whose database may be at `revision`; None if no known one may.

    A sqlalchemy-migrate number between two releases counts as the older one; one below Train's,
    or above the last there ever was (422 and 87), is unknown.
    """
    if revision.isdigit():
        number, last = int(revision), 87 if api else 422
        fitting = [
            release
            for release in RELEASES
            if _head(release, api).isdigit() and int(_head(release, api)) <= number <= last
        ]
        return fitting[-1] if fitting else None
    if not api and revision in _STEPS_MAIN:
        return next(release for release in RELEASES if release.number == _STEPS_MAIN[revision])
    return next((release for release in RELEASES if _head(release, api) == revision), None)


def by_services(versions: Iterable[int]) -> Optional[Release]:
    """The oldest release among services with these versions; None if there are none."""
    oldest = min((version for version in versions if version), default=None)
    if oldest is None:
        return None
    fitting = [release for release in RELEASES if release.service <= oldest]
    same = [release for release in fitting if release.service == fitting[-1].service]
    return same[0] if fitting else OLDEST


def _head(release: Release, api: bool) -> str:
    return release.api if api else release.main
