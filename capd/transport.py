"""The HTTP beneath keystoneauth: every request with a deadline, every answer with a largest size.

The timeout of requests is one for each read of the socket: a server that sends a byte now and
then holds its client for as long as it likes. Here each read gets what is left of the whole
request's time, headers included. The body is read piece by piece, unpacked, up to a limit: a
compressed answer can be a thousand times as long as what is sent.

Not covered is the time to resolve a name (the resolver has limits of its own); and of a name with
several addresses that do not answer, each is tried for as long.

`capd.keystone` puts this under its session. Importing it imports requests.
"""

from __future__ import annotations

import http.client
import io
import socket
import threading
import time
from typing import Any, Optional

import requests
from keystoneauth1 import session as keystone_session
from keystoneauth1.loading import session as keystone_loading
from requests.exceptions import ReadTimeout, RequestException
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from capd.limits import Limits

#: what is asked for; each makes of a byte a thousand at most
_ENCODINGS = ("gzip", "deflate")
#: bytes to read at a time: packed ones may become a thousand times as many before they are counted
_PACKED, _PLAIN = 4096, 65536


class Refused(RequestException):
    """An answer that is not read to its end; the text is what is said of it."""


class _Time(threading.local):
    """When the request of this thread has to be over, on the monotonic clock."""

    end: float = 0.0


_TIME = _Time()


class _Reader(io.RawIOBase):
    """A socket's stream, each read of which has what is left of the request's time."""

    def __init__(self, raw: Any, sock: Any, end: float) -> None:
        self._raw, self._sock, self._end = raw, sock, end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        left = self._end - time.monotonic()
        if left <= 0:
            raise socket.timeout("timed out")
        self._sock.settimeout(left)
        count: Optional[int] = self._raw.readinto(buffer)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """Reads the status line, the headers and the body through `_Reader`."""

    def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_Reader(self.fp.detach(), sock, _TIME.end))


class _Connection(HTTPConnection):
    response_class = _Response


class _TlsConnection(HTTPSConnection):
    response_class = _Response


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


_POOLS = {"http": _Pool, "https": _TlsPool}


class Adapter(keystone_session.TCPKeepAliveAdapter):  # type: ignore[misc]
    """keystoneauth's own adapter, within `limits`."""

    def __init__(self, limits: Limits, **kwargs: Any) -> None:
        self._limits = limits
        super().__init__(**kwargs)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = _POOLS
        return manager

    def send(self, request: Any, **kwargs: Any) -> requests.Response:
        """Send, and read the whole answer. Raises RequestException, Refused among its kinds."""
        seconds = min(kwargs.pop("timeout"), self._limits.left)
        if seconds <= 0:
            raise ReadTimeout("the pass is out of time")
        _TIME.end = end = time.monotonic() + seconds
        response: Optional[requests.Response] = None
        try:
            response = super().send(request, **{**kwargs, "timeout": seconds, "stream": True})
            response._content = self._body(response)
            return response
        except RequestException:
            if response is not None:
                response.close()
            if time.monotonic() >= end:
                raise ReadTimeout("the answer is not complete in time") from None
            raise

    def _body(self, response: requests.Response) -> bytes:
        encoding = response.headers.get("Content-Encoding", "").strip().lower()
        if encoding not in ("", "identity", *_ENCODINGS):
            raise Refused("is packed in a way that was not asked for")
        parts, size = [], 0
        for part in response.iter_content(_PACKED if encoding else _PLAIN):
            parts.append(part)
            size += len(part)
            if size > self._limits.largest:
                raise Refused(f"is longer than {self._limits.largest // 2**20} MiB")
        return b"".join(parts)


class Session(keystone_session.Session):  # type: ignore[misc]
    """keystoneauth's session, whose version discovery never asks for a token.

    If keystone answers discovery with 401, keystoneauth repeats the request with a token, for
    which it waits for itself: the discovery is a part of getting that token, under a lock.
    """

    def request(self, url: str, method: str, **kwargs: Any) -> requests.Response:
        if kwargs.get("authenticated"):
            kwargs["authenticated"] = False
        response: requests.Response = super().request(url, method, **kwargs)
        return response

    def bound(self, limits: Limits) -> None:
        """Hold every request to `limits`."""
        ciphers = ("tls_ciphers", "tls_min_version")  # younger than keystoneauth 5.0
        more = {name: getattr(self, name) for name in ciphers if getattr(self, name, None)}
        adapter = Adapter(limits, **more)
        for scheme in list(self.session.adapters):
            self.session.mount(scheme, adapter)
        self.session.headers["Accept-Encoding"] = ", ".join(_ENCODINGS)


class Loader(keystone_loading.Session):  # type: ignore[misc]
    """Makes a `Session` of configuration."""

    @property
    def plugin_class(self) -> type[Session]:
        return Session
