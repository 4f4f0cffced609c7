"""Turns the answer of an OpenAI-compatible endpoint into a completion, or a fault that says what the run has to do."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from behavesim.base.text import one_line
from behavesim.base.tokens import Usage, estimated_tokens
from behavesim.programs.answer import interruption
from behavesim.proposers.limiter import retry_after_s
from behavesim.proposers.openai_message import NO_USAGE, refusal, said, usage, written

Meaning = Literal["fatal", "limited", "passing", "setup", "parameter", "prompt", "path", "request"]
"""What has to follow a fault. "fatal": stop the run. "limited": slow down. "passing": ask again. "setup": the URL seems
wrong; ask again, but stop soon unless there were replies before. "parameter": leave the parameter out. "prompt": give
up the prompt. "path": ask under /v1. "request": give up the prompt; stop if there was no reply before."""

REFUSED = Usage(prompt=0, cached=0, completion=0, reasoning=0)
"""Usage of a request that the endpoint refused: no tokens, since no endpoint bills for an error status."""

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
_FLAGGED = re.compile(r"\b(?:flagged|moderation)\b", re.IGNORECASE)
_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_SERVICE_TIER = re.compile(r"service[_ ]tier", re.IGNORECASE)
_INVISIBLE = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)

ERROR_LIMIT = 5_000
"""Characters of an error's text that are read: its beginning says what is wrong."""

REASON_LIMIT = 50
"""Characters kept of a finish reason or a service tier: the protocol's own have at most fourteen."""


@dataclass(frozen=True)
class Completion:
    """A reply of the endpoint."""

    text: str
    """The reply, without secrets; "" if it had no content."""
    finish_reason: str | None
    """Why the reply ended, in the endpoint's words; None if it did not say."""
    usage: Usage
    """The tokens of the request, and the service tier of the answer."""

    @property
    def is_final(self) -> bool:
        """Whether to keep the reply: it has content, or it was refused or cut off, as it would be the next time."""
        return bool(self.text.strip()) or interruption(self.finish_reason) is not None


@dataclass(frozen=True)
class Fault:
    """Why a request gave no completion."""

    meaning: Meaning
    """What has to follow."""
    message: str
    """What happened and what to do, for a person."""
    usage: Usage | None = REFUSED
    """The tokens of the request; None if the endpoint did not answer at all."""
    wait_s: float | None = None
    """Seconds that the endpoint asks to wait; None if it names no time."""
    parameter: str = ""
    """The parameter that the model refuses; "" if the fault is another one."""
    may_be_billed: bool = False
    """Whether the request was sent and had no complete answer, so that nobody knows whether it is billed."""


@dataclass(frozen=True)
class _Error:
    """An endpoint's error; a field is "" if the endpoint did not give it."""

    text: str
    code: str = ""
    """The endpoint's name or number for this kind of error."""
    parameter: str = ""
    """The name of the request's parameter that is wrong."""

    @property
    def said(self) -> str:
        """Return ": " and the endpoint's own words on one line of at most 300 characters; "" if it gave none."""
        words = one_line(self.text, 300)
        return f": {words}" if words else ""

    def cleaned(self, clean: Callable[[str], str]) -> _Error:
        return _Error(clean(self.text)[:ERROR_LIMIT], clean(self.code), clean(self.parameter))


def answer(
    status: int, headers: Mapping[str, str], body: bytes, optional: Collection[str], clean: Callable[[str], str]
) -> Completion | Fault:
    """Return the completion in a response, or the fault that it means; `body` is unpacked already.

    `optional` names the parameters that the request could leave out. `clean` removes secrets from every text of the
    endpoint that the result holds, before the text is shortened.
    """
    try:
        return _answer(status, headers, body, optional, clean)
    except RecursionError:
        return Fault("passing", "the endpoint answered with JSON that is nested too deeply to read", NO_USAGE)


def _answer(
    status: int, headers: Mapping[str, str], body: bytes, optional: Collection[str], clean: Callable[[str], str]
) -> Completion | Fault:
    document = _document(body)
    error = _error(document)
    if status < 400 and error is None:
        if isinstance(document, Mapping):
            return _completion(document, clean)
        return _no_document(headers, clean(_words(body)))
    if status < 400 and error is not None:  # some gateways put the error behind them into a response of status 200
        status = int(error.code) if re.fullmatch(r"[45]\d\d", error.code) else 502
    error = (error or _Error(_words(body))).cleaned(clean)
    if error.code in _FILTERED or (status == 403 and _FLAGGED.search(error.text)):
        return Completion("", "content_filter", REFUSED)
    return _fault(status, headers, error, optional)


