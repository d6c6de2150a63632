"""Every answer Placement can give, as the error it becomes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from capd.answers import (
    Answer,
    Conflict,
    ProviderGone,
    Unanswered,
    Unavailable,
    UnknownTraits,
)
from capd.errors import PlacementError
from capd.jitter import spread, waits
from capd.placement import _queries

CONCURRENT = "Another thread concurrently updated the resource provider data. Please retry"

DEADLOCK = "(1213, 'Deadlock found when trying to get lock; try restarting transaction')"


def answer(status: int, detail: str = "", **more: Any) -> Answer:
    document = {"errors": [{"status": status, "detail": detail, **more}]}
    return Answer("PUT /x", "http://p", status, {}, json.dumps(document).encode())


@pytest.mark.parametrize(
    ("given", "kind", "words", "cure"),
    [
        (
            answer(400, "No such trait CUSTOM_A, HW_B"),
            UnknownTraits,
            "CUSTOM_A, HW_B",
            "os-traits",
        ),
        (
            answer(400, "JSON does not validate"),
            PlacementError,
            "JSON does not validate",
            "own log",
        ),
        (answer(401, "no token"), PlacementError, "does not accept the token", "credentials"),
        (answer(403, "Policy forbids"), PlacementError, "forbids this to capd's user", "role"),
        (
            answer(404, "No resource provider with uuid x"),
            ProviderGone,
            "no such resource p",
            None,
        ),
        (answer(404, "The resource could not"), PlacementError, "no such resource: The", "path"),
        (answer(406, max_version="1.5"), PlacementError, "knows up to 1.5", "Pike"),
        (answer(406), PlacementError, "older than microversion 1.6", "Pike"),
        (
            answer(409, "generation changed"),
            Conflict,
            "has changed meanwhile",
            "what else keeps writing",
        ),
        (
            answer(409, code="placement.concurrent_update"),
            Conflict,
            "has changed",
            "what else keeps writing",
        ),
        (
            answer(409, code="placement.duplicate_name"),
            PlacementError,
            "duplicate_name",
            "API reference",
        ),
        (answer(500, CONCURRENT), Conflict, "another thread updated", "by itself"),
        (answer(500, DEADLOCK), Conflict, "lost to another write", "by itself"),
        (answer(500, "NoneType"), Unavailable, "failed inside: NoneType", "own log"),
        (answer(502), Unavailable, "is unavailable (PUT /x: 502)", "load balancer"),
        (answer(503, "busy"), Unavailable, "is unavailable: busy", "load balancer"),
        (answer(504), Unavailable, "is unavailable", "tries again by itself"),
        (answer(429), Unavailable, "is asked too often", "interval"),
        (answer(302), PlacementError, "unexpected answer", "proxy"),
        (answer(418, "teapot"), PlacementError, "unexpected answer: teapot", "proxy"),
    ],
)
def test_refusals(given: Answer, kind: type[PlacementError], words: str, cure: str) -> None:
    with pytest.raises(PlacementError) as caught:
        given.check()
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert "\n" not in caught.value.line()
    if cure is None:
        assert caught.value.cure is None
    else:
        assert cure in (caught.value.cure or "")


@pytest.mark.parametrize("status", [200, 201, 204])
def test_successes(status: int) -> None:
    assert answer(status).check().status == status


def test_unknown_traits_are_named() -> None:
    with pytest.raises(UnknownTraits) as caught:
        answer(400, "No such trait COMPUTE_NET_VIF_MODEL_IGB, CUSTOM_CAPD_X_1").check()
    assert caught.value.names == {"COMPUTE_NET_VIF_MODEL_IGB", "CUSTOM_CAPD_X_1"}
    many = {f"CUSTOM_CAPD_{number:03}" for number in range(200)}
    with pytest.raises(UnknownTraits) as caught:
        answer(400, "The server could not comply.\n\n No such trait " + ", ".join(many)).check()
    assert caught.value.names == many


@pytest.mark.parametrize(
    "body", [b"", b"<html>It works!</html>", b"\xff\xfe", b"nul", b"[" * 100000]
)
def test_a_body_that_is_no_json(body: bytes) -> None:
    with pytest.raises(PlacementError, match="not JSON") as caught:
        Answer("GET /x", "http://p", 200, {}, body).document()
    assert "proxy" in (caught.value.cure or "")
    with pytest.raises(Unavailable):
        Answer("GET /x", "http://p", 503, {}, body).check()


@pytest.mark.parametrize("body", [b"[]", b"null", b"3", b'"text"'])
def test_json_of_another_shape_is_not_called_no_json(body: bytes) -> None:
    with pytest.raises(PlacementError) as caught:
        Answer("GET /x", "http://p", 200, {}, body).document()
    assert caught.value.line() == (
        "Placement at http://p answered with JSON that is no object (GET /x: 200) "
        "(check that the endpoint is Placement's and no web page or proxy answers for it)"
    )


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.0), ("-1", 0.0)]
)
def test_retry_after(value: str, seconds: float) -> None:
    with pytest.raises(Unavailable) as caught:
        Answer("GET /x", "http://p", 503, {"retry-after": value}, b"").check()
    assert caught.value.after == seconds


def test_no_answer_is_a_kind_of_unavailable() -> None:
    assert issubclass(Unanswered, Unavailable)


def test_details_are_short_and_on_one_line() -> None:
    with pytest.raises(PlacementError) as caught:
        answer(500, "a\n b\n" * 1000).check()
    assert len(str(caught.value)) < 450
    assert "\n" not in str(caught.value)


def test_waits_grow_within_bounds_and_are_never_the_same() -> None:
    drawn = [list(waits(6, 0.1, 1.0)) for _ in range(200)]
    for index, span in enumerate([0.1, 0.2, 0.4, 0.8, 1.0, 1.0]):
        column = [row[index] for row in drawn]
        assert 0.25 * span <= min(column) < max(column) <= span
        assert len(set(column)) == 200
    assert 54 <= min(spread(60) for _ in range(500)) < max(spread(60) for _ in range(500)) <= 66


def test_queries_stay_below_2000_bytes_with_their_request_line() -> None:
    names = [f"CUSTOM_CAPD_{number:04}_" + "X" * (number % 240) for number in range(1500)]
    queries = list(_queries(names))
    assert ",".join(queries).split(",") == names
    for query in queries:
        assert len(f"GET /placement/traits?name=in:{query} HTTP/1.1") < 2000
    assert len(queries) < 200
