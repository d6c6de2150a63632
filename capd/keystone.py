"""The authenticated HTTP session: from `[placement]` to keystoneauth1.

The options are keystoneauth's own and mean what they mean in nova.conf, whatever the auth type.
keystoneauth is imported here and only when a session is needed. `auth_type` may be anything
keystoneauth has a plugin for; `admin_token` and `none` (also written `noauth`) work without
keystone. No message made here contains a password or token.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import re
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata, util
from types import ModuleType
from typing import TYPE_CHECKING, Any, Optional, cast

from capd.answers import Unanswered, Unavailable
from capd.errors import ConfigError, PlacementError
from capd.uris import without_secrets

if TYPE_CHECKING:
    from keystoneauth1 import session as keystone_session
    from oslo_config import cfg

_GROUP = "placement"
_ALIASES = {"noauth": "none"}
_NOT_CONFIGURED = "no Placement is configured"


@dataclass(frozen=True)
class Service:
    """Where Placement is to be found, and how: catalog filter or a fixed endpoint."""

    filter: Mapping[str, Any]
    endpoint: Optional[str]


def configured(conf: cfg.ConfigOpts) -> bool:
    """Whether `[placement]` says how to authenticate at all."""
    return bool(_auth_type(conf))


def open_session(conf: cfg.ConfigOpts, timeout: float) -> tuple[keystone_session.Session, Service]:
    """A session for Placement; nothing is sent yet. `timeout` in seconds, for each request.

    Raises ConfigError if the options do not make a session.
    """
    _import_requests()
    from keystoneauth1 import exceptions, loading

    _quieten()
    group = _group(conf)
    kind = _auth_type(conf)
    if not kind:
        raise ConfigError(
            _NOT_CONFIGURED,
            culprit="auth_type",
            cure="set [placement] auth_type and its credentials, or give nova.conf as another "
            "--config-file",
        )
    try:
        auth = _plugin(conf, group)
        session = loading.load_session_from_conf_options(
            conf, _GROUP, auth=auth, timeout=group.timeout or timeout
        )
    except exceptions.NoMatchingPlugin:
        raise ConfigError(
            f"[placement] auth_type: keystoneauth has no plugin {kind}",
            culprit="auth_type",
            cure="for example password, v3applicationcredential or admin_token",
        ) from None
    except exceptions.MissingRequiredOptions as error:
        missing = ", ".join(option.dest for option in error.options)
        raise ConfigError(
            f"[placement] lacks {missing}, which auth_type {kind} needs",
            culprit=missing,
            cure="set it there, or give nova.conf as another --config-file",
        ) from None
    except (exceptions.ClientException, ValueError, TypeError, ImportError) as error:
        raise ConfigError(
            f"[placement] auth_type {kind}: {type(error).__name__}: {error}",
            culprit="auth_type",
        ) from None
    if group.insecure:
        import urllib3

        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return session, _service(group)


def failures() -> tuple[type[Exception], ...]:
    """What a keystoneauth session raises when it, the network or a server fails."""
    from keystoneauth1.exceptions import ClientException

    return (ClientException, OSError, ValueError)


def find_endpoint(session: keystone_session.Session, service: Service, peer: str) -> str:
    """Where Placement is, by configuration or by the catalog.

    Raises PlacementError if the catalog does not say, and what `failures` lists.
    """
    from keystoneauth1 import exceptions

    endpoint = service.endpoint
    with contextlib.suppress(exceptions.EmptyCatalog, exceptions.EndpointNotFound):
        # asked first, so that trouble with keystone is told from trouble with Placement
        session.get_auth_headers()
        endpoint = endpoint or session.get_endpoint(**service.filter)
    if endpoint:
        return str(endpoint)
    interfaces = ", ".join(service.filter["interface"])
    raise PlacementError(
        f"{peer}: the catalog has no placement endpoint (interface {interfaces}, region"
        f" {service.filter['region_name'] or 'any'})",
        culprit=peer,
        cure="create it, or set [placement] valid_interfaces, region_name or endpoint_override",
    )


def explain(error: Exception, peer: str) -> PlacementError:
    """A failure of keystoneauth or of the connection, in words. `peer` is who was asked."""
    from keystoneauth1 import exceptions

    text = " ".join(str(error).split())
    if isinstance(error, exceptions.ConnectTimeout):
        return Unanswered(
            f"{peer} does not answer in time",
            culprit=peer,
            cure="[placement] request_timeout is the limit",
        )
    if isinstance(error, exceptions.SSLError):
        return PlacementError(
            f"{peer}: TLS failed: {_cut(text)}",
            culprit=peer,
            cure="check cafile, certfile and keyfile in [placement], and the server's name",
        )
    if isinstance(error, exceptions.ConnectFailure):
        return Unavailable(
            f"{peer} cannot be reached: {_reason(text)}",
            culprit=peer,
            cure="check that it runs, the address, and the network between",
        )
    if isinstance(error, (exceptions.Unauthorized, exceptions.NotFound)):
        # keystone: a wrong password is a 401, an application credential that is gone a 404
        return PlacementError(
            f"{peer} does not accept the credentials",
            culprit=peer,
            cure="check the user, password or application credential in [placement]",
        )
    if isinstance(error, exceptions.DiscoveryFailure):
        return Unavailable(
            f"{peer} did not say which API versions it has",
            culprit=peer,
            cure="check auth_url, and that keystone runs",
        )
    if isinstance(error, exceptions.HttpError):
        status = getattr(error, "http_status", 0)
        kind = Unavailable if status >= 500 or status == 429 else PlacementError
        return kind(f"{peer} answered {status}: {_cut(text)}", culprit=peer)
    if isinstance(error, exceptions.UnknownConnectionError) and not isinstance(
        error.original, ValueError
    ):
        return Unavailable(f"{peer}: the answer broke off: {_cut(text)}", culprit=peer)
    return PlacementError(f"{peer}: {type(error).__name__}: {_cut(text)}", culprit=peer)


def identity_url(conf: cfg.ConfigOpts) -> str:
    """Who is asked for tokens, for messages."""
    section = conf[_group(conf).auth_section or _GROUP]
    url = getattr(section, "auth_url", None)
    return f"keystone at {without_secrets(url)}" if url else "the auth plugin"


def _group(conf: cfg.ConfigOpts) -> Any:
    """`[placement]` with keystoneauth's common options registered."""
    _import_requests()
    from keystoneauth1 import loading

    loading.register_auth_conf_options(conf, _GROUP)
    loading.register_session_conf_options(conf, _GROUP)
    loading.register_adapter_conf_options(conf, _GROUP)
    return conf[_GROUP]


