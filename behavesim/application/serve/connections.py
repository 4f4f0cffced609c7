"""Who may be connected, and for how long: no client can take what others need."""

from __future__ import annotations

import asyncio

from aiohttp import web

CONNECTIONS = 256
"""Connections at once; further ones are closed as they come."""
STREAMS = 128
"""Of them, those that are told of what happens for as long as they last."""
LIFE_S = 60.0
"""For so long other connections last, however busy: a page takes less, and a client that says nothing no more."""


class Connections:
    """Makes the protocol of each new connection of an aiohttp server."""

    def __init__(self, server: web.Server) -> None:
        self._server = server
        self._streams: dict[object, asyncio.Task[None]] = {}

    def __call__(self) -> asyncio.Protocol:
        """A protocol that answers, or one that hangs up where too many are connected."""
        if len(self._server.connections) >= CONNECTIONS:
            return _HangingUp()
        handler = self._server()
        asyncio.get_running_loop().call_later(LIFE_S, self._end, handler)
        return handler

    def is_full(self) -> bool:
        """Whether there is no room for another stream."""
        return len(self._streams) >= STREAMS

    def has_streams(self) -> bool:
        """Whether anybody is told of what happens."""
        return bool(self._streams)

    def begin_stream(self, request: web.Request) -> None:
        """Let a connection last."""
        self._streams[request.protocol] = request.task

    def end_stream(self, request: web.Request) -> None:
        """Close a connection that was let last."""
        del self._streams[request.protocol]
        request.protocol.force_close()

    def end_streams(self) -> None:
        """End all connections that were let last: a server that is to end would wait for them."""
        for answering in tuple(self._streams.values()):
            answering.cancel()

    def _end(self, handler: web.RequestHandler) -> None:
        if handler not in self._streams and handler.transport is not None:
            handler.transport.abort()


class _HangingUp(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
