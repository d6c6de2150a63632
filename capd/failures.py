"""Failures of keystoneauth, the connection and TLS, in words.

From what `capd.keystone.failures` lists to a PlacementError, for `capd.placement`. What a library
says may hold a header, a URL or the name of a class; only what is known to be fit to be read is
taken out of it.
"""

from __future__ import annotations

import re
from typing import Optional

from capd.answers import Unanswered, Unavailable
from capd.errors import PlacementError

_FILES = "check cafile, certfile and keyfile in [placement], and the server's name"
_OTHER = "check the address, and that no web page or proxy answers for it"
_LATER = "see its own log; the next pass tries again"
_DETAIL = 200

#: where the system's own words stand in those of three libraries
_SYSTEM = re.compile(r"\[Errno -?\d+\] ([^'\")]+)")
#: the same for OpenSSL
_OPENSSL = re.compile(r"(?:\[[A-Z0-9]+(?:: \w+)?\] |\b(?=EOF occurred))([^\[\]]+?)\.? ?\(_ssl\.c:")

#: what is said of a connection that the system says nothing about
_CONNECTION = (
    ("proxy", "the proxy on the way (http_proxy, https_proxy) does not let it through"),
    ("closed connection without response", "it closes the connection without an answer"),
    ("Connection aborted", "its answer is no HTTP"),
)


def explain(error: Exception, peer: str) -> PlacementError:
    """A failure in words. `peer` is who was asked."""
    from keystoneauth1 import exceptions

    if isinstance(error, exceptions.ConnectTimeout):
        return Unanswered(
            f"{peer} does not answer in time",
            culprit=peer,
            cure="[placement] request_timeout and pass_timeout are the limits",
        )
    if isinstance(error, exceptions.SSLError):
        return PlacementError(f"{peer}: TLS failed: {_tls(error)}", culprit=peer, cure=_FILES)
    if isinstance(error, exceptions.ConnectFailure):
        return Unavailable(
            f"{peer} cannot be reached: {_reason(error)}",
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
        text = f"{peer} answered {status}: {_cut(re.sub(r'[(]HTTP [0-9]+[)]', '', str(error)))}"
        if status >= 500 or status == 429:
            return Unavailable(text, culprit=peer, cure=_LATER)
        return PlacementError(text, culprit=peer, cure=_OTHER)
    if isinstance(error, exceptions.UnknownConnectionError):
        return _unread(error.original, peer)
    return _unforeseen(error, peer)


def _unread(original: Optional[Exception], peer: str) -> PlacementError:
    """A request that requests did not send, or an answer that was not read to its end."""
    from requests import exceptions

    from capd.transport import Refused

    if isinstance(original, Refused):
        return Unanswered(f"{peer}: the answer {original}", culprit=peer, cure=_OTHER)
    if isinstance(original, exceptions.InvalidHeader):
        return PlacementError(
            f"{peer} was not asked: what [placement] gives cannot be sent in a header",
            culprit="[placement]",
            cure="look for line breaks and blanks in the token",
        )
    if isinstance(original, exceptions.ContentDecodingError):
        return Unanswered(f"{peer}: the answer cannot be unpacked", culprit=peer, cure=_OTHER)
    if isinstance(original, ValueError):
        return PlacementError(
            f"{peer} was not asked: this is no address",
            culprit=peer,
            cure="it begins with http:// or https://, in [placement] as in the catalog",
        )
    return Unavailable(
        f"{peer}: the answer broke off", culprit=peer, cure="see its log, and that of its proxy"
    )


def _unforeseen(error: Exception, peer: str) -> PlacementError:
    from keystoneauth1.exceptions import ClientException

    if isinstance(error, ClientException):
        return PlacementError(f"{peer}: {_cut(str(error))}", culprit=peer, cure=_OTHER)
    if isinstance(error, OSError):
        # requests: a file of [placement] that is not there, as a sentence or as the system has it
        text = f"{error.strerror}: {error.filename}" if error.strerror else _cut(str(error))
        return PlacementError(f"{peer}: {text}", culprit=peer, cure=_FILES)
    if isinstance(error, ValueError):
        return PlacementError(
            f"{peer} was not asked: what [placement] gives cannot be sent",
            culprit="[placement]",
            cure="look for unusual characters in the address, the user and the token",
        )
    return PlacementError(f"{peer}: the answer cannot be understood", culprit=peer, cure=_OTHER)


def _reason(error: Exception) -> str:
    """Why there is no connection."""
    text = " ".join(str(error).split())
    found = _SYSTEM.search(text)
    if found:
        return found.group(1).strip()
    return next((said for word, said in _CONNECTION if word in text), "no connection comes about")


def _tls(error: Exception) -> str:
    """What OpenSSL said."""
    found = _OPENSSL.search(" ".join(str(error).split()))
    said = found.group(1).strip() if found else "the two do not understand each other"
    return "certfile and keyfile hold no certificate with its key" if said == "PEM lib" else said


def _cut(text: str) -> str:
    """A message without URLs (they may hold secrets) and of no great length."""
    words = [word for word in text.split() if "://" not in word]
    return " ".join(words)[:_DETAIL]
