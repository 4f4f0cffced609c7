"""What it means that a request brought no reply: by the endpoint's error, or by the exception of the connection."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import ssl
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import aiohttp

from behavesim.base.text import one_line
from behavesim.proposers.limiter import retry_after_s
from behavesim.proposers.openai_environment import Route
from behavesim.proposers.patience import Fault, Meaning

# By the words of the error: most endpoints other than OpenAI's give the same code for all of these.
_NO_SUCH_MODEL = re.compile(
    r"model_not_found|\bmodel\b.*(?:not found|not a valid|does ?n[o']t exist|not exist|unknown)"
    r"|(?:not a valid|no such|unknown|invalid) model\b",
    re.IGNORECASE | re.DOTALL,
)
_TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size)|prompt is too long|too many (?:input )?tokens", re.IGNORECASE
)
_SYSTEM_ROLE = re.compile(r"system\W+(?:role|message|prompt)|role\W+system|messages\[0\]\.role", re.IGNORECASE)
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance"})
_SERVICE_TIER = re.compile(r"service[_ ]tier", re.IGNORECASE)
PROBE_S = 3.0
"""Seconds to wait for a server when testing whether it takes connections."""
NEVER_PASSES = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})
"""Resolver error codes for a host name that does not exist; other codes mean that the lookup failed this time."""


@dataclass(frozen=True)
class EndpointError:
    """An endpoint's error, without secrets; a field is "" if the endpoint did not give it."""

    text: str
    """What is wrong, shortened."""
    code: str = ""
    """The endpoint's name or number for this kind of error."""
    parameter: str = ""
    """The name of the request's parameter that is wrong."""


def fault_of(status: int, headers: Mapping[str, str], error: EndpointError, optional: Collection[str]) -> Fault:
    """Return the fault that an error means, by its HTTP status (400 or more): OpenAI's list, and what others add.

    `headers` may name a pause; their names are in lower case, or their case does not matter. `optional` names the
    parameters that the request could do without.
    """
    words = one_line(error.text, 300)
    said = f"({status}): {words}" if words else f"({status})"
    if status == 401:  # the endpoint's own words may hold a part of the key
        return Fault("fatal", "the endpoint refuses the key (401); check OPENAI_API_KEY")
    if status == 402 or error.code in _NO_CREDIT:
        return Fault("fatal", f"the account has no credit left {said}; top it up")
    if status == 403:
        return Fault("fatal", f"the endpoint forbids this request {said}; check what the key may use")
    if status == 407:
        return Fault(
            "setup", f"the proxy wants a login {said}; name it in HTTP_PROXY, as http://user:password@host:port"
        )
    if status == 429 or (status in (503, 529) and "retry-after" in headers):
        return Fault("limited", f"the endpoint asks for a pause {said}", wait_s=retry_after_s(headers))
    if status >= 500 or status in (408, 409, 425):
        return Fault("passing", f"the endpoint failed {said}", wait_s=retry_after_s(headers))
    if status in (400, 404, 405, 413, 422):
        return _refusal(status, said, error, optional)
    return Fault("request", f"the endpoint refuses the request {said}")


def _refusal(status: int, said: str, error: EndpointError, optional: Collection[str]) -> Fault:
    """Return the fault in a request that was refused with status 400, 404, 405, 413 or 422.

    `said` is the status in brackets, with the endpoint's words behind it if there are any; messages contain it. `error`
    is what the endpoint said, in parts. `optional` names the parameters that the request could do without.
    """
    if error.code == "context_length_exceeded" or status == 413:
        return Fault("prompt", f"the prompt is longer than the model takes {said}")
    if status in (400, 422) and (parameter := _refused_parameter(error, optional)):
        return Fault("parameter", f"the model refuses {parameter!r} {said}", parameter=parameter)
    if status in (400, 422) and _SERVICE_TIER.search(f"{error.parameter} {error.text}"):
        return Fault("fatal", f"the model refuses the service tier {said}; choose another with --set service_tier=NAME")
    if status in (400, 422) and _TOO_LONG.search(error.text):
        return Fault("prompt", f"the prompt is longer than the model takes {said}")
    if _NO_SUCH_MODEL.search(f"{error.code} {error.text}"):
        advice = "choose another with --model, or with --fork for a run under way; `behavesim doctor --model NAME` asks"
        return Fault("fatal", f"the endpoint has no such model {said}; {advice}")
    if status in (404, 405):
        return Fault("path", f"nothing answers chat completions there {said}; check OPENAI_BASE_URL")
    return Fault("request", f"the endpoint refuses the request {said}")


