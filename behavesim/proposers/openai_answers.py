"""Reads what comes back from an OpenAI-compatible endpoint: a completion, or the fault that an error means."""

from __future__ import annotations

import asyncio
import errno
import html
import json
import re
import socket
import ssl
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import aiohttp

from behavesim.base.text import one_line
from behavesim.base.tokens import Usage, estimate_tokens, token_count
from behavesim.programs.answer import interruption, json_strings
from behavesim.proposers.openai_environment import Route
from behavesim.proposers.openai_settings import RESPONSES, Terms
from behavesim.proposers.retry import REFUSED, VERSION, Completion, Fault, retry_after_s, seconds_until_refill

_FILTERED = frozenset({"content_filter", "content_policy_violation", "flagged_input"})

# Most characters of an error's text, code or parameter that are kept: the beginning says what is wrong.
ERROR_LIMIT = 5_000
# Most characters of a finish reason or a service tier that are kept: the protocol's own have at most fourteen.
REASON_LIMIT = 50
# Fields of a message for the model's reasoning: DeepSeek and vLLM use the first, OpenRouter and Ollama the second.
REASONING = ("reasoning_content", "reasoning")
_INVISIBLE = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)


def answer(
    status: int, headers: Mapping[str, str], body: bytes, terms: Terms, clean: Callable[[str], str]
) -> Completion | Fault:
    """Return the completion in a response, or the fault that it means; `body` is decompressed already.

    A refusal by the model or a content filter is a completion with the finish reason "content_filter". A JSON object
    without choices is a completion without content. `terms` are the request's. `clean` removes secrets from every text
    that the result holds.
    """
    try:
        document = _document(body)
        error = _error(document, clean)
        if status < 400 and error is None:
            if not isinstance(document, Mapping):
                return _no_document(headers, clean(_body_text(body)))
            if isinstance(document.get("output"), list):
                document = {**document, "choices": [_choice_of_response(document)]}
            return _completion(document, seconds_until_refill(headers), clean)
    except RecursionError:  # from reading, or from writing a part of it as text
        return Fault("ask again", "the endpoint answered with JSON that is nested too deeply to read", Usage())
    # cleaned before it is cut: the cut could leave a part of a key that no pattern knows
    error = error or EndpointError(clean(_body_text(body))[:ERROR_LIMIT])
    if status < 400:  # some gateways put the error behind them into a response of status 200
        status = next((int(code) for code in error.codes if re.fullmatch(r"[45]\d\d", code)), 502)
    if error.codes & _FILTERED:
        return Completion("", "content_filter", REFUSED, seconds_until_refill(headers))
    return fault_of(status, headers, error, terms)


def _document(body: bytes) -> object:
    """Return the JSON value in a body; None if it is not valid JSON."""

    def whole(digits: str) -> int | float:  # Python refuses very long integers, and the whole reply would be lost
        return int(digits) if len(digits) < 20 else float(digits)

    try:
        return json.loads(body.decode("utf-8-sig", "replace"), parse_int=whole)
    except ValueError:
        return None


def _no_document(headers: Mapping[str, str], words: str) -> Fault:
    """Return the fault for an answer below status 400 that is no JSON object; `words` are its beginning."""
    kind, seen = headers.get("content-type", "").lower(), one_line(words, 100)
    if "event-stream" in kind:
        advice = "have it answer at once, with stream = false under [extra_body]"
        return Fault("ask again", f"the endpoint answered with an event stream; {advice}", Usage(), is_setup=True)
    if "html" in kind:
        message = f"the endpoint answered with a web page ({seen}); check OPENAI_BASE_URL"
        return Fault("ask again", message, Usage(), is_setup=True)
    return Fault("ask again", f"the endpoint answered with something that is not a JSON object ({seen})", Usage())


def _body_text(body: bytes) -> str:
    """Return the first 20,000 bytes of a body as one line; of a web page, its text without tags and scripts."""
    text = body[:20_000].decode("utf-8", "replace")
    if re.match(r"\s*<(?:!doctype|html|head|\?xml)", text, re.IGNORECASE):
        text = html.unescape(_INVISIBLE.sub(" ", text))
    return " ".join(text.split())


def _error(document: object, clean: Callable[[str], str]) -> EndpointError | None:
    """Return the error in a document, in any form that endpoints use; None if it has none."""
    # a document with choices is a completion, whatever stands beside them
    if not isinstance(document, Mapping) or document.get("choices"):
        return None
    error = document.get("error")
    if error is None and (document.get("object") == "error" or "detail" in document):
        error = document
    if error is None:
        return None
    if not isinstance(error, Mapping):
        error = {"message": error}
    # FastAPI lists what is wrong with a request: the kind of each mistake, and the way to it in the body
    detail, metadata = error.get("detail"), _mapping(error.get("metadata"))
    first = _mapping(detail[0]) if isinstance(detail, list) and detail else {}
    place = first.get("loc")
    parameter = error.get("param") or (place[-1] if isinstance(place, list) and place else "")
    codes = [error.get("code"), error.get("type"), first.get("type"), *({"flagged_input"} & metadata.keys())]

    def said(part: object) -> str:
        return clean(str(part or ""))[:ERROR_LIMIT]

    return EndpointError(said(error.get("message") or detail), frozenset(map(said, codes)) - {""}, said(parameter))


