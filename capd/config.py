"""From configuration files to `Settings`, parsed once at the edge.

Files are read by oslo.config, in the order given; a later one wins. Nova's own nova.conf may be
among them. A key that capd does not know is an error in capd's own files and none in nova.conf,
so that a misspelt option is never silently without effect.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar

from oslo_config import cfg

from capd import configfile, credentials, osloconf, values
from capd.configfile import ConfigFile
from capd.errors import ConfigError
from capd.options import OPTIONS, Option
from capd.values import Override

T = TypeVar("T")
LOG = logging.getLogger(__name__)

DEFAULT_FILE = Path("/etc/capd/capd.conf")


@dataclass(frozen=True)
class LibvirtSettings:
    """`[libvirt]`; times in seconds. `machine_types` maps architecture to machine type, and
    `origins` the names of options to the files that set them."""

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
    origins: Mapping[str, Path]


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
class TraitSettings:
    """`[traits]`; `origins` maps the names of options to the files that set them."""

    standard: bool
    overrides: tuple[Override, ...]
    emulated: tuple[str, ...]
    origins: Mapping[str, Path]


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


def load(files: Sequence[Path] = (), needed: bool = True) -> Settings:
    """Read `files`, or /etc/capd/capd.conf if none is given and it exists.

    Where this user may not read that one file, a command that can do without the host's
    configuration (`needed` False) gets the defaults, with a warning. Raises ConfigError naming
    the file and the option at fault.
    """
    paths = tuple(files) or _default(needed)
    paths += credentials.files()
    read = tuple(configfile.check(path) for path in paths)
    conf = cfg.ConfigOpts()
    osloconf.register(conf)
    osloconf.parse(conf, paths)
    osloconf.check_values(conf, read)
    return _settings(conf, paths, read)


def _default(needed: bool) -> tuple[Path, ...]:
    """The default file, if it is there and of use."""
    try:
        DEFAULT_FILE.stat()
        DEFAULT_FILE.open("rb").close()
    except PermissionError:
        if needed:
            raise ConfigError(
                f"cannot read configuration file {DEFAULT_FILE}: Permission denied",
                culprit=str(DEFAULT_FILE),
                cure="run capd as root or as the user capd, or name a file with --config-file",
            ) from None
        LOG.warning("%s may not be read by this user: its options are not used", DEFAULT_FILE)
        return ()
    except FileNotFoundError:
        return ()
    except OSError:
        pass  # what is wrong with it is said where it is read
    return (DEFAULT_FILE,)


def _checked(
    files: Sequence[ConfigFile], group: str, name: str, check: Callable[[Any], T], value: Any
) -> T:
    """`check(value)`, the file named in what it raises."""
    try:
        return check(value)
    except ConfigError as error:
        where = configfile.origin(files, group, name)
        text = f"{where}: {error}" if where else str(error)
        raise ConfigError(text, culprit=error.culprit, cure=error.cure) from None


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


def _settings(
    conf: cfg.ConfigOpts, paths: tuple[Path, ...], files: Sequence[ConfigFile]
) -> Settings:
    libvirt, placement, traits = conf.libvirt, conf.placement, conf.traits

    def checked(group: str, name: str, check: Callable[[Any], T]) -> T:
        return _checked(files, group, name, check, osloconf.value(conf, group, name))

    return Settings(
        files=paths,
        state_dir=checked("DEFAULT", "state_dir", values.state_dir),
        interval=conf.interval,
        debug=conf.debug,
        libvirt=LibvirtSettings(
            connection_uri=libvirt.connection_uri or "qemu:///system",
            virt_type=libvirt.virt_type or None,
            machine_types=checked("libvirt", "hw_machine_type", values.machine_types),
            call_timeout=libvirt.call_timeout,
            connect_timeout=libvirt.connect_timeout,
            sweep_timeout=libvirt.sweep_timeout,
            workers=libvirt.workers,
            keepalive_interval=libvirt.keepalive_interval,
            emulator_timeout=libvirt.emulator_timeout,
            trials=libvirt.trials,
            origins=configfile.origins(files, "libvirt"),
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
            overrides=checked("traits", "override", values.overrides),
            emulated=tuple(traits.emulated),
            origins=configfile.origins(files, "traits"),
        ),
        records=RecordSettings(conf.records.enabled, conf.records.retention),
        metrics=MetricsSettings(
            checked("metrics", "textfile", values.textfile),
            checked("metrics", "listen", values.listening),
        ),
        conf=conf,
    )
