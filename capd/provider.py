"""Which resource provider is this host's, and refusing when that is in doubt.

From `[placement]`, Nova's compute_id files and the host's name to one provider in Placement, for
`capd.report`. By `provider_uuid`, else by the compute_id file, else by name. Where two of them
disagree, capd writes to neither and names both: traits on the wrong host are worse than none.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Protocol

from capd import regular
from capd.answers import Conflict
from capd.config import PlacementSettings
from capd.errors import PlacementError
from capd.jitter import spread
from capd.placement import ProviderEntry

#: bytes of a file that holds one uuid
_LARGEST = 4096
#: seconds for which a provider is taken for granted: it may be renamed, or another get its name
_KEPT = 3600.0


class ProviderUnclear(PlacementError):
    """Configuration, compute_id files, names and Placement do not agree on one provider."""


class ProviderMissing(PlacementError):
    """The provider does not exist (yet): wait for it."""


@dataclass(frozen=True)
class Identity:
    """Who the provider ought to be.

    `uuid` is None if nothing but the name is known. `fixed_name` says that the operator set the
    name, so that it counts against the uuid. `how` says where the identity comes from.
    """

    uuid: Optional[str]
    name: str
    fixed_name: bool
    how: str


@dataclass(frozen=True)
class Provider:
    """The provider as found in Placement."""

    uuid: str
    name: str
    how: str


class Directory(Protocol):
    """What is needed of `capd.placement.Placement` here."""

    def provider_by_uuid(self, uuid: str) -> Optional[ProviderEntry]: ...

    def provider_by_name(self, name: str) -> Optional[ProviderEntry]: ...

    def create_provider(self, name: str, uuid: Optional[str]) -> None: ...


def identify(settings: PlacementSettings, hostname: str) -> Identity:
    """Who the provider ought to be, by what is on this host. Raises ProviderUnclear."""
    name = settings.provider_name or hostname
    fixed = settings.provider_name is not None
    files = dict(_compute_ids(settings.compute_id_files))
    if len(set(files.values())) > 1:
        listed = ", ".join(f"{path}: {found}" for path, found in files.items())
        raise ProviderUnclear(
            f"the compute_id files differ: {listed}",
            culprit=", ".join(map(str, files)),
            cure="remove the wrong one, or set [placement] compute_id_files",
        )
    stored = next(iter(files.items()), None)
    if settings.provider_uuid is not None:
        wanted = _uuid(settings.provider_uuid, "[placement] provider_uuid")
        if stored is not None and stored[1] != wanted:
            raise ProviderUnclear(
                f"[placement] provider_uuid is {wanted}, but {stored[0]} says {stored[1]}",
                culprit=f"{wanted}, {stored[1]}",
                cure="remove provider_uuid, or set compute_id_files to nothing",
            )
        return Identity(wanted, name, fixed, "[placement] provider_uuid")
    if stored is not None:
        return Identity(stored[1], name, fixed, str(stored[0]))
    source = "[placement] provider_name" if fixed else "the host's name (no compute_id file)"
    return Identity(None, name, fixed, source)


def find(directory: Directory, identity: Identity, create: bool) -> Provider:
    """The provider in Placement; with `create` it is made if there is none.

    One request if all is well. Raises ProviderMissing, ProviderUnclear, or what the directory
    raises.
    """
    found = _look_up(directory, identity)
    if found is None and create:
        # a conflict: somebody was quicker, so it is there now, or the look-up says why not
        with contextlib.suppress(Conflict):
            directory.create_provider(identity.name, identity.uuid)
        found = _look_up(directory, identity)
    if found is None:
        what = identity.uuid or identity.name
        raise ProviderMissing(
            f"Placement has no resource provider {what} (from {identity.how})",
            culprit=what,
            cure="capd waits for nova-compute to create it; without Nova set [placement] "
            "create_provider",
        )
    return Provider(found.uuid, found.name, identity.how)


class Finder:
    """The provider of one host, kept from pass to pass; looked for anew when in doubt, and hourly.

    Whoever takes it for granted (`find`) may be wrong about it for an hour; before a write it is
    made sure (`sure`), so that traits never go to a provider which is another host's by now.
    """

    def __init__(self, directory: Directory, settings: PlacementSettings) -> None:
        self._directory = directory
        self._settings = settings
        self._found: Optional[tuple[Identity, Provider]] = None
        self._until = 0.0
        self._sure = False

    def begin(self) -> None:
        """A pass begins."""
        self._sure = False
        if time.monotonic() >= self._until:
            self._found = None

    def forget(self) -> None:
        """What was found is not there any more."""
        self._found = None

    def find(self, hostname: str, create: bool) -> Provider:
        """The provider by what this host knows now; asked for only if that has changed."""
        identity = self.identity(hostname)
        if self._found is None or self._found[0] != identity:
            self._found = None
            self._found = (identity, find(self._directory, identity, create))
            self._until = time.monotonic() + spread(_KEPT)
            self._sure = True
        return self._found[1]

    def sure(self, hostname: str, create: bool) -> Provider:
        """The provider, asked for unless this pass has done so already."""
        if not self._sure:
            self._found = None
        return self.find(hostname, create)

    def identity(self, hostname: str) -> Identity:
        """Who the provider ought to be. Raises ProviderMissing if nothing says so."""
        identity = identify(self._settings, hostname)
        if not identity.uuid and not identity.name:
            raise ProviderMissing(
                "the host's name is not known yet, so neither is its resource provider",
                cure="set [placement] provider_uuid or provider_name",
            )
        return identity


def _look_up(directory: Directory, identity: Identity) -> Optional[ProviderEntry]:
    if identity.uuid is None:
        return directory.provider_by_name(identity.name)
    found = directory.provider_by_uuid(identity.uuid)
    if not identity.name or (found is not None and found.name == identity.name):
        return found
    # names are unique in Placement, so only now can there be another one with this name
    other = directory.provider_by_name(identity.name)
    if other is not None and other.uuid != identity.uuid:
        known = f"is named {found.name}" if found is not None else "does not exist"
        raise ProviderUnclear(
            f"two resource providers could be this host's: {identity.uuid} (from {identity.how}) "
            f"{known}, and {other.uuid} is named {other.name}",
            culprit=f"{identity.uuid}, {other.uuid}",
            cure="see whether the host was renamed or its compute_id lost; remove the provider "
            "that is not in use, or set [placement] provider_name",
        )
    if found is not None and identity.fixed_name:
        raise ProviderUnclear(
            f"resource provider {identity.uuid} (from {identity.how}) is named {found.name}, but "
            f"[placement] provider_name is {identity.name}",
            culprit=f"{found.name}, {identity.name}",
            cure="correct or remove provider_name",
        )
    return found


def _compute_ids(paths: Iterable[Path]) -> Iterable[tuple[Path, str]]:
    """The compute_id files that exist, with the uuid in each. Raises ProviderUnclear."""
    for path in paths:
        try:
            text = regular.read(path, _LARGEST).decode("ascii").strip()
        except FileNotFoundError:
            continue
        except NotADirectoryError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise ProviderUnclear(
                f"cannot read {path}: {reason}",
                culprit=str(path),
                cure="make it readable for capd, or set [placement] provider_uuid and "
                "compute_id_files",
            ) from None
        yield path, _uuid(text, str(path))


def _uuid(text: str, where: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise ProviderUnclear(
            f"{where}: {text[:60]!r} is no uuid", culprit=where, cure="correct it"
        ) from None