def _completion(document: Mapping[str, Any], wait_s: float, clean: Callable[[str], str]) -> Completion | Fault:
    """Return the completion in the first choice, without content if there is none; a fault if the model broke off."""
    usage = replace(_usage(document.get("usage")), tier=_clean_word(document.get("service_tier"), clean))
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        return Completion("", None, usage, wait_s)
    message, reason = _mapping(choice.get("message")), choice.get("finish_reason")
    # some servers move code into a call, though no tool was offered
    replies = [_text(message.get("content")), _text(choice.get("text")), *_call_arguments(message)]
    thoughts = [_text(message.get(name)) for name in REASONING]
    if usage.completion is None:
        usage = replace(usage, estimated_completion=estimate_tokens("".join([*replies, *thoughts])))
    if reason == "error":  # some gateways say so if the server behind them broke off
        return Fault("ask again", "the model broke off", usage)
    reason = _clean_word(reason, clean)
    text = "\n\n".join(part for part in replies if part.strip())
    # some servers move the whole reply into the reasoning; reasoning that was cut off holds only drafts
    if not text and interruption(reason) is None:
        text = next((part for part in thoughts if part.strip()), "")
    if not text and (refusal := _text(message.get("refusal"))):
        return Completion(clean(refusal), "content_filter", usage, wait_s)
    return Completion(clean(text), reason, usage, wait_s)


def _choice_of_response(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer of the Responses API as the choice of a chat completion."""
    items = [_mapping(item) for item in document["output"]]
    said = [item.get("content") for item in items if item.get("type") == "message"]
    parts = [_mapping(part) for content in said if isinstance(content, list) for part in content]
    thoughts = (
        _text(item.get("content")) or _text(item.get("summary")) for item in items if item.get("type") == "reasoning"
    )
    message = {
        "content": [part for part in parts if part.get("type") != "refusal"],
        "refusal": "".join(_text(part.get("refusal")) for part in parts),
        "reasoning": "\n\n".join(thoughts),
        "tool_calls": [{"function": item} for item in items if item.get("type") == "function_call"],
    }
    why = _mapping(document.get("incomplete_details")).get("reason")
    reasons = {"completed": "stop", "max_output_tokens": "length"}
    reason = why if isinstance(why, str) else document.get("status")
    return {"message": message, "finish_reason": reasons.get(str(reason), reason)}


def _clean_word(text: object, clean: Callable[[str], str]) -> str | None:
    """Return a finish reason or service tier, cleaned and cut; None if it is no text."""
    return one_line(clean(text), REASON_LIMIT) if isinstance(text, str) else None


def _mapping(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, Mapping) else {}


def _text(content: object) -> str:
    """Return a message's content, a string or a list of parts; "" for anything else."""
    if isinstance(content, list):
        texts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _call_arguments(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arguments of a message's calls, in `tool_calls` or the older `function_call`."""
    calls = message.get("tool_calls")
    functions = [_mapping(call).get("function") for call in calls] if isinstance(calls, list) else []
    for function in (*functions, message.get("function_call")):
        if isinstance(function, Mapping):
            yield json_strings(function.get("arguments"))


def _usage(counts: object) -> Usage:
    """Return a request's tokens; missing or impossible counts are None."""
    # second and later names: of the Responses API; `prompt_cache_hit_tokens` is DeepSeek's, and
    # `cache_creation_input_tokens` LiteLLM's
    prompt = _count(counts, "prompt_tokens", "input_tokens")
    cached = _count(
        counts,
        "prompt_tokens_details.cached_tokens",
        "prompt_cache_hit_tokens",
        "input_tokens_details.cached_tokens",
    )
    completion = _count(counts, "completion_tokens", "output_tokens")
    reasoning = _count(counts, "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens")
    # xAI counts reasoning beside the completion, not in it, and bills both: the total says so, or a part that is larger
    # than the whole. Without that sum a run could cost several times its cap.
    if prompt is not None and completion is not None:
        beside = _count(counts, "total_tokens") == prompt + completion + (reasoning or 0)
        completion += reasoning if reasoning and (beside or reasoning > completion) else 0
        prompt += cached if cached and cached > prompt else 0
    return Usage(
        prompt=prompt,
        cached=cached,
        completion=completion,
        reasoning=reasoning,
        cache_write=_count(counts, "prompt_tokens_details.cache_write_tokens", "cache_creation_input_tokens"),
    )


def _count(counts: object, *paths: str) -> int | None:
    for path in paths:
        found: Any = counts
        for name in path.split("."):
            found = _mapping(found).get(name)
        if (count := token_count(found)) is not None:
            return count
    return None


# Decisions go by statuses and codes, and by no pattern of an error's words: "the upstream provider refused" is no
# refusal of `provider`. Where no code exists, a path or the model's name is looked for as a whole word (see
# `_refusal`).
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "insufficient_balance"})
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"})
_NO_SUCH_MODEL = "model_not_found"
_SYSTEM_ROLE = "messages[0].role"
# Statuses below 500 after which the request is sent again; 460 and 499 say that a gateway lost it.
_MAY_PASS = frozenset({408, 409, 425, 460, 499})
# Statuses by which a server says that it did not do the work. After any other that may pass, such as a gateway's 504,
# the server behind it may go on and bill.
_NOT_DONE = frozenset({409, 425, 500, 501, 503, 505, 511, 529})


