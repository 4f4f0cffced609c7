"""Finds out why a request got no answer: the cause, whether it may pass, and what a person can do about it."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import zlib
from dataclasses import dataclass
from urllib.parse import urlsplit

import aiohttp
import httpx2

from behavesim.base.text import one_line
from behavesim.proposers.patience import Fault, Meaning

PROBE_S = 3.0
"""Seconds to wait for a server when testing whether it takes connections."""
NEVER_PASSES = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})
"""Resolver error codes for a host name that does not exist; other codes mean that the lookup failed this time."""


@dataclass(frozen=True)
class Route:
    """Where requests go."""

    url: httpx2.URL
    """The endpoint's URL; its scheme is `http` or `https`."""
    proxy: str | None
    """URL of the proxy that requests go through; None if there is none."""

    @property
    def port(self) -> int:
        """The endpoint's port: its scheme's own unless the URL names one."""
        return self.url.port or (443 if self.url.scheme == "https" else 80)

    @property
    def where(self) -> str:
        """The endpoint's `host:port`, for messages."""
        return f"{self.url.host}:{self.port}"

    @property
    def variable(self) -> str:
        """The name of the environment's variable for the proxy: HTTP_PROXY or HTTPS_PROXY, by the URL's scheme."""
        return f"{self.url.scheme.upper()}_PROXY"

    @property
    def by(self) -> str:
        """The proxy's host, port and variable, for messages, without its URL's password; use it if there is a proxy."""
        parts = urlsplit(self.proxy or "")
        return f"the proxy {parts.hostname}:{parts.port} ({self.variable})"


async def diagnosed(error: BaseException, route: Route, timeout_s: float, is_new: bool) -> Fault:
    """Return the fault that an exception of a connection means.

    `is_new` is whether the server has answered no request yet. If it also closed the connection silently, this tests
    whether its port expects TLS. `timeout_s` is the request's time limit in seconds, for the message. A request that
    was sent without a proper answer counts as possibly billed.
    """
    while error.__cause__ is not None and not isinstance(error, aiohttp.ClientError | OSError):
        error = error.__cause__  # the package wraps what aiohttp raised
    is_silent = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientResponseError)
    if is_new and is_silent and await _wants_tls(route):
        return _unsent("setup", f"{route.where} wants an encrypted connection; write https:// in OPENAI_BASE_URL")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        said = one_line(f"{error.status} {error.message}", 100)
        return _unsent("setup", f"{route.by} lets nobody through to {route.where} ({said})")
    if isinstance(error, aiohttp.ClientConnectorError):
        return _unconnected(error, route)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        to = route.by if route.proxy else route.where
        return _unsent("passing", f"{to} does not respond to connections; check OPENAI_BASE_URL and firewalls")
    if isinstance(error, aiohttp.InvalidURL):
        return _unsent("setup", "OPENAI_BASE_URL or the proxy's URL is not valid; check both")
    return Fault(*_broken(error, route, timeout_s), usage=None, may_be_billed=True)


def _unconnected(error: aiohttp.ClientConnectorError, route: Route) -> Fault:
    """Return the fault for a connection that was not made: host name, certificate, encryption, or no server there."""
    cause = error.os_error
    # The error names the host that it connected to: the proxy's, if the request goes through one.
    through_proxy = isinstance(error, aiohttp.ClientProxyConnectionError) or error.host != route.url.host
    to, setting = (route.by, route.variable) if through_proxy else (route.where, "OPENAI_BASE_URL")
    if isinstance(cause, socket.gaierror):
        if cause.errno in NEVER_PASSES:
            return _unsent("setup", f"there is no host {error.host!r}; check {setting} and the network")
        return _unsent("passing", f"the name {error.host!r} cannot be looked up at present; check the network")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = getattr(error.certificate_error, "verify_message", "") or type(error.certificate_error).__name__
        advice = "name the file of its authority in SSL_CERT_FILE, if you trust it"
        return _unsent("setup", f"the certificate of {to} is not trusted ({why}); {advice}")
    if isinstance(cause, ssl.SSLError):
        if cause.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
            return _unsent("setup", f"{to} speaks no TLS; write http:// in {setting}")
        return _unsent("setup", f"no encrypted connection to {to} ({cause.reason}); check {setting}")
    if cause.errno == errno.ECONNREFUSED:
        return _unsent("passing", f"{to} refuses connections: no server listens there; start it, or check {setting}")
    return _unsent("passing", f"{to} cannot be reached ({cause.strerror}); check the network and {setting}")


def _broken(error: BaseException, route: Route, timeout_s: float) -> tuple[Meaning, str]:
    """Return the meaning and message of a fault after a request was sent."""
    if isinstance(error, TimeoutError):
        return "passing", f"{route.where} gave no answer within {timeout_s:g} s"
    if isinstance(error, aiohttp.ClientPayloadError | zlib.error):
        return "passing", f"{route.where} broke off in the middle of its answer"
    if isinstance(error, aiohttp.ClientResponseError | UnicodeError):
        why = one_line(str(getattr(error, "message", "its status is no text")), 150)
        return "setup", f"{route.where} answers with something that is not HTTP ({why}); check OPENAI_BASE_URL"
    return "passing", f"{route.where} closed the connection without an answer; its own log may say why"


async def _wants_tls(route: Route) -> bool:
    """Whether the port of an http:// URL answers a TLS handshake with any certificate; False behind a proxy."""
    if route.url.scheme != "http" or route.proxy is not None:
        return False
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent
    return await listens(route.url.host, route.port, context)


async def listens(host: str, port: int, tls: ssl.SSLContext | None = None) -> bool:
    """Whether a server accepts a connection within PROBE_S seconds, with a TLS handshake if `tls` is given."""
    try:
        async with asyncio.timeout(PROBE_S):
            _, writer = await asyncio.open_connection(host, port, ssl=tls)
    except OSError:
        return False
    writer.transport.abort()  # at once: closing would wait for the server's half of a TLS end
    return True


def _unsent(meaning: Meaning, message: str) -> Fault:
    """Return a fault of a request that was not sent: it has no tokens and is not billed."""
    return Fault(meaning, message, usage=None)
