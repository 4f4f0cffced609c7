"""What a completion says, wherever in the document it stands, and the tokens it took: unknown where that is garbage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from behavesim.base.tokens import Usage
from behavesim.programs.answer import written_out

NO_USAGE = Usage()

MOST_TOKENS = 10**9
"""Token counts from here on are taken as unknown: no request has as many."""

REASONING = ("reasoning_content", "reasoning")
"""What a model thought aloud, as DeepSeek and vLLM call it, and as OpenRouter and Ollama do."""


def said(choice: Mapping[str, Any], is_whole: bool) -> str:
    """Return the text of a choice: its content and the arguments of its calls, else, of a whole reply, its reasoning.

    A server that finds a call in what a model wrote cuts it out and files it under a tool that nobody offered; others
    take the whole reply for what was thought before it. Reasoning that was cut off holds only drafts.
    """
    replies, thoughts = _parts(choice)
    text = "\n\n".join(part for part in replies if part.strip())
    return text or next((part for part in thoughts if is_whole and part.strip()), "")


def written(choice: Mapping[str, Any]) -> str:
    """Return all that the model wrote for a choice and is paid for: its reply and its reasoning."""
    replies, thoughts = _parts(choice)
    return "".join(replies + thoughts)


def refusal(choice: Mapping[str, Any]) -> str:
    """Return the model's words in the message's field `refusal`; empty without one."""
    return _text(_message(choice).get("refusal"))


def usage(counts: object) -> Usage:
    """The tokens of a request as the endpoint counted them; cached ones also under DeepSeek's or LiteLLM's name."""
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
    """Return the texts of a choice that belong to its reply, and those of its reasoning."""
    message = _message(choice)
    replies = [_text(message.get("content")), _text(choice.get("text")), *_called(message)]
    return replies, [_text(message.get(name)) for name in REASONING]


def _text(content: object) -> str:
    """The content of a message: a string, or parts of which some are text."""
    if isinstance(content, list):
        texts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _called(message: Mapping[str, Any]) -> Iterator[str]:
    """What a message passes to functions, of today's form or the one before it."""
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