def _auth_type(conf: cfg.ConfigOpts) -> str:
    """The name of the auth plugin, from `[placement]` or the section it names."""
    return str(conf[_group(conf).auth_section or _GROUP].auth_type or "")


def _plugin(conf: cfg.ConfigOpts, group: Any) -> Any:
    from keystoneauth1 import loading

    section = group.auth_section or _GROUP
    name = _auth_type(conf)
    loader = loading.get_plugin_loader(_ALIASES.get(name, name))
    conf.register_opts([option._to_oslo_opt() for option in loader.get_options()], group=section)
    return loader.load_from_options_getter(lambda option: conf[section][option.dest])


def _service(group: Any) -> Service:
    interfaces = group.valid_interfaces or ([group.interface] if group.interface else None)
    return Service(
        filter={
            "service_type": group.service_type or "placement",
            "service_name": group.service_name,
            "interface": interfaces or ["internal", "public"],
            "region_name": group.region_name,
        },
        endpoint=group.endpoint_override,
    )


def _import_requests() -> None:
    """Import requests without its guessers of character sets, which JSON has no use for.

    They are 3 to 8 MB of the daemon's memory. chardet is left out wherever charset_normalizer
    takes its place; from 2.32 on requests does without either. None in sys.modules is Python's
    way of saying that a module cannot be found (reference, "The module cache").
    """
    if "requests" in sys.modules:
        return
    spared = [name for name in _guessers() if name not in sys.modules]
    sys.modules.update(dict.fromkeys(spared, cast(ModuleType, None)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says that it found no guesser
            importlib.import_module("requests")
    finally:
        for name in spared:
            del sys.modules[name]


def _guessers() -> tuple[str, ...]:
    """The guessers that this requests can spare; none if its version cannot be told."""
    try:
        major, minor = (int(part) for part in metadata.version("requests").split(".")[:2])
    except (metadata.PackageNotFoundError, ValueError):
        return ()
    if (major, minor) >= (2, 32):
        return "chardet", "charset_normalizer"
    return ("chardet",) if util.find_spec("charset_normalizer") else ()


def _quieten() -> None:
    """Silence the libraries: they warn on every attempt, and log URLs with what is in them.

    What matters is in capd's own words, for debugging too.
    """
    for name in ("keystoneauth", "urllib3", "stevedore"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _reason(text: str) -> str:
    """Why there is no connection: what the system said, out of what three libraries made of it."""
    found = re.search(r"\[Errno -?\d+\] ([^'\")]+)", text)
    return found.group(1).strip() if found else _cut(text)


def _cut(text: str) -> str:
    """The heart of a library's message: no URLs (they may hold secrets), no great length."""
    words = [word for word in text.split() if "://" not in word]
    return " ".join(words)[:200]