def _refused_parameter(error: EndpointError, optional: Collection[str]) -> str:
    """Return the optional parameter that an error names, else the first in its text; "" if it names none."""
    if error.parameter in optional:
        return error.parameter
    if "system" in optional and _SYSTEM_ROLE.search(f"{error.parameter} {error.text}"):
        return "system"
    # in the order of the text, since a message may list every parameter that the model refuses
    names = "|".join(re.escape(name) for name in sorted(optional) if name != "system")
    named = re.search(rf"\b(?:{names})\b", error.text)
    return named[0] if named else ""


async def diagnosed(error: BaseException, route: Route, timeout_s: float, is_new: bool) -> Fault:
    """Return the fault that an exception of a connection means.

    `is_new` is whether the server has answered no request yet. If it also closed the connection or answered without
    HTTP, this tests whether its port expects TLS. `timeout_s` is the request's time limit in seconds, for the message.
    A request that was sent without a proper answer counts as possibly billed.
    """
    while error.__cause__ is not None and not isinstance(error, aiohttp.ClientError | OSError):
        error = error.__cause__  # the package wraps what aiohttp raised
    # a server that expects TLS answers a plain request with bytes that are no HTTP, or hangs up
    is_silent = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientResponseError)
    if is_new and is_silent and await _wants_tls(route):
        return _unsent("setup", f"{route.server} wants an encrypted connection; write https:// in OPENAI_BASE_URL")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        said = one_line(f"{error.status} {error.message}", 100)
        return _unsent("setup", f"{route.proxy_in_words} lets nobody through to {route.server} ({said})")
    if isinstance(error, aiohttp.ClientConnectorError):
        return _unconnected(error, route)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        to = route.proxy_in_words if route.proxy else route.server
        return _unsent("passing", f"{to} does not respond to connections; check OPENAI_BASE_URL and firewalls")
    if isinstance(error, aiohttp.InvalidURL):
        return _unsent("setup", "OPENAI_BASE_URL or the proxy's URL is not valid; check both")
    return Fault(*_broken(error, route, timeout_s), usage=None, may_be_billed=True)


def _unconnected(error: aiohttp.ClientConnectorError, route: Route) -> Fault:
    """Return the fault for a connection that was not made: host name, certificate, encryption, or no server there."""
    cause = error.os_error
    # The error names the host that it connected to: the proxy's, if the request goes through one.
    through_proxy = isinstance(error, aiohttp.ClientProxyConnectionError) or error.host != route.url.raw_host.decode()
    to, setting = (route.proxy_in_words, route.variable) if through_proxy else (route.server, "OPENAI_BASE_URL")
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
    why = cause.strerror or str(cause) or type(cause).__name__  # one who hangs up during a handshake gives no reason
    return _unsent("passing", f"{to} cannot be reached ({why}); check the network and {setting}")


def _broken(error: BaseException, route: Route, timeout_s: float) -> tuple[Meaning, str]:
    """Return what a fault after a request was sent means, and its message; `timeout_s` is the time limit in seconds."""
    if isinstance(error, TimeoutError):
        return "passing", f"{route.server} gave no answer within {timeout_s:g} s"
    if isinstance(error, aiohttp.ClientPayloadError | zlib.error):
        return "passing", f"{route.server} broke off in the middle of its answer"
    if isinstance(error, aiohttp.ClientResponseError | UnicodeError):
        why = one_line(str(getattr(error, "message", "it holds bytes that are no text")), 150)
        return "setup", f"{route.server} answers with something that is not HTTP ({why}); check OPENAI_BASE_URL"
    return "passing", f"{route.server} closed the connection without an answer; its own log may say why"


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
            _, writer = await asyncio.open_connection(host, port)
            try:
                if tls is not None:  # not by open_connection: cancelled between its two waits, uvloop loses an error
                    await writer.start_tls(tls, server_hostname=host)
            finally:
                writer.transport.abort()  # at once: closing would wait for the server's half of a TLS end
    except OSError:
        return False
    return True


def _unsent(meaning: Meaning, message: str) -> Fault:
    """Return a fault of a request that was not sent: it has no tokens and is not billed."""
    return Fault(meaning, message, usage=None)
