"""A Unix socket in front of libvirt's that makes every answer late, or keeps it."""

from __future__ import annotations

import contextlib
import heapq
import selectors
import socket
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Optional


class Proxy:
    """Listens on `path` and passes everything on to `target`.

    What comes back is held for `delay` seconds, so that every call takes at least that long;
    with `mute` nothing comes back until it is over. Both may be changed while it runs.
    """

    def __init__(self, path: Path, target: Path, delay: float = 0.0) -> None:
        self.path = path
        self.delay = delay
        self.mute = False
        self._target = target
        self._peers: dict[socket.socket, socket.socket] = {}
        self._waiting: list[tuple[float, int, socket.socket, bytes]] = []
        self._clients: set[socket.socket] = set()
        self._count = 0
        self._stop = False
        self._listener = socket.socket(socket.AF_UNIX)
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Proxy:
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._stop = True
        self._thread.join(5)
        for sock in (self._listener, *self._peers):
            sock.close()

    def _run(self) -> None:
        while not self._stop:
            for key, _ in self._selector.select(0.02):
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if sock is self._listener:
                    self._accept()
                else:
                    self._pass(sock)
            due = not self.mute and self._waiting
            while due and self._waiting and self._waiting[0][0] <= time.monotonic():
                _, _, target, data = heapq.heappop(self._waiting)
                self._send(target, data)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(str(self._target))
        except OSError:
            client.close()
            return
        self._clients.add(client)
        for one, other in ((client, server), (server, client)):
            self._peers[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _pass(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(1 << 20)
        except OSError:
            data = b""
        peer = self._peers.get(sock)
        if not data:
            self._close(sock)
        elif peer is not None and sock in self._clients:
            self._send(peer, data)
        elif peer is not None:
            self._count += 1
            heapq.heappush(self._waiting, (time.monotonic() + self.delay, self._count, peer, data))

    def _send(self, target: socket.socket, data: bytes) -> None:
        try:
            target.sendall(data)
        except OSError:
            self._close(target)

    def _close(self, sock: socket.socket) -> None:
        for one in (sock, self._peers.get(sock)):
            if one is not None and one in self._peers:
                del self._peers[one]
                self._clients.discard(one)
                with contextlib.suppress(KeyError, ValueError):
                    self._selector.unregister(one)
                one.close()
