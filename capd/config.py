"""From configuration files to `Settings`, parsed once at the edge.

Files are read by oslo.config, in the order given; a later one wins. Nova's own nova.conf may be
among them. A key that capd does not know is an error in capd's own files and none in nova.conf,
so that a misspelt option is never silently without effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from oslo_config import cfg

from capd import configfile, credentials
from capd.errors import ConfigError
from capd.options import OPTIONS, Kind, Option

DEFAULT_FILE = Path("/etc/capd/capd.conf")

#: oslo.config's words for a bad value
_BAD_VALUE = re.compile(
    r"Value for option (?P<name>\S+) from .*detail='(?P<path>[^']*)'\)? is not valid: (?P<why>.*)",
    re.DOTALL,
)


@dataclass(frozen=True)
class LibvirtSettings:
    """`[libvirt]`; times in seconds. `machine_types` maps architecture to machine type."""

    connection_uri: str
    virt_type: Optional[str]
    machine_types: Mapping[str, str]
    call_timeout: float
    connect_timeout: float
    sweep_timeout: float
    workers: int
    keepalive_interval: int
    emulator_timeout: float
    trials: bool


@dataclass(frozen=True)
class PlacementSettings:
    """`[placement]` without keystoneauth's own options, which stay in `Settings.conf`."""

    provider_uuid: Optional[str]
    provider_name: Optional[str]
    create_provider: bool
    compute_id_files: tuple[Path, ...]
    request_timeout: float
    pass_timeout: float


@dataclass(frozen=True)
class Override:
    """One entry of `[traits] override`."""

    trait: str
    present: bool


@dataclass(frozen=True)
class TraitSettings:
    """`[traits]`."""

    standard: bool
    overrides: tuple[Override, ...]
    emulated: tuple[str, ...]


@dataclass(frozen=True)
class RecordSettings:
    """`[records]`; `retention` in seconds."""

    enabled: bool
    retention: float


@dataclass(frozen=True)
class MetricsSettings:
    """`[metrics]`."""

    textfile: Optional[Path]
    listen: Optional[str]


@dataclass(frozen=True)
class Settings:
    """Everything configured. `conf` is for keystoneauth and Nova's database sections only."""

    files: tuple[Path, ...]
    state_dir: Path
    interval: float
    debug: bool
    libvirt: LibvirtSettings
    placement: PlacementSettings
    traits: TraitSettings
    records: RecordSettings
    metrics: MetricsSettings
    conf: cfg.ConfigOpts


def load(files: Sequence[Path] = ()) -> Settings:
    """Read `files`, or /etc/capd/capd.conf if none is given and it exists.

    Raises ConfigError naming the file and the option at fault.
    """
    paths = tuple(files) or ((DEFAULT_FILE,) if DEFAULT_FILE.exists() else ())
    paths += credentials.files()
    for path in paths:
        configfile.check(path)
    conf = cfg.ConfigOpts()
    for option in OPTIONS:
        conf.register_opt(_oslo(option), group=None if option.group == "DEFAULT" else option.group)
    arguments: list[str] = []
    for path in paths:
        arguments += ["--config-file", str(path)]
    try:
        conf(args=arguments, project="capd", default_config_files=[], default_config_dirs=[])
        return _settings(conf, paths)
    except cfg.ConfigFileValueError as error:
        raise _bad_value(str(error)) from None
    except (cfg.Error, ValueError) as error:
        raise ConfigError(
            f"configuration: {error}", culprit=str(paths[-1]) if paths else ""
        ) from None


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


def needs_restart(old: Settings, new: Settings) -> tuple[str, ...]:
    """Options whose new value takes effect at the next start only, as `[group] name`."""
    return tuple(
        f"[{option.group}] {option.name}"
        for option in OPTIONS
        if not option.reload and _value(old.conf, option) != _value(new.conf, option)
    )


def _value(conf: cfg.ConfigOpts, option: Option) -> Any:
    group = conf if option.group == "DEFAULT" else conf[option.group]
    return getattr(group, option.name)


def _oslo(option: Option) -> cfg.Opt:
    """The oslo.config option for one row of the table."""
    common: dict[str, Any] = {"help": option.help, "secret": option.secret}
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    common["default"] = default
    if option.kind is Kind.INTEGER:
        return cfg.IntOpt(option.name, min=option.minimum, max=option.maximum, **common)
    if option.kind is Kind.NUMBER:
        return cfg.FloatOpt(option.name, min=option.minimum, max=option.maximum, **common)
    if option.kind is Kind.BOOLEAN:
        return cfg.BoolOpt(option.name, **common)
    if option.kind is Kind.LIST:
        return cfg.ListOpt(option.name, **common)
    return cfg.StrOpt(option.name, choices=option.choices, **common)


def _settings(conf: cfg.ConfigOpts, paths: tuple[Path, ...]) -> Settings:
    libvirt, placement, traits = conf.libvirt, conf.placement, conf.traits
    return Settings(
        files=paths,
        state_dir=_state_dir(conf.state_dir),
        interval=conf.interval,
        debug=conf.debug,
        libvirt=LibvirtSettings(
            connection_uri=libvirt.connection_uri or "qemu:///system",
            virt_type=libvirt.virt_type or None,
            machine_types=_machine_types(libvirt.hw_machine_type),
            call_timeout=libvirt.call_timeout,
            connect_timeout=libvirt.connect_timeout,
            sweep_timeout=libvirt.sweep_timeout,
            workers=libvirt.workers,
            keepalive_interval=libvirt.keepalive_interval,
            emulator_timeout=libvirt.emulator_timeout,
            trials=libvirt.trials,
        ),
        placement=PlacementSettings(
            provider_uuid=placement.provider_uuid or None,
            provider_name=placement.provider_name or None,
            create_provider=placement.create_provider,
            compute_id_files=tuple(Path(name) for name in placement.compute_id_files),
            request_timeout=placement.request_timeout,
            pass_timeout=placement.pass_timeout,
        ),
        traits=TraitSettings(
            standard=traits.standard == "auto",
            overrides=tuple(_override(entry) for entry in traits.override),
            emulated=tuple(traits.emulated),
        ),
        records=RecordSettings(conf.records.enabled, conf.records.retention),
        metrics=MetricsSettings(
            Path(conf.metrics.textfile) if conf.metrics.textfile else None,
            conf.metrics.listen or None,
        ),
        conf=conf,
    )


def _state_dir(text: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise ConfigError(
            f"[DEFAULT] state_dir: {text!r} is no absolute path",
            culprit="state_dir",
            cure="for example /var/lib/capd",
        )
    return path


def _machine_types(pairs: Sequence[str]) -> Mapping[str, str]:
    result: dict[str, str] = {}
    for pair in pairs:
        arch, separator, machine = pair.partition("=")
        if not separator or not arch.strip() or not machine.strip():
            raise ConfigError(
                f"[libvirt] hw_machine_type: {pair!r} is not arch=machine",
                culprit="hw_machine_type",
                cure="for example x86_64=q35",
            )
        result[arch.strip()] = machine.strip()
    return result


def _override(entry: str) -> Override:
    sign, trait = entry[:1], entry[1:].strip()
    word = trait.replace("_", "")
    if sign not in "+-" or not word.isascii() or not word.isalnum() or trait != trait.upper():
        raise ConfigError(
            f"[traits] override: {entry!r} is not +TRAIT or -TRAIT",
            culprit="override",
            cure="for example -COMPUTE_NET_VIF_MODEL_PCNET",
        )
    return Override(trait, sign == "+")