def _fault(status: int, headers: Mapping[str, str], error: _Error, optional: Collection[str]) -> Fault:
    """Return the fault that an error means, by its HTTP status: OpenAI's list, and what other endpoints add."""
    said = f"({status}){error.said}"
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


def _refusal(status: int, said: str, error: _Error, optional: Collection[str]) -> Fault:
    """Return the fault in a request with status 400 to 422: a parameter, the prompt, the model, the path or another."""
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


def _refused_parameter(error: _Error, optional: Collection[str]) -> str:
    """Return the optional parameter that an error names, else the first in its text; "" if it names none."""
    if error.parameter in optional:
        return error.parameter
    if "system" in optional and _SYSTEM_ROLE.search(f"{error.parameter} {error.text}"):
        return "system"
    places = {name: re.search(rf"\b{re.escape(name)}\b", error.text) for name in optional if name != "system"}
    named = sorted((place.start(), name) for name, place in places.items() if place)
    return named[0][1] if named else ""


def _completion(document: Mapping[str, Any], clean: Callable[[str], str]) -> Completion | Fault:
    used = replace(usage(document.get("usage")), tier=_word(document.get("service_tier"), clean))
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        return Completion("", None, used)
    if used.completion is None:
        used = replace(used, estimated_completion=estimated_tokens(written(choice)))
    reason = choice.get("finish_reason")
    reason = reason if isinstance(reason, str) else None
    if reason == "error":  # some gateways say so if the server behind them broke off
        return Fault("passing", "the model broke off", used)
    text = said(choice, is_whole=interruption(reason) is None)
    if not text and (declined := refusal(choice)):
        return Completion(clean(declined), "content_filter", used)
    return Completion(clean(text), _word(reason, clean), used)


def _word(text: object, clean: Callable[[str], str]) -> str | None:
    """Return a finish reason or service tier, cleaned and cut to REASON_LIMIT characters; None if it is no text."""
    return one_line(clean(text), REASON_LIMIT) if isinstance(text, str) else None


def _no_document(headers: Mapping[str, str], words: str) -> Fault:
    """Return the fault for an answer below status 400 that is no JSON object; its content type decides which."""
    kind, seen = headers.get("content-type", "").lower(), one_line(words, 100)
    if "event-stream" in kind:
        advice = "have it answer at once, with stream = false under [extra_body]"
        return Fault("setup", f"the endpoint answered with an event stream; {advice}", NO_USAGE)
    if "html" in kind:
        return Fault("setup", f"the endpoint answered with a web page ({seen}); check OPENAI_BASE_URL", NO_USAGE)
    return Fault("passing", f"the endpoint answered with something that is not a JSON object ({seen})", NO_USAGE)


def _words(body: bytes) -> str:
    """Return the first 20,000 bytes of a body on one line; of a web page, the visible text."""
    text = body[:20_000].decode("utf-8", "replace")
    if re.match(r"\s*<(?:!doctype|html|head|\?xml)", text, re.IGNORECASE):
        text = html.unescape(_INVISIBLE.sub(" ", text))
    return " ".join(text.split())


def _document(body: bytes) -> object:
    try:
        return json.loads(body.decode("utf-8-sig", "replace"), parse_int=_whole)
    except ValueError:
        return None


def _whole(digits: str) -> int | float:
    """Return a JSON integer as a number. Python refuses very long integers, and the whole reply would be lost."""
    return int(digits) if len(digits) < 20 else float(digits)


def _error(document: object) -> _Error | None:
    """Return the error in a document, in any form that endpoints use; None if there is none."""
    if not isinstance(document, Mapping) or document.get("choices"):
        return None
    error = document.get("error")
    if error is None and (document.get("object") == "error" or "detail" in document):
        error = document
    if not isinstance(error, Mapping):
        return None if error is None else _Error(str(error))
    code, parameter = error.get("code") or error.get("type"), error.get("param")
    text = error.get("message") or error.get("detail") or ""
    return _Error(str(text), str(code or ""), str(parameter or ""))
