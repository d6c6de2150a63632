"""Passwords in configuration files: who else can read them, and those that systemd hands over.

Used by `capd.config` for every file. A password of Placement in a file that every user of the host
can read is refused. systemd's `LoadCredential=` is the other way: whatever `*.conf` it puts into
$CREDENTIALS_DIRECTORY is read after the other files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from capd.errors import ConfigError

#: what is secret in `[placement]`, by keystoneauth's names
SECRETS = ("password", "token", "application_credential_secret", "access_token", "client_secret")


def files(environ: Optional[Mapping[str, str]] = None) -> tuple[Path, ...]:
    """The configuration files among the credentials that systemd gave this service."""
    directory = (os.environ if environ is None else environ).get("CREDENTIALS_DIRECTORY")
    return tuple(sorted(Path(directory).glob("*.conf"))) if directory else ()


def world_readable(path: Path) -> bool:
    """Whether every user can read the file: by its own mode and those of its directories."""
    real = path.resolve()
    try:
        if not real.stat().st_mode & stat.S_IROTH:
            return False
        return all(parent.stat().st_mode & stat.S_IXOTH for parent in real.parents)
    except OSError:
        return False


def refuse_readable(path: Path, group: str, section: Mapping[str, str]) -> None:
    """Raises ConfigError, naming file and option, if a section gives a password away."""
    secret = next((name for name in SECRETS if section.get(name)), None)
    if secret is not None and world_readable(path):
        raise ConfigError(
            f"{path} holds [{group}] {secret} and can be read by every user",
            culprit=str(path),
            cure=f"chmod 0640 {path} (owner root, group capd), or use LoadCredential=",
        )
