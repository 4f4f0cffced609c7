"""Turns the answer of an OpenAI-compatible endpoint into a completion, or a fault that says what the run has to do."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from behavesim.base.text import one_line
from behavesim.base.tokens import Usage, estimated_tokens
from behavesim.programs.answer import interruption
from behavesim.proposers.limiter import retry_after_s
from behavesim.proposers.openai_message import Message, usage
from behavesim.proposers.patience import REFUSED, Fault

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
_FLAGGED = re.compile(r"\b(?:flagged|moderation)\b", re.IGNORECASE)
_FILTERED = frozenset({"content_filter", "content_policy_violation"})
_SERVICE_TIER = re.compile(r"service[_ ]tier", re.IGNORECASE)
_INVISIBLE = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)

ERROR_LIMIT = 5_000
"""Most characters of an error's text, code or parameter that are kept: the beginning says what is wrong."""

REASON_LIMIT = 50
"""Most characters of a finish reason or a service tier that are kept: the protocol's own have at most fourteen."""


@dataclass(frozen=True)
class Completion:
    """A reply of the endpoint."""

    text: str
    """The reply, or the model's words for refusing one, without secrets; "" if there is neither."""
    finish_reason: str | None
    """Why the reply ended, in the endpoint's words; None if it did not say."""
    usage: Usage
    """The tokens of the request, and the service tier of the answer."""

    @property
    def is_final(self) -> bool:
        """Whether to keep the reply: it has content, or it was refused or cut off; others are asked for again."""
        return bool(self.text.strip()) or interruption(self.finish_reason) is not None


@dataclass(frozen=True)
class _Error:
    """An endpoint's error, without secrets; a field is "" if the endpoint did not give it."""

    text: str
    """What is wrong, at most ERROR_LIMIT characters."""
    code: str = ""
    """The endpoint's name or number for this kind of error."""
    parameter: str = ""
    """The name of the request's parameter that is wrong."""


def answer(
    status: int, headers: Mapping[str, str], body: bytes, optional: Collection[str], clean: Callable[[str], str]
) -> Completion | Fault:
    """Return the completion in a response, or the fault that it means; `body` is decompressed already.

    A refusal by the model or a content filter is a completion with the finish reason "content_filter". An answer
    without choices is one without content. `optional` names the parameters that the request could leave out. `clean`
    removes secrets from every text of the endpoint that the result holds, before the text is shortened.
    """
    try:
        document = _document(body)
        error = _error(document, clean)
        if status < 400 and error is None:
            found = document if isinstance(document, Mapping) else None
            return _no_document(headers, clean(_words(body))) if found is None else _completion(found, clean)
    except RecursionError:  # from reading, or from writing a part of it as text
        return Fault("passing", "the endpoint answered with JSON that is nested too deeply to read", Usage())
    error = error or _Error(clean(_words(body))[:ERROR_LIMIT])
    if status < 400:  # some gateways put the error behind them into a response of status 200
        status = int(error.code) if re.fullmatch(r"[45]\d\d", error.code) else 502
    if error.code in _FILTERED or (status == 403 and _FLAGGED.search(error.text)):
        return Completion("", "content_filter", REFUSED)
    return _fault(status, headers, error, optional)


def _fault(status: int, headers: Mapping[str, str], error: _Error, optional: Collection[str]) -> Fault:
    """Return the fault that an error means, by its HTTP status: OpenAI's list, and what other endpoints add."""
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


def _refusal(status: int, said: str, error: _Error, optional: Collection[str]) -> Fault:
    """Return the fault in a request, for status 400, 404, 405, 413 or 422."""
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
    names = "|".join(re.escape(name) for name in sorted(optional) if name != "system")
    named = re.search(rf"\b(?:{names})\b", error.text)
    return named[0] if named else ""


def _completion(document: Mapping[str, Any], clean: Callable[[str], str]) -> Completion | Fault:
    """Return the completion in the first choice, without content if there is none; a fault if the model broke off."""
    used = replace(usage(document.get("usage")), tier=_word(document.get("service_tier"), clean))
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        return Completion("", None, used)
    message, reason = Message.of(choice), choice.get("finish_reason")
    if used.completion is None:
        used = replace(used, estimated_completion=estimated_tokens(message.written))
    if reason == "error":  # some gateways say so if the server behind them broke off
        return Fault("passing", "the model broke off", used)
    reason = reason if isinstance(reason, str) else None
    text = message.reply(is_whole=interruption(reason) is None)
    if not text and message.refusal:
        return Completion(clean(message.refusal), "content_filter", used)
    return Completion(clean(text), _word(reason, clean), used)


def _word(text: object, clean: Callable[[str], str]) -> str | None:
    """Return a finish reason or service tier, cleaned and cut to REASON_LIMIT characters; None if it is no text."""
    return one_line(clean(text), REASON_LIMIT) if isinstance(text, str) else None


def _no_document(headers: Mapping[str, str], words: str) -> Fault:
    """Return the fault for an answer below status 400 that is no JSON object, by its content type."""
    kind, seen = headers.get("content-type", "").lower(), one_line(words, 100)
    if "event-stream" in kind:
        advice = "have it answer at once, with stream = false under [extra_body]"
        return Fault("setup", f"the endpoint answered with an event stream; {advice}", Usage())
    if "html" in kind:
        return Fault("setup", f"the endpoint answered with a web page ({seen}); check OPENAI_BASE_URL", Usage())
    return Fault("passing", f"the endpoint answered with something that is not a JSON object ({seen})", Usage())


def _words(body: bytes) -> str:
    """Return the first 20,000 bytes of a body as text on one line; of a web page, its text without tags and scripts."""
    text = body[:20_000].decode("utf-8", "replace")
    if re.match(r"\s*<(?:!doctype|html|head|\?xml)", text, re.IGNORECASE):
        text = html.unescape(_INVISIBLE.sub(" ", text))
    return " ".join(text.split())


def _document(body: bytes) -> object:
    """Return the JSON value in a body; None if it is not valid JSON."""

    def whole(digits: str) -> int | float:  # Python refuses very long integers, and the whole reply would be lost
        return int(digits) if len(digits) < 20 else float(digits)

    try:
        return json.loads(body.decode("utf-8-sig", "replace"), parse_int=whole)
    except ValueError:
        return None


def _error(document: object, clean: Callable[[str], str]) -> _Error | None:
    """Return the error in a document, in any form that endpoints use; None if there is none."""
    if not isinstance(document, Mapping) or document.get("choices"):
        return None
    error = document.get("error")
    if error is None and (document.get("object") == "error" or "detail" in document):
        error = document
    if error is None:
        return None
    if not isinstance(error, Mapping):
        error = {"message": error}
    given = (error.get("message") or error.get("detail"), error.get("code") or error.get("type"), error.get("param"))
    return _Error(*(clean(str(part or ""))[:ERROR_LIMIT] for part in given))
