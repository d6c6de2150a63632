"""The real Placement (`openstack-placement`) over HTTP, on SQLite or a database server.

with Placement() as placement:
    uuid = placement.client.create_provider("host1", traits=["CUSTOM_GOLD"])
    capd --once with placement.snippet in its configuration
    assert placement.client.traits(uuid) == {...}
"""

from __future__ import annotations

import uuid as uuids
from collections.abc import Iterable, Mapping
from typing import Any, Callable, Optional

import requests

from tests.rig.wsgi import Service

_CONF = """\
[DEFAULT]
debug = {debug}
use_stderr = true
[api]
auth_strategy = {strategy}
[placement_database]
connection = {database}
{pool}
{extra}
"""


class Client:
    """What a test needs of Placement's API, in plain requests; raises on an unexpected answer."""

    def __init__(self, url: str, token: str = "admin", microversion: str = "1.39") -> None:
        self.url = url
        self._created: set[str] = set()
        self.session = requests.Session()
        self.session.headers.update(
            {
                "X-Auth-Token": token,
                "OpenStack-API-Version": f"placement {microversion}",
                "Accept": "application/json",
                "User-Agent": "capd-test",
            }
        )

    def request(
        self, method: str, path: str, body: Any = None, *, expect: Iterable[int] = ()
    ) -> requests.Response:
        """One request; raises AssertionError unless the status is 2xx or among `expect`."""
        answer = self.session.request(method, self.url + path, json=body, timeout=60)
        wanted = set(expect)
        good = answer.status_code in wanted if wanted else answer.ok
        assert good, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def create_provider(
        self, name: str, uuid: Optional[str] = None, traits: Iterable[str] = ()
    ) -> str:
        """A new resource provider; its uuid."""
        uuid = uuid or str(uuids.uuid4())
        self.request("POST", "/resource_providers", {"name": name, "uuid": uuid})
        wanted = sorted(traits)
        if wanted:
            self.set_traits(uuid, wanted)
        return uuid

    def delete_provider(self, uuid: str) -> None:
        """Remove a provider."""
        self.request("DELETE", f"/resource_providers/{uuid}")

    def rename_provider(self, uuid: str, name: str) -> None:
        """Give a provider another name."""
        self.request("PUT", f"/resource_providers/{uuid}", {"name": name})

    def providers(self) -> dict[str, str]:
        """Name to uuid of all providers."""
        found = self.request("GET", "/resource_providers").json()["resource_providers"]
        return {one["name"]: one["uuid"] for one in found}

    def read(self, uuid: str) -> tuple[set[str], int]:
        """Traits and generation."""
        body = self.request("GET", f"/resource_providers/{uuid}/traits").json()
        return set(body["traits"]), int(body["resource_provider_generation"])

    def traits(self, uuid: str) -> set[str]:
        """The provider's traits."""
        return self.read(uuid)[0]

    def generation(self, uuid: str) -> int:
        """The provider's generation."""
        return self.read(uuid)[1]

    def create_trait(self, name: str) -> None:
        """Make a custom trait known."""
        self.request("PUT", f"/traits/{name}")

    def known_traits(self, prefix: str = "") -> set[str]:
        """The traits that Placement knows."""
        query = f"?name=startswith:{prefix}" if prefix else ""
        return set(self.request("GET", f"/traits{query}").json()["traits"])

    def set_traits(self, uuid: str, traits: Iterable[str]) -> None:
        """Replace the provider's set, creating custom names as needed."""
        wanted = set(traits)
        self._write(uuid, lambda _: wanted)

    def change_traits(
        self, uuid: str, add: Iterable[str] = (), remove: Iterable[str] = ()
    ) -> None:
        """As a well-behaved other agent: read, change, write with the generation just read."""
        plus, minus = set(add), set(remove)
        self._write(uuid, lambda now: (now | plus) - minus)

    def _write(self, uuid: str, change: Callable[[set[str]], set[str]]) -> None:
        """Read and write until no one comes between; unchanged sets are not written."""
        path = f"/resource_providers/{uuid}/traits"
        while True:
            now, generation = self.read(uuid)
            wanted = change(now)
            if wanted == now:
                return
            for name in sorted(wanted - now - self._created):
                if name.startswith("CUSTOM_"):
                    self.create_trait(name)
                    self._created.add(name)
            body = {"traits": sorted(wanted), "resource_provider_generation": generation}
            if self.request("PUT", path, body, expect=(200, 409, 500)).status_code == 200:
                return

    def set_inventory(self, uuid: str, inventory: Mapping[str, int]) -> None:
        """Totals per resource class; this bumps the generation as a booting instance does."""
        body = {
            "resource_provider_generation": self.generation(uuid),
            "inventories": {name: {"total": total} for name, total in inventory.items()},
        }
        self.request("PUT", f"/resource_providers/{uuid}/inventories", body)

    def bump(self, uuid: str) -> int:
        """Raise the generation without touching traits; the new generation."""
        inventories = self.request("GET", f"/resource_providers/{uuid}/inventories").json()
        total = inventories["inventories"].get("CUSTOM_BUMP", {}).get("total", 0)
        self.request("PUT", "/resource_classes/CUSTOM_BUMP")
        self.set_inventory(uuid, {"CUSTOM_BUMP": total + 1})
        return self.generation(uuid)


class Placement(Service):
    """One Placement. `database`: an SQLAlchemy URL, default a SQLite file of its own.

    `keystone_authtoken`: that section's lines; given, tokens are keystone's, else any request with
    `X-Auth-Token: admin` is an administrator's. `extra`: more configuration.
    """

    peer = "placement"
    application = "placement.wsgi.api:application"

    def __init__(
        self,
        *,
        database: Optional[str] = None,
        keystone_authtoken: Optional[str] = None,
        extra: str = "",
        debug: bool = False,
        workers: int = 1,
        threads: int = 8,
    ) -> None:
        super().__init__(workers=workers, threads=threads)
        self.database = database
        self.keystone_authtoken = keystone_authtoken
        self.extra = extra
        self.debug = debug

    def environment(self) -> Mapping[str, str]:
        return {"OS_PLACEMENT_CONFIG_DIR": str(self.root)}

    def configure(self) -> None:
        extra = self.extra
        if self.keystone_authtoken is not None:
            extra += f"\n[keystone_authtoken]\n{self.keystone_authtoken}\n"
        database = self.database or f"sqlite:///{self.root}/placement.db"
        pool = "" if database.startswith("sqlite") else f"max_pool_size = {self.threads}"
        (self.root / "placement.conf").write_text(
            _CONF.format(
                debug=self.debug,
                strategy="noauth2" if self.keystone_authtoken is None else "keystone",
                database=database,
                pool=pool,
                extra=extra,
            )
        )
        manage = str(self.python.with_name("placement-manage"))
        self.execute(manage, "--config-file", str(self.root / "placement.conf"), "db", "sync")

    @property
    def client(self) -> Client:
        """An administrator's client (without keystone)."""
        return Client(self.url)

    @property
    def snippet(self) -> str:
        """`[placement]` for a capd.conf (without keystone)."""
        return f"[placement]\nauth_type = admin_token\nendpoint = {self.url}\ntoken = admin\n"
