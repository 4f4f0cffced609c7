"""What it means that a request brought no reply: by the endpoint's error, or by the exception of the connection."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from behavesim.base.text import one_line
from behavesim.proposers.limiter import retry_after_s
from behavesim.proposers.openai_dialect import RESPONSES, Terms
from behavesim.proposers.openai_environment import Route
from behavesim.proposers.patience import REFUSED, VERSION, Fault

# Decisions go by codes, never by an error's words: "the upstream provider refused" is no refusal of `provider`.
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance"})
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"})
_NO_SUCH_MODEL = "model_not_found"
_SYSTEM_ROLE = "messages[0].role"
_MAY_PASS = frozenset({408, 409, 425, 460, 499})
"""Statuses below 500 after which the request is sent again; 460 and 499 say that a gateway lost it."""
_NOT_DONE = frozenset({409, 425, 500, 501, 503, 505, 511, 529})
"""Statuses by which a server says that it did not do the work. After any other that may pass, such as a gateway's 504,
the server behind it may go on and bill."""
PROBE_S = 3.0
"""Seconds to wait for a server when testing whether it takes connections."""
NEVER_PASSES = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})
"""Resolver error codes for a host name that does not exist; other codes mean that the lookup failed this time."""


@dataclass(frozen=True)
class EndpointError:
    """An endpoint's error, without secrets; a field is "" if the endpoint did not give it."""

    text: str
    """What is wrong, shortened."""
    codes: frozenset[str] = frozenset()
    """The endpoint's names and numbers for this kind of error."""
    parameter: str = ""
    """The name of the request's parameter that is wrong."""


def fault_of(status: int, headers: Mapping[str, str], error: EndpointError, terms: Terms) -> Fault:
    """Return the fault that an error means, by its HTTP status (400 or more): OpenAI's list, and what others add.

    `headers` may name a pause; their names are in lower case, or their case does not matter. `terms` are the request's.
    """
    words = one_line(error.text, 300)
    said = f"({status}): {words}" if words else f"({status})"
    if status == 401:  # the endpoint's own words may hold a part of the key
        return Fault("stop", "the endpoint refuses the key (401); check OPENAI_API_KEY")
    if status == 402 or error.codes & _NO_CREDIT:
        return Fault("stop", f"the account has no credit left {said}; top it up")
    if status == 403:
        return Fault("stop", f"the endpoint forbids this request {said}; check what the key may use")
    if status == 407:
        advice = "name it in HTTP_PROXY, as http://user:password@host:port"
        return Fault("ask again", f"the proxy wants a login {said}; {advice}", is_setup=True)
    if status == 429 or (status in (503, 529) and "retry-after" in headers):
        return Fault("slow down", f"the endpoint asks for a pause {said}", wait_s=retry_after_s(headers))
    if status >= 500 or status in _MAY_PASS:
        usage = REFUSED if status in _NOT_DONE else None
        wait_s = retry_after_s(headers)
        return Fault("ask again", f"the endpoint failed {said}", usage, wait_s, may_be_billed=usage is None)
    return _refusal(status, said, error, terms)


def _refusal(status: int, said: str, error: EndpointError, terms: Terms) -> Fault:
    """Return the fault in a request that was refused with a status below 500, by `error` and the request's `terms`.

    `said` is the status in brackets, with the endpoint's words behind it if there are any; messages contain it.
    """
    if status == 413 or error.codes & _TOO_LONG:
        return Fault("give up", f"the prompt is longer than the model takes {said}")
    # the Responses API names the field within a parameter, too, such as reasoning.effort
    parameter = "system" if error.parameter == _SYSTEM_ROLE else error.parameter.partition(".")[0]
    if status == 404 and "v1/responses" in error.text:  # no code says it, but no other error has this path
        if RESPONSES in terms.optional:
            return Fault("stop", f"chat completions do not serve it {said}", remedy=RESPONSES)
        advice = "choose another with --model, or set batch=false, since no batch asks by the Responses API"
        return Fault("stop", f"the endpoint does not serve the model as it was asked {said}; {advice}")
    if parameter in terms.optional and error.codes & _UNSUPPORTED:
        return Fault("give up", f"the model refuses {parameter!r} {said}", is_setup=True, remedy=parameter)
    if parameter == "service_tier":
        return Fault("stop", f"the model refuses the service tier {said}; choose another with --set service_tier=NAME")
    if _NO_SUCH_MODEL in error.codes or (status == 404 and (parameter == "model" or _names(terms.model, error.text))):
        advice = "choose another with --model, or with --fork for a run under way; `behavesim doctor --model NAME` asks"
        return Fault("stop", f"the endpoint has no such model {said}; {advice}")
    if status in (404, 405):
        message = f"nothing answers chat completions there {said}; check OPENAI_BASE_URL"
        return Fault("stop", message, remedy=VERSION)
    return Fault("give up", f"the endpoint refuses the request {said}", is_setup=True)


