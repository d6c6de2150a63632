"""A fake Placement, for faults that the real one cannot be made to have at a chosen moment.

`FakePlacement` answers as the real one does at microversion 1.6 for the few requests capd makes,
generations included; a test sends the same requests to both and compares. `FakeClient` is capd's
own client with the fake in place of the network; `FakeServer` puts the fake behind real HTTP.
"""

from __future__ import annotations

import json
import threading
import uuid as uuids
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Callable, Optional
from urllib.parse import parse_qs, unquote, urlsplit

from capd.answers import MICROVERSION, Answer
from capd.config import Settings
from capd.placement import Placement

Reply = tuple[int, Any]


@dataclass
class FakeProvider:
    """A resource provider."""

    name: str
    generation: int = 0
    traits: set[str] = field(default_factory=set)


class FakePlacement:
    """Providers, trait names, and the answer to each request."""

    def __init__(self, standard: Iterable[str] = ()) -> None:
        self.names: set[str] = set(standard)
        self.providers: dict[str, FakeProvider] = {}
        self.log: list[tuple[str, str, int]] = []

    # -- what other agents do

    def create(self, name: str, uuid: Optional[str] = None, traits: Iterable[str] = ()) -> str:
        """A new provider; its uuid. Other agents create the names they use."""
        uuid = uuid or str(uuids.uuid4())
        self.providers[uuid] = FakeProvider(name)
        if traits:
            self.change(uuid, add=traits)
        return uuid

    def change(self, uuid: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """A write of another agent, atomic; an unchanged set keeps the generation."""
        provider = self.providers[uuid]
        self.names |= {name for name in add if name.startswith("CUSTOM_")}
        wanted = (provider.traits | set(add)) - set(remove)
        if wanted != provider.traits:
            provider.traits = wanted
            provider.generation += 1

    def bump(self, uuid: str) -> None:
        """What a booting instance does."""
        self.providers[uuid].generation += 1

    # -- what capd asks

    def handle(self, method: str, target: str, body: Any = None) -> Reply:
        """Status and JSON body (None for none) of one request."""
        status, document = self._route(method, target, body)
        self.log.append((method, target, status))
        return status, document

    def puts(self) -> list[tuple[str, int]]:
        """The writes to providers so far: path and status."""
        return [
            (target, status)
            for method, target, status in self.log
            if method == "PUT" and target.startswith("/resource_providers/")
        ]

    def _route(self, method: str, target: str, body: Any) -> Reply:
        parts = urlsplit(target)
        words = [unquote(word) for word in parts.path.strip("/").split("/")]
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if words == ["traits"] and method == "GET":
            return self._list(query)
        if words[0] == "traits" and len(words) == 2 and method == "PUT":
            return self._create(words[1])
        if words == ["resource_providers"] and method == "GET":
            return self._providers(query)
        if words == ["resource_providers"] and method == "POST":
            return self._make(body)
        if words[0] == "resource_providers" and len(words) == 3 and words[2] == "traits":
            if method == "GET":
                return self._read(words[1])
            if method == "PUT":
                return self._write(words[1], body)
        return error(404, "The resource could not be found.")

    def _list(self, query: dict[str, str]) -> Reply:
        kind, _, value = query.get("name", "startswith:").partition(":")
        if kind == "in":
            found = self.names & set(value.split(","))
        else:
            found = {name for name in self.names if name.startswith(value)}
        return 200, {"traits": sorted(found)}

    def _create(self, name: str) -> Reply:
        if not name.startswith("CUSTOM_") or len(name) > 255 or name != name.upper():
            return error(400, "The trait is invalid.")
        status = 204 if name in self.names else 201
        self.names.add(name)
        return status, None

    def _providers(self, query: dict[str, str]) -> Reply:
        rows = [
            {"uuid": uuid, "name": provider.name, "generation": provider.generation}
            for uuid, provider in self.providers.items()
            if query.get("uuid", uuid) == uuid
            and query.get("name", provider.name) == provider.name
        ]
        return 200, {"resource_providers": rows}

    def _make(self, body: Any) -> Reply:
        uuid = body.get("uuid") or str(uuids.uuid4())
        names = {provider.name for provider in self.providers.values()}
        if uuid in self.providers or body["name"] in names:
            return error(409, f"Conflicting resource provider {body['name']} already exists.")
        self.providers[uuid] = FakeProvider(body["name"])
        return 201, None

    def _read(self, uuid: str) -> Reply:
        if uuid not in self.providers:
            return error(
                404,
                f"No resource provider with uuid {uuid} found: No resource provider with uuid "
                f"{uuid} found.",
            )
        provider = self.providers[uuid]
        return 200, {
            "resource_provider_generation": provider.generation,
            "traits": sorted(provider.traits),
        }

    def _write(self, uuid: str, body: Any) -> Reply:
        if uuid not in self.providers:
            return error(404, f"No resource provider with uuid {uuid} found.")
        provider = self.providers[uuid]
        if provider.generation != body["resource_provider_generation"]:
            return error(
                409,
                "Resource provider's generation already changed. Please update the generation "
                "and try again.",
            )
        unknown = set(body["traits"]) - self.names
        if unknown:
            return error(400, f"No such trait {', '.join(sorted(unknown))}")
        self.change(uuid, add=body["traits"], remove=provider.traits - set(body["traits"]))
        return self._read(uuid)


def error(status: int, detail: str, **more: Any) -> Reply:
    """A Placement error document."""
    title = {400: "Bad Request", 404: "Not Found", 409: "Conflict"}.get(status, "Error")
    return status, {"errors": [{"status": status, "title": title, "detail": detail, **more}]}


CONCURRENT = error(
    500,
    "The server has either erred or is incapable of performing the requested operation.\n\n "
    "Another thread concurrently updated the resource provider data. Please retry your update",
)


class FakeClient(Placement):
    """capd's client on a fake: everything but keystoneauth and the network is the real thing.

    `hook` is called with method and path before each request, and may change the fake, return a
    reply of its own, or raise; `after` likewise once the request has been carried out.
    """

    def __init__(self, settings: Settings, fake: FakePlacement) -> None:
        super().__init__(settings, pause=lambda _: None)
        self.fake = fake
        self.hook: Callable[[str, str], Optional[Reply]] = lambda method, path: None
        self.after: Callable[[str, str], Optional[Reply]] = lambda method, path: None
        self.lock = threading.Lock()

    def _send(
        self, method: str, path: str, body: Any = None, microversion: str = MICROVERSION
    ) -> Answer:
        assert microversion == MICROVERSION, "reporting needs no newer one"
        with self.lock:
            self.requests += 1
            reply = self.hook(method, path) or self.fake.handle(
                method, path, json.loads(json.dumps(body))
            )
            reply = self.after(method, path) or reply
        status, document = reply
        content = b"" if document is None else json.dumps(document).encode()
        return Answer(f"{method} {path.split('?')[0]}", "fake", status, {}, content)


class FakeServer:
    """A fake over HTTP, in a thread. `script` may answer (or break) a request before the fake.

    It gets the handler, method and path, and returns None for "as usual", True if it has dealt
    with the request itself, or a `Reply`.
    """

    def __init__(self, fake: FakePlacement) -> None:
        self.fake = fake
        self.script: Callable[[Any, str, str], Any] = lambda handler, method, path: None
        self.headers: list[dict[str, str]] = []
        self.lines: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size)) if size else None
                outer.headers.append({key.lower(): value for key, value in self.headers.items()})
                outer.lines.append(self.requestline)
                reply = outer.script(self, self.command, self.path)
                if reply is True:
                    return
                status, document = reply or outer.fake.handle(self.command, self.path, body)
                self.reply(status, b"" if document is None else json.dumps(document).encode())

            def reply(
                self, status: int, content: bytes, kind: str = "application/json", **more: str
            ) -> None:
                self.send_response(status)
                if status != 204:
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(content)))
                for key, value in more.items():
                    self.send_header(key.replace("_", "-"), value)
                self.end_headers()
                if status != 204:
                    self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_DELETE = answer

            def log_message(self, *args: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> FakeServer:
        self.thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.server.shutdown()
        self.server.server_close()