@dataclass(frozen=True)
class EndpointError:
    """An endpoint's error, without secrets; a field is "" if the endpoint did not give it."""

    # What is wrong, shortened.
    text: str
    # The endpoint's names and numbers for this kind of error.
    codes: frozenset[str] = frozenset()
    # The name of the request's parameter that is wrong.
    parameter: str = ""


def fault_of(status: int, headers: Mapping[str, str], error: EndpointError, terms: Terms) -> Fault:
    """Return the fault that an error means, by its HTTP status (400 or more): OpenAI's list, and what others add."""
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
    """Return the fault of a request refused with a status below 500; `said` is the status with the endpoint's words."""
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
    """Whether a word of the text, without punctuation around it, is the model's name."""
    return bool(model) and model in {word.strip("`'\",.:;()") for word in text.split()}


# Seconds to wait for a server when testing whether it takes connections.
PROBE_S = 3.0
# Resolver error codes for a host name that does not exist; other codes mean that the lookup failed this time.
NEVER_PASSES = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


async def diagnose_fault(error: BaseException, route: Route, timeout_s: float, is_new: bool) -> Fault:
    """Return the fault that an exception of a connection means.

    `is_new` is whether the server has answered no request yet; only then is its port tested for TLS. `timeout_s` is the
    request's time limit in seconds, for the message.
    """
    while error.__cause__ is not None and not isinstance(error, aiohttp.ClientError | OSError):
        error = error.__cause__  # the package wraps what aiohttp raised
    # a server that expects TLS answers a plain request with bytes that are no HTTP, or hangs up
    is_silent = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientResponseError)
    if is_new and is_silent and await _wants_tls(route):
        return _unsent_fault(
            f"{route.server} wants an encrypted connection; write https:// in OPENAI_BASE_URL", is_setup=True
        )
    if isinstance(error, aiohttp.ClientHttpProxyError):
        said = one_line(f"{error.status} {error.message}", 100)
        return _unsent_fault(f"{route.proxy_in_words} lets nobody through to {route.server} ({said})", is_setup=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        return _connection_fault(error, route)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        to = route.proxy_in_words if route.proxy else route.server
        return _unsent_fault(f"{to} does not respond to connections; check OPENAI_BASE_URL and firewalls")
    if isinstance(error, aiohttp.InvalidURL):
        return _unsent_fault("OPENAI_BASE_URL or the proxy's URL is not valid; check both", is_setup=True)
    return _answer_fault(error, route, timeout_s)


def _connection_fault(error: aiohttp.ClientConnectorError, route: Route) -> Fault:
    """Return the fault for a connection that was not made."""
    cause = error.os_error
    # The error names the host that it connected to: the proxy's, if the request goes through one.
    through_proxy = isinstance(error, aiohttp.ClientProxyConnectionError) or error.host != route.url.raw_host.decode()
    to, setting = (route.proxy_in_words, route.variable) if through_proxy else (route.server, "OPENAI_BASE_URL")
    if isinstance(cause, socket.gaierror):
        if cause.errno in NEVER_PASSES:
            return _unsent_fault(f"there is no host {error.host!r}; check {setting} and the network", is_setup=True)
        return _unsent_fault(f"the name {error.host!r} cannot be looked up at present; check the network")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = getattr(error.certificate_error, "verify_message", "") or type(error.certificate_error).__name__
        advice = "name the file of its authority in SSL_CERT_FILE, if you trust it"
        return _unsent_fault(f"the certificate of {to} is not trusted ({why}); {advice}", is_setup=True)
    if isinstance(cause, ssl.SSLError):
        if cause.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
            return _unsent_fault(f"{to} speaks no TLS; write http:// in {setting}", is_setup=True)
        return _unsent_fault(f"no encrypted connection to {to} ({cause.reason}); check {setting}", is_setup=True)
    if cause.errno == errno.ECONNREFUSED:
        return _unsent_fault(f"{to} refuses connections: no server listens there; start it, or check {setting}")
    why = cause.strerror or str(cause) or type(cause).__name__  # one who hangs up during a handshake gives no reason
    return _unsent_fault(f"{to} cannot be reached ({why}); check the network and {setting}")


def _answer_fault(error: BaseException, route: Route, timeout_s: float) -> Fault:
    """Return the fault of a request that was sent and had no proper answer: it may be billed all the same."""
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


def _unsent_fault(message: str, is_setup: bool = False) -> Fault:
    """Return a fault of a request that was not sent: it has no tokens and is not billed."""
    return Fault("ask again", message, usage=None, is_setup=is_setup)
