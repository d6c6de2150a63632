"""keystoneauth's own options in `[placement]`: read, and looked at before they are used.

From `cfg.ConfigOpts` to an auth plugin, for `capd.keystone`. What keystoneauth or requests would
only stumble over later, with the value in its message, is refused here by the option's name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from capd.credentials import SECRETS
from capd.errors import ConfigError
from capd.lean import import_requests

if TYPE_CHECKING:
    from oslo_config import cfg

GROUP = "placement"
_ALIASES = {"noauth": "none"}
_URLS = {
    "auth_url": "http://controller:5000/v3",
    "endpoint": "http://controller:8778",
    "endpoint_override": "http://controller:8778",
}


def group(conf: cfg.ConfigOpts) -> Any:
    """`[placement]` with keystoneauth's common options registered."""
    import_requests()
    from keystoneauth1 import loading

    loading.register_auth_conf_options(conf, GROUP)
    loading.register_session_conf_options(conf, GROUP)
    loading.register_adapter_conf_options(conf, GROUP)
    return conf[GROUP]


def section(conf: cfg.ConfigOpts) -> str:
    """Where the credentials are: `[placement]`, or the section it names."""
    return str(group(conf).auth_section or GROUP)


def auth_type(conf: cfg.ConfigOpts) -> str:
    """The name of the auth plugin; empty if there is none."""
    return str(conf[section(conf)].auth_type or "")


def check(conf: cfg.ConfigOpts) -> None:
    """Refuse values that cannot be used. Raises ConfigError, with file or section and option.

    Says nothing of what is missing, nor of an unknown plugin.
    """
    import_requests()
    from keystoneauth1 import exceptions

    for name in group(conf):
        value = _read(conf, GROUP, name)
        if name in _URLS and value is not None:
            _check_url(f"[{GROUP}] {name}", name, str(value))
    try:
        options = _loader(conf).get_options() if auth_type(conf) else ()
    except exceptions.NoMatchingPlugin:
        return
    where = section(conf)
    _register(conf, options)
    for option in options:
        value = _read(conf, where, option.dest)
        if isinstance(value, str):
            _check_text(f"[{where}] {option.dest}", option, value)


def plugin(conf: cfg.ConfigOpts) -> Any:
    """The auth plugin. Raises what keystoneauth raises if its options do not make one."""
    loader, where = _loader(conf), section(conf)
    _register(conf, loader.get_options())
    return loader.load_from_options_getter(lambda option: conf[where][option.dest])


def _loader(conf: cfg.ConfigOpts) -> Any:
    from keystoneauth1 import loading

    name = auth_type(conf)
    return loading.get_plugin_loader(_ALIASES.get(name, name))


def _register(conf: cfg.ConfigOpts, options: Any) -> None:
    conf.register_opts([option._to_oslo_opt() for option in options], group=section(conf))


def _read(conf: cfg.ConfigOpts, where: str, name: str) -> Any:
    """The value, of the right type. Raises ConfigError."""
    from oslo_config import cfg

    try:
        return conf[where][name]
    except cfg.ConfigFileValueError as error:
        text = str(error)
        path = re.search(r"detail='([^']*)'", text)
        why = text.partition(" is not valid: ")[2]
        raise ConfigError(
            f"{path.group(1) if path else 'configuration'}: [{where}] {name} is not valid: {why}",
            culprit=name,
            cure="keystoneauth's documentation of its options lists types",
        ) from None


def _check_text(label: str, option: Any, value: str) -> None:
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in value):
        raise ConfigError(
            f"{label} holds a line break or another control character",
            culprit=option.dest,
            cure="write it on one line; an indented line continues the one above",
        )
    if not value and (option.required or option.dest in SECRETS):
        raise ConfigError(f"{label} is empty", culprit=option.dest, cure="set it")
    if option.dest == "token" and not value.isascii():
        raise ConfigError(
            f"{label} holds a character that no token has",
            culprit=option.dest,
            cure="copy it anew",
        )
    if option.dest in _URLS:
        _check_url(label, option.dest, value)


def _check_url(label: str, name: str, value: str) -> None:
    """Refuse what is no http URL; the value is not shown, for it may hold a password."""
    try:
        parts = urlsplit(value)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        value % {"project_id": "", "user_id": ""}  # keystoneauth does the same with it
    except (ValueError, TypeError, KeyError):
        sound = False
    if not sound or not value.isprintable() or " " in value:
        raise ConfigError(
            f"{label} is no address with http:// or https:// in front",
            culprit=name,
            cure=f"for example {name} = {_URLS[name]}",
        )
