"""The authenticated HTTP session: from `[placement]` to keystoneauth1.

The options are keystoneauth's own and mean what they mean in nova.conf, whatever the auth type.
keystoneauth is imported here and only when a session is needed. `auth_type` may be anything
keystoneauth has a plugin for; `admin_token` and `none` (also written `noauth`) work without
keystone. No message made here contains a password or token.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

from capd import authoptions
from capd.authoptions import GROUP, auth_type
from capd.errors import ConfigError, PlacementError
from capd.limits import Limits
from capd.uris import without_secrets

if TYPE_CHECKING:
    from keystoneauth1 import session as keystone_session
    from oslo_config import cfg

_NOT_CONFIGURED = "no Placement is configured"


@dataclass(frozen=True)
class Service:
    """Where Placement is to be found, and how: catalog filter or a fixed endpoint."""

    filter: Mapping[str, Any]
    endpoint: Optional[str]


def configured(conf: cfg.ConfigOpts) -> bool:
    """Whether `[placement]` says how to authenticate at all."""
    return bool(auth_type(conf))


def open_session(
    conf: cfg.ConfigOpts, timeout: float, limits: Limits
) -> tuple[keystone_session.Session, Service]:
    """A session for Placement; nothing is sent yet. `timeout` in seconds, for each request.

    Raises ConfigError if the options do not make a session.
    """
    authoptions.check(conf)
    from keystoneauth1 import exceptions

    from capd.transport import Loader

    _quieten()
    group = authoptions.group(conf)
    kind = auth_type(conf)
    if not kind:
        raise ConfigError(
            _NOT_CONFIGURED,
            culprit="auth_type",
            cure="set [placement] auth_type and its credentials, or give nova.conf as another "
            "--config-file",
        )
    try:
        session = Loader().load_from_conf_options(
            conf, GROUP, auth=authoptions.plugin(conf), timeout=group.timeout or timeout
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
            f"[placement] does not make a session of auth_type {kind}: {error}",
            culprit="auth_type",
            cure="keystoneauth's documentation of its plugins lists their options",
        ) from None
    if group.insecure:
        import urllib3

        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    session.bound(limits)
    return session, _service(group)


def failures() -> tuple[type[Exception], ...]:
    """What a keystoneauth session raises when it, the network or a server fails."""
    from keystoneauth1.exceptions import ClientException

    # the last three: keystone's answer is JSON, but not of the shape that is read without asking
    return (ClientException, OSError, ValueError, LookupError, TypeError, AttributeError)


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


def identity_url(conf: cfg.ConfigOpts) -> str:
    """Who is asked for tokens, for messages."""
    url = getattr(conf[authoptions.section(conf)], "auth_url", None)
    return f"keystone at {without_secrets(url)}" if url else "the auth plugin"


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


def _quieten() -> None:
    """Silence the libraries: they warn on every attempt, and log URLs with what is in them.

    What matters is in capd's own words, for debugging too.
    """
    for name in ("keystoneauth", "urllib3", "stevedore"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
