"""Cell mapping templates and what messages may show of a URL."""

from __future__ import annotations

from typing import Optional

import pytest

from capd.errors import ConfigError
from capd.novadb.urls import describe, parse, resolve, secrets

DEFAULT = "mysql+pymysql://nova:s%40x@db.example:3307/nova?charset=utf8#f"


@pytest.mark.parametrize(
    ("template", "default", "expected"),
    [
        ("mysql://a:b@c/d", DEFAULT, "mysql://a:b@c/d"),
        (
            "{scheme}://{username}:{password}@{hostname}:{port}/{path}_cell0?{query}",
            DEFAULT,
            "mysql+pymysql://nova:s%40x@db.example:3307/nova_cell0?charset=utf8",
        ),
        (
            "{scheme}://other:pw@{hostname}/x#{fragment}",
            DEFAULT,
            "mysql+pymysql://other:pw@db.example/x#f",
        ),
        (
            "{scheme}:////{path}_cell0",
            "sqlite:////var/lib/nova.db",
            "sqlite:////var/lib/nova.db_cell0",
        ),
        ("{scheme}://{hostname}:{port}/x", "mysql://h/y", "mysql://h:None/x"),
        ("{scheme}://{nonsense}/x", DEFAULT, "{scheme}://{nonsense}/x"),
        ("mysql://a:{b@c/d", DEFAULT, "mysql://a:{b@c/d"),
        ("{scheme}://x/y", None, "{scheme}://x/y"),
        (
            "m://{username1}:{password1}@{hostname1}:{port1},{username2}@{hostname2}:{port2}/z",
            "m://u1:p1@h1:1,u2:p2@[::1]:2/z",
            "m://u1:p1@h1:1,u2@::1:2/z",
        ),
        ("{scheme}://{hostname1}", "m://h1:1,h2:2/z", "{scheme}://{hostname1}"),
    ],
)
def test_templates_are_filled_as_nova_fills_them(
    template: str, default: Optional[str], expected: str
) -> None:
    assert resolve(template, default) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mysql+pymysql://nova:pw@db:3306/nova?charset=utf8", "mysql db:3306/nova"),
        ("postgresql+psycopg2://nova:pw@db/nova", "postgresql db/nova"),
        ("sqlite:////var/lib/nova.db", "sqlite /var/lib/nova.db"),
        ("mysql+pymysql://nova:pw@/nova?unix_socket=/run/db", "mysql local/nova"),
    ],
)
def test_descriptions_have_no_credentials(text: str, words: str) -> None:
    assert describe(parse(text, "x")) == words


def test_secrets_in_every_spelling() -> None:
    url = parse("mysql+pymysql://nova:s%40x@db/nova?ssl_key_password=hidden", "x")
    assert set(secrets(url)) == {"s@x", "s%40x", "hidden"}
    assert secrets(parse("sqlite:////x", "x")) == ()


@pytest.mark.parametrize(
    "text", ["nova:s3cr3t@db", "mysql://nova:s3cr3t@db:port/x", "", "{scheme}://nova:s3cr3t@db"]
)
def test_a_bad_url_is_not_shown(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "[database] connection")
    assert str(caught.value) == "the database URL of [database] connection cannot be understood"
    assert "s3cr3t" not in caught.value.line()


def test_a_driver_that_is_installed_is_taken() -> None:
    assert parse("mysql://nova@db/nova", "x").drivername in ("mysql+pymysql", "mysql+mysqldb")
    assert parse("mysql+pymysql://nova@db/nova", "x").drivername == "mysql+pymysql"


def test_connection_parameters_are_appended() -> None:
    assert parse("mysql+pymysql://u@db/n?a=1", "x", "ssl_ca=/ca.pem").query == {
        "a": "1",
        "ssl_ca": "/ca.pem",
    }
    assert parse("mysql+pymysql://u@db/n", "x", "a=1").query == {"a": "1"}
