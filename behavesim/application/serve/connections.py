"""Limit the number and the duration of connections, so that no client can block the others."""

from __future__ import annotations

import asyncio

from aiohttp import web

CONNECTIONS = 256
"""Largest number of connections at once; further ones are closed immediately. It bounds memory and descriptors."""
LIFE_S = 60.0
"""Seconds after its start at which a connection is closed, idle or busy: pages take less."""


class Connections:
    """Protocol factory of an aiohttp server that limits their number and their duration."""

    def __init__(self, server: web.Server) -> None:
        self._server = server

    def __call__(self) -> asyncio.Protocol:
        """Return a protocol that answers requests, or one that closes the connection if there are too many."""
        if len(self._server.connections) >= CONNECTIONS:
            return _HangingUp()
        handler = self._server()
        asyncio.get_running_loop().call_later(LIFE_S, _end, handler)
        return handler


def _end(handler: web.RequestHandler) -> None:
    """Close a connection at once, even while it is answered, unless it is closed already."""
    if handler.transport is not None:
        handler.transport.abort()


class _HangingUp(asyncio.Protocol):
    """The protocol of a connection that is closed as soon as it is made."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close the connection."""
        transport.close()
