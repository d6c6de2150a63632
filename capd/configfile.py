"""One configuration file before oslo.config reads it: is it there, sound, and are its keys known.

For `capd.config`. oslo.config itself takes an unknown key or section without a word, and a
misspelt option would then silently have no effect; and where it cannot read a line it shows it,
with the password that may be in it. No message made here has the text of a line.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from oslo_config import iniparser

from capd import regular
from capd.errors import ConfigError
from capd.options import OPTIONS

#: sections that belong to capd alone: an unknown key in them is an error in any file
_OWN_GROUPS = frozenset({"traits", "records", "metrics"})

#: how like a known name an unknown one must be to be taken for a slip of it, where keys and
#: sections of others are allowed; no option of keystoneauth and no section of Nova is that like
_ALIKE = 0.8

#: text before the first section, or in no section that can be named
_NOWHERE = "it is before the first [section]"

_BOM = b"\xef\xbb\xbf"

#: oslo.config's complaint to words for the operator
_COMPLAINTS = {
    "No ':' or '=' found in assignment": "it is neither [section] nor key = value",
    "Key cannot be empty": "there is no key before the =",
    "Unexpected continuation line": "it is indented, which continues the value of the line before,"
    " and there is none",
    "Invalid section (must end with ])": "the name of the section does not end with ]",
    "Empty section name": "the name of the section is empty",
}


@dataclass(frozen=True)
class ConfigFile:
    """What a file says: section to key to value, as text and before any `$` in it is replaced."""

    path: Path
    groups: Mapping[str, Mapping[str, str]]


def origin(files: Sequence[ConfigFile], group: str, name: str) -> Optional[Path]:
    """The file whose value of an option counts: the last one that has it."""
    having = (file.path for file in reversed(files) if name in file.groups.get(group, {}))
    return next(having, None)


def origins(files: Sequence[ConfigFile], group: str) -> Mapping[str, Path]:
    """The same for all options of a section that any file sets."""
    return {name: file.path for file in files for name in file.groups.get(group, {})}


def check(path: Path) -> ConfigFile:
    """Refuse a file that is missing, unreadable, malformed, or has keys capd does not know.

    Raises ConfigError naming the file, the option, and what was probably meant.
    """
    file = ConfigFile(path, _parsed(path))
    own_file = not path.name.startswith("nova")
    groups = {option.group for option in OPTIONS}
    for group, keys in file.groups.items():
        known = {option.name for option in OPTIONS if option.group == group}
        strict = group in _OWN_GROUPS or (own_file and group in ("DEFAULT", "libvirt"))
        for key in keys:
            slip = group == "placement" and _near(key, known)
            if key not in known and (strict or slip):
                raise _unknown_key(path, group, key, known)
        meant = _meant(group) if own_file and group not in groups else ""
        if meant:
            raise ConfigError(
                f"{path}: unknown section [{group}]",
                culprit=group,
                cure=f"did you mean [{meant}]?",
            )
    return file


class _Reader(iniparser.BaseParser):  # type: ignore[misc]
    """oslo.config's own reader of lines, so that both read the same."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[str, dict[str, str]] = {}
        self._group: Optional[dict[str, str]] = None

    def new_section(self, section: str) -> None:
        # oslo.config takes [Placement] for [placement], but [default] not for [DEFAULT]
        name = section if section == "DEFAULT" else section.lower()
        self._group = self.groups.setdefault(name, {})

    def assignment(self, key: str, value: list[str]) -> None:
        if self._group is None:
            raise iniparser.ParseError(_NOWHERE, self.lineno, "")
        self._group[key] = "\n".join(value)


def _parsed(path: Path) -> Mapping[str, Mapping[str, str]]:
    lines = _lines(path)
    reader = _Reader()
    try:
        reader.parse(lines)
    except iniparser.ParseError as error:
        why = _COMPLAINTS.get(error.msg, error.msg)
        number = error.lineno
        if why == _NOWHERE:  # which is noticed at the end of the assignment only
            number = next(n for n, line in enumerate(lines, 1) if re.match(r"[^\s#;]", line))
        raise _malformed(path, f"line {number}: {why}") from None
    return reader.groups


def _lines(path: Path) -> list[str]:
    try:
        data = regular.read(path, regular.TEXT)
    except OSError as error:
        raise ConfigError(
            f"cannot read configuration file {path}: {error.strerror}",
            culprit=str(path),
            cure="check the path and its permissions",
        ) from None
    if data.startswith(_BOM):
        raise _malformed(path, "it begins with a byte order mark, which oslo.config does not take")
    try:
        return list(io.StringIO(data.decode("utf-8"), newline=None))
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise _malformed(path, f"line {number}: it is not UTF-8") from None


def _malformed(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"configuration file {path} is malformed: {why}",
        culprit=str(path),
        cure="it has [section] lines and key = value lines, in UTF-8",
    )


def _near(name: str, known: Iterable[str], cutoff: float = _ALIKE) -> str:
    """The known name that was probably meant, or nothing."""
    import difflib

    return next(iter(difflib.get_close_matches(name, sorted(known), 1, cutoff)), "")


def _meant(group: str) -> str:
    """The section that was probably meant by an unknown one, or nothing.

    `[capd]` is what many programs call the section that is `[DEFAULT]` here.
    """
    if near := _near(group, {option.group for option in OPTIONS}):
        return near
    if group in ("capd", "default"):
        return "DEFAULT"
    return ""


def _unknown_key(path: Path, group: str, key: str, known: set[str]) -> ConfigError:
    near = _near(key, known, 0.6)
    cure = f"did you mean {near}?" if near else f"[{group}] knows: {', '.join(sorted(known))}"
    return ConfigError(f"{path}: unknown option {key} in [{group}]", culprit=key, cure=cure)
