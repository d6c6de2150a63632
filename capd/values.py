"""Values of options that mean more than a string or a number: checked, and taken apart.

For `capd.config`, which refuses a bad one in every mode and at a reload alike, and for those who
use the parts. Every ConfigError here names section and option; `capd.config` adds the file.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from capd.errors import ConfigError


@dataclass(frozen=True)
class Override:
    """One entry of `[traits] override`."""

    trait: str
    present: bool


def state_dir(name: str) -> Path:
    """`[DEFAULT] state_dir`: where capd is started from must not matter."""
    path = Path(name)
    if not path.is_absolute():
        raise ConfigError(
            f"[DEFAULT] state_dir: {name!r} is no absolute path",
            culprit="state_dir",
            cure="for example /var/lib/capd",
        )
    return path


def machine_types(pairs: Sequence[str]) -> Mapping[str, str]:
    """`[libvirt] hw_machine_type`: architecture to machine type."""
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


def overrides(entries: Sequence[str]) -> tuple[Override, ...]:
    """`[traits] override`, each trait corrected one way only."""
    found: dict[str, Override] = {}
    for entry in entries:
        one = _override(entry)
        if found.setdefault(one.trait, one) != one:
            raise ConfigError(
                f"[traits] override: both +{one.trait} and -{one.trait}",
                culprit="override",
                cure="remove one of them",
            )
    return tuple(found.values())


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


def address(listen: str) -> tuple[str, int]:
    """Host and port of `[metrics] listen`. Raises ConfigError unless it is on loopback."""
    host, _, port = listen.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
        number = int(port)
    except ValueError:
        loopback, number = False, -1
    if not loopback or not 0 <= number <= 65535:
        raise ConfigError(
            f"[metrics] listen: {listen!r} is not a loopback address and port",
            culprit="listen",
            cure="for example 127.0.0.1:9177; let a proxy with authentication serve others",
        )
    return host, number


def listening(listen: Optional[str]) -> Optional[str]:
    """`[metrics] listen`, checked; None if it is not set."""
    if not listen:
        return None
    address(listen)
    return listen


def textfile(name: Optional[str]) -> Optional[Path]:
    """`[metrics] textfile`. Raises ConfigError if node_exporter would not read it."""
    if not name:
        return None
    path = Path(name)
    if path.suffix != ".prom":
        raise ConfigError(
            f"[metrics] textfile: {name!r} does not end in .prom",
            culprit="textfile",
            cure="node_exporter reads no other files",
        )
    return path
