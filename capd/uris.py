"""Addresses as they may be shown: without what is secret in them.

For every part that names a libvirt URI or an HTTP address in a message, a log or a dump.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

#: `://USER:PASSWORD@`, the password to the last `@` of the word; `HOST:PORT/` has no password
_PASSWORD = re.compile(r"(://[^/\s:@?#]*):(?!\d+(?:[/?#\s]|$))\S*@")


def without_password(text: str) -> str:
    """`text`, a URI or a sentence with URIs in it, without the passwords of their users."""
    return _PASSWORD.sub(r"\1@", text)


def without_secrets(url: str) -> str:
    """An HTTP address without user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
