"""Reads the answer of an OpenAI-compatible endpoint: a completion, or the fault that it means."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from behavesim.base.text import one_line
from behavesim.base.tokens import Usage, estimated_tokens, token_count
from behavesim.programs.answer import interruption, written_out
from behavesim.proposers.limiter import exhausted_for_s
from behavesim.proposers.openai_dialect import Terms
from behavesim.proposers.openai_faults import EndpointError, fault_of
from behavesim.proposers.patience import REFUSED, Completion, Fault

_FILTERED = frozenset({"content_filter", "content_policy_violation", "flagged_input"})
_INVISIBLE = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)

ERROR_LIMIT = 5_000
"""Most characters of an error's text, code or parameter that are kept: the beginning says what is wrong."""
REASON_LIMIT = 50
"""Most characters of a finish reason or a service tier that are kept: the protocol's own have at most fourteen."""
REASONING = ("reasoning_content", "reasoning")
"""Names of a message's field for the model's reasoning: DeepSeek and vLLM use the first, OpenRouter and Ollama the
second."""


def answer(
    status: int, headers: Mapping[str, str], body: bytes, terms: Terms, clean: Callable[[str], str]
) -> Completion | Fault:
    """Return the completion in a response, or the fault that it means; `body` is decompressed already.

    A refusal by the model or a content filter is a completion with the finish reason "content_filter". A JSON object
    without choices is a completion without content. `terms` are the request's. `clean` removes secrets from every text
    of the endpoint that the result holds, before the text is shortened.
    """
    try:
        document = _document(body)
        error = _error(document, clean)
        if status < 400 and error is None:
            if not isinstance(document, Mapping):
                return _no_document(headers, clean(_words(body)))
            if isinstance(document.get("output"), list):
                document = {**document, "choices": [_choice_of_response(document)]}
            return _completion(document, exhausted_for_s(headers), clean)
    except RecursionError:  # from reading, or from writing a part of it as text
        return Fault("ask again", "the endpoint answered with JSON that is nested too deeply to read", Usage())
    error = error or EndpointError(clean(_words(body))[:ERROR_LIMIT])
    if status < 400:  # some gateways put the error behind them into a response of status 200
        status = next((int(code) for code in error.codes if re.fullmatch(r"[45]\d\d", code)), 502)
    if error.codes & _FILTERED:
        return Completion("", "content_filter", REFUSED, exhausted_for_s(headers))
    return fault_of(status, headers, error, terms)


def _document(body: bytes) -> object:
    """Return the JSON value in a body; None if it is not valid JSON. Integers of 20 digits or more become floats."""

    def whole(digits: str) -> int | float:  # Python refuses very long integers, and the whole reply would be lost
        return int(digits) if len(digits) < 20 else float(digits)

    try:
        return json.loads(body.decode("utf-8-sig", "replace"), parse_int=whole)
    except ValueError:
        return None


def _no_document(headers: Mapping[str, str], words: str) -> Fault:
    """Return the fault for an answer below status 400 that is no JSON object, by its content type; `words` begin it."""
    kind, seen = headers.get("content-type", "").lower(), one_line(words, 100)
    if "event-stream" in kind:
        advice = "have it answer at once, with stream = false under [extra_body]"
        return Fault("ask again", f"the endpoint answered with an event stream; {advice}", Usage(), is_setup=True)
    if "html" in kind:
        message = f"the endpoint answered with a web page ({seen}); check OPENAI_BASE_URL"
        return Fault("ask again", message, Usage(), is_setup=True)
    return Fault("ask again", f"the endpoint answered with something that is not a JSON object ({seen})", Usage())


def _words(body: bytes) -> str:
    """Return the first 20,000 bytes of a body as text on one line; of a web page, its text without tags and scripts."""
    text = body[:20_000].decode("utf-8", "replace")
    if re.match(r"\s*<(?:!doctype|html|head|\?xml)", text, re.IGNORECASE):
        text = html.unescape(_INVISIBLE.sub(" ", text))
    return " ".join(text.split())


def _error(document: object, clean: Callable[[str], str]) -> EndpointError | None:
    """Return the error in a document, in any form that endpoints use, cleaned of secrets by `clean`; None if none."""
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
    """Return the completion in the first choice, without content if there is none; a fault if the model broke off.

    `wait_s` is in how many seconds the endpoint takes further requests. `clean` removes secrets.
    """
    usage = replace(_usage(document.get("usage")), tier=_word(document.get("service_tier"), clean))
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        return Completion("", None, usage, wait_s)
    message, reason = _mapping(choice.get("message")), choice.get("finish_reason")
    # some servers move code into a call, though no tool was offered
    replies = [_text(message.get("content")), _text(choice.get("text")), *_called(message)]
    thoughts = [_text(message.get(name)) for name in REASONING]
    if usage.completion is None:
        usage = replace(usage, estimated_completion=estimated_tokens("".join([*replies, *thoughts])))
    if reason == "error":  # some gateways say so if the server behind them broke off
        return Fault("ask again", "the model broke off", usage)
    reason = _word(reason, clean)
    text = "\n\n".join(part for part in replies if part.strip())
    # some servers move the whole reply into the reasoning; reasoning that was cut off holds only drafts
    if not text and interruption(reason) is None:
        text = next((part for part in thoughts if part.strip()), "")
    if not text and (refusal := _text(message.get("refusal"))):
        return Completion(clean(refusal), "content_filter", usage, wait_s)
    return Completion(clean(text), reason, usage, wait_s)


def _choice_of_response(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choice of a chat completion that says what an answer of the Responses API does."""
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


def _word(text: object, clean: Callable[[str], str]) -> str | None:
    """Return a finish reason or service tier, cleaned and cut to REASON_LIMIT characters; None if it is no text."""
    return one_line(clean(text), REASON_LIMIT) if isinstance(text, str) else None


def _mapping(found: object) -> Mapping[str, Any]:
    """Return a JSON object as it is, and an empty one in place of anything else."""
    return found if isinstance(found, Mapping) else {}


def _text(content: object) -> str:
    """Return the text of a message's content, a string or a list of parts, which are joined; "" for anything else."""
    if isinstance(content, list):
        texts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _called(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arguments of a message's calls, in the field `tool_calls` or the older `function_call`."""
    calls = message.get("tool_calls")
    functions = [_mapping(call).get("function") for call in calls] if isinstance(calls, list) else []
    for function in (*functions, message.get("function_call")):
        if isinstance(function, Mapping):
            yield written_out(function.get("arguments"))


def _usage(counts: object) -> Usage:
    """Return a request's tokens from the field `usage` of a completion; missing or impossible counts are None."""
    # second and later names: of the Responses API; `prompt_cache_hit_tokens` is DeepSeek's, and
    # `cache_creation_input_tokens` LiteLLM's
    return Usage(
        prompt=_count(counts, "prompt_tokens", "input_tokens"),
        cached=_count(
            counts,
            "prompt_tokens_details.cached_tokens",
            "prompt_cache_hit_tokens",
            "input_tokens_details.cached_tokens",
        ),
        completion=_count(counts, "completion_tokens", "output_tokens"),
        reasoning=_count(
            counts, "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens"
        ),
        cache_write=_count(counts, "prompt_tokens_details.cache_write_tokens", "cache_creation_input_tokens"),
    )


def _count(counts: object, *paths: str) -> int | None:
    """Return the first `token_count` at a path in `counts` (names joined by dots); None if there is none."""
    for path in paths:
        found: Any = counts
        for name in path.split("."):
            found = _mapping(found).get(name)
        if (count := token_count(found)) is not None:
            return count
    return None
