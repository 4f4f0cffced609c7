"""Limit the number and the duration of connections, so that no client can block the others."""

from __future__ import annotations

import asyncio

from aiohttp import web

CONNECTIONS = 256
"""Largest number of connections at once; further ones are closed immediately. It bounds memory and descriptors."""
STREAMS = 128
"""Largest number of connections that receive events without a time limit; at most half of all."""
LIFE_S = 60.0
"""Seconds after its start at which a connection without an event stream is closed, idle or busy: pages take less."""


class Connections:
    """Protocol factory of an aiohttp server that limits connections and keeps track of its event streams."""

    def __init__(self, server: web.Server) -> None:
        self._server = server
        self._streams: dict[object, asyncio.Task[None]] = {}

    def __call__(self) -> asyncio.Protocol:
        """Return a protocol that answers requests, or one that closes the connection if there are too many."""
        if len(self._server.connections) >= CONNECTIONS:
            return _HangingUp()
        handler = self._server()
        asyncio.get_running_loop().call_later(LIFE_S, self._end, handler)
        return handler

    def is_full(self) -> bool:
        """Whether the limit of event streams is reached."""
        return len(self._streams) >= STREAMS

    def has_streams(self) -> bool:
        """Whether any client receives events."""
        return bool(self._streams)

    def begin_stream(self, request: web.Request) -> None:
        """Count a request's connection as an event stream: it has no time limit until `end_stream`."""
        self._streams[request.protocol] = request.task

    def end_stream(self, request: web.Request) -> None:
        """Close the connection of an event stream; raises KeyError if `begin_stream` did not count the request."""
        del self._streams[request.protocol]
        request.protocol.force_close()

    def end_streams(self) -> None:
        """Cancel all event streams: a server that shuts down would wait for them."""
        for answering in tuple(self._streams.values()):
            answering.cancel()

    def _end(self, handler: web.RequestHandler) -> None:
        """Close a connection at once, even while it is answered, unless it is an event stream or closed already."""
        if handler not in self._streams and handler.transport is not None:
            handler.transport.abort()


class _HangingUp(asyncio.Protocol):
    """The protocol of a connection that is closed as soon as it is made."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close the connection."""
        transport.close()
