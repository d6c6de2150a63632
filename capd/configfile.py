"""One configuration file before oslo.config reads it: is it there, sound, and are its keys known.

For `capd.config`. oslo.config itself takes an unknown key or section without a word, and a
misspelt option would then silently have no effect.
"""

from __future__ import annotations

import configparser
from collections.abc import Iterable
from pathlib import Path

from capd import credentials
from capd.errors import ConfigError
from capd.options import OPTIONS

#: sections that belong to capd alone: an unknown key in them is an error in any file
_OWN_GROUPS = frozenset({"traits", "records", "metrics"})

#: how like a known name an unknown one must be to be taken for a slip of it, where keys and
#: sections of others are allowed; no option of keystoneauth and no section of Nova is that like
_ALIKE = 0.8


def check(path: Path) -> None:
    """Refuse a file that is missing, unreadable, malformed, or has keys capd does not know.

    Raises ConfigError naming the file, the option, and what was probably meant.
    """
    parser = _parsed(path)
    credentials.refuse_readable(path, parser)
    own_file = not path.name.startswith("nova")
    groups = {option.group for option in OPTIONS}
    for group in parser.sections():
        known = {option.name for option in OPTIONS if option.group == group}
        strict = group in _OWN_GROUPS or (own_file and group in ("DEFAULT", "libvirt"))
        for key in parser.options(group):
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


def _parsed(path: Path) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(
        strict=False, allow_no_value=True, default_section="\0", comment_prefixes=("#", ";")
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        with path.open(encoding="utf-8") as stream:
            parser.read_file(stream)
    except OSError as error:
        raise ConfigError(
            f"cannot read configuration file {path}: {error.strerror}",
            culprit=str(path),
            cure="check the path and its permissions",
        ) from None
    except (configparser.Error, UnicodeDecodeError) as error:
        text = str(error).replace("\n", " ")
        raise ConfigError(
            f"configuration file {path} is malformed: {text}",
            culprit=str(path),
            cure="it has [section] lines and key = value lines, in UTF-8",
        ) from None
    return parser


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
    if group.lower() == "capd":
        return "DEFAULT"
    return ""


def _unknown_key(path: Path, group: str, key: str, known: set[str]) -> ConfigError:
    near = _near(key, known, 0.6)
    cure = f"did you mean {near}?" if near else f"[{group}] knows: {', '.join(sorted(known))}"
    return ConfigError(f"{path}: unknown option {key} in [{group}]", culprit=key, cure=cure)
