"""What can go wrong at each boundary, with the culprit kept as a field.

Every error that a user, a file or the network can cause is a `CapdError`; `capd.cli.main` turns
one into a single line on standard error and its `exit_code`. The message names what is at fault
and, where one is known, `cure` says what to do about it.
"""

from __future__ import annotations

from typing import ClassVar, Optional


def visible(text: str) -> str:
    """`text` for a terminal: no name of a guest or image may move the cursor or break a line."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


class CapdError(Exception):
    """Base of all expected failures.

    `culprit` is the file, URI, emulator, option, trait or instance at fault; `cure` is one
    sentence for the operator, or None.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, culprit: str = "", cure: Optional[str] = None) -> None:
        super().__init__(message)
        self.culprit = culprit
        self.cure = cure

    def line(self) -> str:
        """The failure and its cure on one line, for a terminal or the journal."""
        text = visible(" ".join(str(self).split()))
        return f"{text} ({self.cure})" if self.cure else text


class ConfigError(CapdError):
    """A configuration file or option is missing, unreadable or wrong; `culprit` names it."""

    exit_code = 2


class LibvirtError(CapdError):
    """libvirt refused, is absent, or died; `culprit` is the connection URI."""


class LibvirtTimeout(LibvirtError):
    """A libvirt call was abandoned after its deadline (the libvirt API itself has none)."""


class LibvirtRefusal(LibvirtError):
    """libvirt answered, and the answer is no; `reason` is its text alone."""

    def __init__(self, message: str, *, culprit: str = "", reason: str = "") -> None:
        super().__init__(message, culprit=culprit)
        self.reason = reason


class EmulatorError(CapdError):
    """An emulator could not be asked for its devices; `culprit` is its path."""


class DocumentError(CapdError):
    """An XML document could not be read; `culprit` says where it came from."""


class RecordingError(CapdError):
    """A recorded set of documents is incomplete or unreadable; `culprit` is the file."""


class PlacementError(CapdError):
    """Placement or keystone could not do what was asked; `culprit` is the endpoint or provider."""


class StoreError(CapdError):
    """The state database is unusable; `culprit` is its path."""


class InputError(CapdError):
    """A file or value given on the command line cannot be used; `culprit` names it."""

    exit_code = 2


class DatabaseError(CapdError):
    """One of Nova's databases cannot be used; `culprit` says which, without credentials."""


class InstanceNotFound(CapdError):
    """No such instance; `culprit` is what was asked for."""

    exit_code = 2


class InstanceState(CapdError):
    """The instance's state forbids this, or the property is not found on it."""

    exit_code = 3


class PropertyFormat(CapdError):
    """A property was not given as key=value."""

    exit_code = 4


class PropertyName(CapdError):
    """No image property of that name."""

    exit_code = 5


class PropertyValue(CapdError):
    """The image property does not take that value."""

    exit_code = 6


class HostCannot(CapdError):
    """This host cannot do that for this instance; `--force` overrides."""

    exit_code = 7