def _names(model: str, text: str) -> bool:
    """Whether a word of the text, without quotes and punctuation around it, is the model's name."""
    return bool(model) and model in {word.strip("`'\",.:;()") for word in text.split()}


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
        return _unsent(
            f"{route.server} wants an encrypted connection; write https:// in OPENAI_BASE_URL", is_setup=True
        )
    if isinstance(error, aiohttp.ClientHttpProxyError):
        said = one_line(f"{error.status} {error.message}", 100)
        return _unsent(f"{route.proxy_in_words} lets nobody through to {route.server} ({said})", is_setup=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        return _unconnected(error, route)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        to = route.proxy_in_words if route.proxy else route.server
        return _unsent(f"{to} does not respond to connections; check OPENAI_BASE_URL and firewalls")
    if isinstance(error, aiohttp.InvalidURL):
        return _unsent("OPENAI_BASE_URL or the proxy's URL is not valid; check both", is_setup=True)
    return _broken(error, route, timeout_s)


def _unconnected(error: aiohttp.ClientConnectorError, route: Route) -> Fault:
    """Return the fault for a connection that was not made: host name, certificate, encryption, or no server there."""
    cause = error.os_error
    # The error names the host that it connected to: the proxy's, if the request goes through one.
    through_proxy = isinstance(error, aiohttp.ClientProxyConnectionError) or error.host != route.url.raw_host.decode()
    to, setting = (route.proxy_in_words, route.variable) if through_proxy else (route.server, "OPENAI_BASE_URL")
    if isinstance(cause, socket.gaierror):
        if cause.errno in NEVER_PASSES:
            return _unsent(f"there is no host {error.host!r}; check {setting} and the network", is_setup=True)
        return _unsent(f"the name {error.host!r} cannot be looked up at present; check the network")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = getattr(error.certificate_error, "verify_message", "") or type(error.certificate_error).__name__
        advice = "name the file of its authority in SSL_CERT_FILE, if you trust it"
        return _unsent(f"the certificate of {to} is not trusted ({why}); {advice}", is_setup=True)
    if isinstance(cause, ssl.SSLError):
        if cause.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
            return _unsent(f"{to} speaks no TLS; write http:// in {setting}", is_setup=True)
        return _unsent(f"no encrypted connection to {to} ({cause.reason}); check {setting}", is_setup=True)
    if cause.errno == errno.ECONNREFUSED:
        return _unsent(f"{to} refuses connections: no server listens there; start it, or check {setting}")
    why = cause.strerror or str(cause) or type(cause).__name__  # one who hangs up during a handshake gives no reason
    return _unsent(f"{to} cannot be reached ({why}); check the network and {setting}")


def _broken(error: BaseException, route: Route, timeout_s: float) -> Fault:
    """Return the fault of a request that was sent and had no proper answer; `timeout_s` is its time limit (s)."""
    is_setup = False
    if isinstance(error, TimeoutError):
        message = f"{route.server} gave no answer within {timeout_s:g} s"
    elif isinstance(error, aiohttp.ClientPayloadError | zlib.error):
        message = f"{route.server} broke off in the middle of its answer"
    elif isinstance(error, aiohttp.ClientResponseError | UnicodeError):
        why = one_line(str(getattr(error, "message", "it holds bytes that are no text")), 150)
        is_setup = True
        message = f"{route.server} answers with something that is not HTTP ({why}); check OPENAI_BASE_URL"
    else:
        message = f"{route.server} closed the connection without an answer; its own log may say why"
    return Fault("ask again", message, usage=None, is_setup=is_setup, may_be_billed=True)


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


def _unsent(message: str, is_setup: bool = False) -> Fault:
    """Return a fault of a request that was not sent: it has no tokens and is not billed."""
    return Fault("ask again", message, usage=None, is_setup=is_setup)
