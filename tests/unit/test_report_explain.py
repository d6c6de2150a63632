"""What a failed connection is called."""

from __future__ import annotations

import pytest
import requests
from keystoneauth1 import session

from capd.answers import Unavailable
from capd.failures import explain

CURE = "check that it runs, the address, and the network between"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:9", "Connection refused"),
        ("http://no-such-host.invalid", "Name or service not known"),
    ],
)
def test_a_failed_connection_is_what_the_system_said(url: str, reason: str) -> None:
    with requests.Session() as plain, pytest.raises(Exception) as caught:
        session.Session(session=plain).get(url, connect_retries=0)
    told = explain(caught.value, f"Placement at {url}")
    assert isinstance(told, Unavailable)
    assert told.line() == f"Placement at {url} cannot be reached: {reason} ({CURE})"
