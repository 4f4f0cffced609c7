"""Reads the text and the token counts of a completion, in the various places where endpoints put them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from behavesim.base.tokens import Usage
from behavesim.programs.answer import written_out

NO_USAGE = Usage()
"""Usage of a request whose tokens are all unknown."""

MOST_TOKENS = 10**9
"""Token counts of this or more are treated as unknown: no request has so large a one."""

REASONING = ("reasoning_content", "reasoning")
"""Names of a message's field for the model's reasoning: DeepSeek and vLLM use the first, OpenRouter and Ollama the
second."""


def said(choice: Mapping[str, Any], is_whole: bool) -> str:
    """Return the text of a completion's choice: its content and the arguments of its tool calls; "" if there is none.

    Some servers move a part of the reply into a tool call, though no tool was offered; others move the whole reply into
    the reasoning. So if the reply is empty and `is_whole` (not cut off), return the reasoning. Reasoning that was cut
    off holds only drafts.
    """
    replies, thoughts = _parts(choice)
    text = "\n\n".join(part for part in replies if part.strip())
    return text or next((part for part in thoughts if is_whole and part.strip()), "")


def written(choice: Mapping[str, Any]) -> str:
    """Return all text that the model wrote for a choice and that is billed: the reply and the reasoning."""
    replies, thoughts = _parts(choice)
    return "".join(replies + thoughts)


def refusal(choice: Mapping[str, Any]) -> str:
    """Return the text of the message's field `refusal`; "" if there is none."""
    return _text(_message(choice).get("refusal"))


def usage(counts: object) -> Usage:
    """Return a request's tokens from the field `usage` of a completion; missing or senseless counts are None.

    Tokens read from a cache are also found by DeepSeek's name, those written to one by LiteLLM's.
    """
    cached = _count(counts, "prompt_tokens_details", "cached_tokens")
    written = _count(counts, "prompt_tokens_details", "cache_write_tokens")
    return Usage(
        prompt=_count(counts, "prompt_tokens"),
        cached=cached if cached is not None else _count(counts, "prompt_cache_hit_tokens"),
        completion=_count(counts, "completion_tokens"),
        reasoning=_count(counts, "completion_tokens_details", "reasoning_tokens"),
        cache_write=written if written is not None else _count(counts, "cache_creation_input_tokens"),
    )


def _message(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    message = choice.get("message")
    return message if isinstance(message, Mapping) else {}


def _parts(choice: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the texts of a choice's reply, and those of its reasoning; a text may be empty."""
    message = _message(choice)
    replies = [_text(message.get("content")), _text(choice.get("text")), *_called(message)]
    return replies, [_text(message.get(name)) for name in REASONING]


def _text(content: object) -> str:
    """Return the text of a message's content, which is a string or a list of parts; "" for anything else."""
    if isinstance(content, list):
        texts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _called(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arguments of a message's calls, in the field `tool_calls` or the older `function_call`."""
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    functions.append(message.get("function_call"))
    for function in functions:
        if isinstance(function, Mapping):
            yield written_out(function.get("arguments"))


def _count(counts: object, *path: str) -> int | None:
    for key in path:
        counts = counts.get(key) if isinstance(counts, Mapping) else None
    if isinstance(counts, bool) or not isinstance(counts, int | float) or not 0 <= counts < MOST_TOKENS:
        return None
    return int(counts) if counts == int(counts) else None
