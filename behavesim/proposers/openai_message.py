"""Reads the text and the token counts of a completion, in the various places where endpoints put them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from behavesim.base.tokens import Usage
from behavesim.programs.answer import written_out

MOST_TOKENS = 10**9
"""Token counts of this or more are treated as unknown: no request has so large a one."""

REASONING = ("reasoning_content", "reasoning")
"""Names of a message's field for the model's reasoning: DeepSeek and vLLM use the first, OpenRouter and Ollama the
second."""


@dataclass(frozen=True)
class Message:
    """The texts of one choice of a completion."""

    replies: tuple[str, ...]
    """The content, and the arguments of its tool calls: some servers move code into a call, though no tool was offered.

    A text may be empty."""
    thoughts: tuple[str, ...]
    """The model's reasoning; a text may be empty."""
    refusal: str
    """Why the model refuses to answer; "" if it does not."""

    @classmethod
    def of(cls, choice: Mapping[str, Any]) -> Self:
        """Return the texts of an element of `choices`; fields that are missing or of another type give no text."""
        message = _mapping(choice.get("message"))
        replies = _text(message.get("content")), _text(choice.get("text")), *_called(message)
        return cls(replies, tuple(_text(message.get(name)) for name in REASONING), _text(message.get("refusal")))

    def reply(self, is_whole: bool) -> str:
        """Return `replies` that are not blank, joined by blank lines; "" if there are none.

        If there are none and `is_whole` (not cut off), return the reasoning: some servers move the whole reply there.
        Reasoning that was cut off holds only drafts.
        """
        text = "\n\n".join(part for part in self.replies if part.strip())
        return text or next((part for part in self.thoughts if is_whole and part.strip()), "")

    @property
    def written(self) -> str:
        """The replies and the reasoning, joined: all text that is billed, but for a refusal."""
        return "".join(self.replies + self.thoughts)


def usage(counts: object) -> Usage:
    """Return a request's tokens from the field `usage` of a completion; missing or impossible counts are None.

    Tokens read from a cache are also found by DeepSeek's name, those written to one by LiteLLM's.
    """
    return Usage(
        prompt=_count(counts, "prompt_tokens"),
        cached=_count(counts, "prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens"),
        completion=_count(counts, "completion_tokens"),
        reasoning=_count(counts, "completion_tokens_details.reasoning_tokens"),
        cache_write=_count(counts, "prompt_tokens_details.cache_write_tokens", "cache_creation_input_tokens"),
    )


def _mapping(found: object) -> Mapping[str, Any]:
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


def _count(counts: object, *paths: str) -> int | None:
    """Return the first whole number from 0 to below MOST_TOKENS at a path (names joined by dots); None if none is."""
    for path in paths:
        found: Any = counts
        for name in path.split("."):
            found = _mapping(found).get(name)
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        if is_number and 0 <= found < MOST_TOKENS and found == int(found):
            return int(found)
    return None
