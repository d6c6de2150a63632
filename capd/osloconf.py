"""oslo.config held at arm's length: options registered, files parsed, values resolved.

For `capd.config`. oslo.config replaces `$name` when a value is used, and what it then raises has
part of the value in it, which may be a password. Everything that capd and keystoneauth will use
is therefore resolved when the files are read, and each failure put into capd's own words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from oslo_config import cfg, types

from capd import configfile, credentials
from capd.configfile import ConfigFile
from capd.errors import ConfigError
from capd.options import OPTIONS, Kind, Option

#: oslo.config's words for a bad value
_BAD_VALUE = re.compile(
    r"Value for option (?P<name>\S+) from .*detail='(?P<path>[^']*)'\)? is not valid: (?P<why>.*)",
    re.DOTALL,
)

#: a name that an option can have
_NAME = re.compile(r"[A-Za-z]\w*")

#: what oslo.config raises for a `$` that names no option, or itself
_NO_SUBSTITUTE = (
    cfg.NoSuchOptError,
    cfg.NoSuchGroupError,
    cfg.TemplateSubstitutionError,
    RecursionError,
)


def register(conf: cfg.ConfigOpts) -> None:
    """Have `conf` know the options of the table."""
    for option in OPTIONS:
        conf.register_opt(_oslo(option), group=None if option.group == "DEFAULT" else option.group)


class _Number(types.Float):  # type: ignore[misc]
    """A finite number within bounds: to oslo.config nan is neither too small nor too large."""

    def __init__(self, option: Option) -> None:
        super().__init__()
        self._least = -math.inf if option.minimum is None else option.minimum
        self._most = math.inf if option.maximum is None else option.maximum

    def __call__(self, value: Any) -> float:
        number: float = super().__call__(value)
        if math.isnan(number):
            raise ValueError(f"{value!r} is no number")
        if number < self._least:
            raise ValueError(f"Should be greater than or equal to {self._least:.15g}")
        if number > self._most:
            raise ValueError(f"Should be less than or equal to {self._most:.15g}")
        return number


def _oslo(option: Option) -> cfg.Opt:
    """The oslo.config option for one row of the table."""
    common: dict[str, Any] = {"help": option.help, "secret": option.secret}
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    common["default"] = default
    if option.kind is Kind.INTEGER:
        return cfg.IntOpt(option.name, min=option.minimum, max=option.maximum, **common)
    if option.kind is Kind.NUMBER:
        return cfg.Opt(option.name, type=_Number(option), **common)
    if option.kind is Kind.BOOLEAN:
        return cfg.BoolOpt(option.name, **common)
    if option.kind is Kind.LIST:
        return cfg.ListOpt(option.name, **common)
    return cfg.StrOpt(option.name, choices=option.choices, **common)


def parse(conf: cfg.ConfigOpts, paths: Sequence[Path]) -> None:
    """Read the files. Raises ConfigError."""
    arguments: list[str] = []
    for path in paths:
        arguments += ["--config-file", str(path)]
    try:
        conf(args=arguments, project="capd", default_config_files=[], default_config_dirs=[])
    except (cfg.Error, ValueError) as error:
        # its words may have a line of the file in them; all that is known was looked for before
        raise ConfigError(
            f"oslo.config cannot read the configuration: {type(error).__name__}",
            culprit=", ".join(map(str, paths)),
        ) from None


def check_values(conf: cfg.ConfigOpts, files: Sequence[ConfigFile]) -> None:
    """Resolve every value that will be used. Raises ConfigError naming file and option."""
    for option in OPTIONS:
        value(conf, option.group, option.name, files)
    _authentication(files)


def value(conf: cfg.ConfigOpts, group: str, name: str, files: Sequence[ConfigFile] = ()) -> Any:
    """The value of an option. Raises ConfigError if it is none, or if its `$` names nothing."""
    try:
        return getattr(conf if group == "DEFAULT" else conf[group], name)
    except cfg.ConfigFileValueError as error:
        raise _bad_value(str(error)) from None
    except _NO_SUBSTITUTE:
        raise _substitution(group, name, configfile.origin(files, group, name)) from None


def _substitution(group: str, name: str, origin: Optional[Path] = None) -> ConfigError:
    """The error of a value whose `$` names no option; the value itself may be secret."""
    where = f"{origin}: " if origin else ""
    return ConfigError(
        f"{where}[{group}] {name}: $ begins the name of another option in oslo.config, and there "
        "is none of that name",
        culprit=name,
        cure="write $$ for a dollar sign",
    )


def _authentication(files: Sequence[ConfigFile]) -> None:
    """Check what keystoneauth will read, without loading it: a `$` is replaced on reading only.

    Raises ConfigError, also for a password that every user can read.
    """
    groups = {"placement"}
    if section := _last(files, "placement", "auth_section"):
        if not any(section.lower() in file.groups for file in files):
            raise ConfigError(
                f"{configfile.origin(files, 'placement', 'auth_section')}: [placement] "
                f"auth_section is {section}, but no file has a section [{section}]",
                culprit="auth_section",
                cure="correct it, or give the file with that section as another --config-file",
            )
        groups.add(section.lower())
    own = {(option.group, option.name) for option in OPTIONS}
    for file in files:
        for group in sorted(groups):
            credentials.refuse_readable(file.path, group, file.groups.get(group, {}))
    texts = {
        (group, name): text
        for file in files
        for group in groups
        for name, text in file.groups.get(group, {}).items()
        if (group, name) not in own and _NAME.fullmatch(name)
    }
    doubtful = sorted(key for key, text in texts.items() if "$" in text)
    if doubtful:
        scratch = cfg.ConfigOpts()
        register(scratch)
        for group, name in texts:
            scratch.register_opt(cfg.StrOpt(name), group=group)
        parse(scratch, [file.path for file in files])
        for group, name in doubtful:
            value(scratch, group, name, files)


def _last(files: Sequence[ConfigFile], group: str, name: str) -> Optional[str]:
    """An option's text in the file that counts."""
    texts = (file.groups.get(group, {}).get(name) for file in reversed(files))
    return next((text for text in texts if text is not None), None)


def _bad_value(text: str) -> ConfigError:
    """The file, the option and the reason, out of oslo.config's sentence."""
    cure = "capd.conf(5) lists types and ranges"
    match = _BAD_VALUE.match(text)
    if match is None:
        return ConfigError(f"configuration: {text}", cure=cure)
    name, path, why = match.group("name", "path", "why")
    groups = [option.group for option in OPTIONS if option.name == name]
    label = f"[{groups[0]}] {name}" if groups else name
    return ConfigError(f"{path}: {label} is not valid: {why}", culprit=name, cure=cure)
