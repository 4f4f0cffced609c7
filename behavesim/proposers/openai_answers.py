"""What an OpenAI-compatible endpoint answered, as a value: a completion, or a fault and what it means for the run."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from behavesim.events import Usage
from behavesim.proposers.limiter import retry_after_s

Meaning = Literal["fatal", "limited", "passing", "parameter", "prompt", "path", "request"]
"""What a fault calls for: stop the run; slow down; ask again; drop the parameter; give up this prompt; try the path
with /v1; or, of a request refused as such, stop unless others like it were answered."""

NO_USAGE = Usage()
REFUSED = Usage(prompt=0, cached=0, completion=0, reasoning=0)

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


@dataclass(frozen=True)
class Completion:
    """A reply as the endpoint gave it; `text` is empty where it had no content."""

    text: str
    finish_reason: str | None
    usage: Usage

    @property
    def is_final(self) -> bool:
        """Whether asking again makes no sense: there is content, or the reason why there is none would come again."""
        return bool(self.text.strip()) or self.finish_reason in ("length", "content_filter")


@dataclass(frozen=True)
class Fault:
    """A request that gave no completion; `usage` is None where the endpoint did not answer at all.

    Refused requests took no tokens: no endpoint bills for an error status.
    """

    meaning: Meaning
    message: str
    usage: Usage | None = REFUSED
    wait_s: float | None = None
    parameter: str = ""


@dataclass(frozen=True)
class _Error:
    """An error document, in whatever form it came."""

    text: str
    code: str = ""
    parameter: str = ""

    @property
    def said(self) -> str:
        """The endpoint's own words on one line, as a clause."""
        words = " ".join(self.text.split())
        return f": {words[:300]}" if words else ""


def answer(status: int, headers: Mapping[str, str], body: bytes, optional: Collection[str]) -> Completion | Fault:
    """The meaning of a response; `optional` names the parameters of the request that it could do without."""
    document = _document(body)
    error = _error(document)
    if status < 400 and error is None:
        return _completion(document)
    if status < 400 and error is not None:  # some gateways put the error behind them into a response of status 200
        status = int(error.code) if re.fullmatch(r"[45]\d\d", error.code) else 502
    error = error or _Error(body[:400].decode("utf-8", "replace"))
    if error.code in _FILTERED or (status == 403 and _FLAGGED.search(error.text)):
        return Completion("", "content_filter", REFUSED)
    return _fault(status, headers, error, optional)


def _fault(status: int, headers: Mapping[str, str], error: _Error, optional: Collection[str]) -> Fault:
    """What an error means, by its status: the list is OpenAI's, with what other endpoints do differently."""
    said = f"({status}){error.said}"
    if status == 401:  # in the endpoint's own words a part of the key may stand
        return Fault("fatal", "the endpoint refuses the key (401); check OPENAI_API_KEY")
    if status == 402 or error.code in _NO_CREDIT:
        return Fault("fatal", f"the account has no credit left {said}; top it up")
    if status == 403:
        return Fault("fatal", f"the endpoint forbids this request {said}; check what the key may use")
    if status == 429 or (status in (503, 529) and "retry-after" in headers):
        return Fault("limited", f"the endpoint asks for a pause {said}", wait_s=retry_after_s(headers))
    if status >= 500 or status in (408, 409, 425):
        return Fault("passing", f"the endpoint failed {said}", wait_s=retry_after_s(headers))
    if status in (400, 404, 405, 413, 422):
        return _refusal(status, said, error, optional)
    return Fault("request", f"the endpoint refuses the request {said}")


def _refusal(status: int, said: str, error: _Error, optional: Collection[str]) -> Fault:
    """What is wrong with a request that was understood: a parameter, the prompt, the model or the path."""
    if error.code == "context_length_exceeded" or status == 413:
        return Fault("prompt", f"the prompt is longer than the model takes {said}")
    if status in (400, 422) and (parameter := _refused_parameter(error, optional)):
        return Fault("parameter", f"the model refuses {parameter!r} {said}", parameter=parameter)
    if status in (400, 422) and _TOO_LONG.search(error.text):
        return Fault("prompt", f"the prompt is longer than the model takes {said}")
    if _NO_SUCH_MODEL.search(f"{error.code} {error.text}"):
        return Fault("fatal", f"the endpoint has no such model {said}; choose one that it has with --model")
    if status in (404, 405):
        return Fault("path", f"nothing answers chat completions there {said}; check OPENAI_BASE_URL")
    return Fault("request", f"the endpoint refuses the request {said}")


def _refused_parameter(error: _Error, optional: Collection[str]) -> str:
    """The optional parameter that an error is about: the one it names as such, else one that occurs in its text."""
    if error.parameter in optional:
        return error.parameter
    if "system" in optional and _SYSTEM_ROLE.search(f"{error.parameter} {error.text}"):
        return "system"
    named = (name for name in optional if name != "system" and re.search(rf"\b{re.escape(name)}\b", error.text))
    return next(named, "")


def _completion(document: object) -> Completion | Fault:
    if not isinstance(document, Mapping):
        return Fault("passing", "the endpoint answered with something that is not a JSON object", NO_USAGE)
    usage = _usage(document.get("usage"))
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        return Completion("", None, usage)
    reason = choice.get("finish_reason")
    reason = reason if isinstance(reason, str) else None
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {}
    text = _text(message.get("content"))
    if reason == "error":  # some gateways end a reply so that broke off behind them
        return Fault("passing", "the model broke off", usage)
    refusal = message.get("refusal")
    if not text and isinstance(refusal, str) and refusal:
        return Completion(refusal, "content_filter", usage)
    return Completion(text, reason, usage)


def _text(content: object) -> str:
    """The content of a message: a string, or parts of which some are text."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _usage(counts: object) -> Usage:
    """The tokens of a request as far as the endpoint counted them (cached also under DeepSeek's name)."""
    if not isinstance(counts, Mapping):
        return NO_USAGE
    cached = _count(counts, "prompt_tokens_details", "cached_tokens")
    return Usage(
        prompt=_count(counts, "prompt_tokens"),
        cached=cached if cached is not None else _count(counts, "prompt_cache_hit_tokens"),
        completion=_count(counts, "completion_tokens"),
        reasoning=_count(counts, "completion_tokens_details", "reasoning_tokens"),
    )


def _count(counts: Mapping[str, Any], *path: str) -> int | None:
    value: object = counts
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _document(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _error(document: object) -> _Error | None:
    """The error in a document, in the forms that endpoints use; None where there is none."""
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
