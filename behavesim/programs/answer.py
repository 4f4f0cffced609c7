"""The answer in a reply: without the model's thoughts, and with its code unwrapped from JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Literal

from behavesim.programs.fences import fenced

Interruption = Literal["truncated", "refusal"]

_TOO_LONG = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})
_CLEAN = str.maketrans({"\ufeff": None, "\u200b": None, "\f": None, "\u00a0": " ", "\u2028": " "})
_THINKING = re.compile(r"<((?:seed:)?(?:think|thinking|thought|reasoning))>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_BEFORE = re.compile(r"\A.*</(?:seed:)?(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_DIALECTS = ("<|", "</s>", "◁", "THINK]")
_THOUGHT_BEGINS = re.compile(
    r"<\|channel\|>analysis\b[^<]*<\|message\|>|<\|START_THINKING\|>|<\|begin_of_thought\|>|◁think▷|\[THINK\]"
)
_THOUGHT_ENDS = re.compile(
    r"<\|channel\|>[^<]*(?:<\|constrain\|>\w*)?<\|message\|>|<\|END_THINKING\|>|<\|end_of_thought\|>|◁/think▷|\[/THINK\]"
)
"""Where a thought ends. Of gpt-oss's channels, only `analysis` holds thoughts."""
_BARE_CHANNEL = re.compile(r"analysis(?=[A-Z])")
"""How a reply of gpt-oss begins if a server has dropped the special tokens around it."""
_SPECIAL_TOKEN = re.compile(r"<\|start\|>\w+|<\|[\w ]{1,40}\|>|</s>")
_DOCUMENT_BEGINS = re.compile(r"^(?:[ \t]*+(?P<fence>`{3,}+|~{3,}+)[^\n`]*+\n)?[ \t]*+(?=[{\[])", re.MULTILINE)
_FENCE_ENDS = re.compile(r"\s*(?:`{3,}|~{3,})[ \t]*$", re.MULTILINE)
_FUNCTION = re.compile(r"^[ \t]*(?:async )?def \w+ *\(|= *lambda\b", re.MULTILINE)
_DOCUMENTS_TRIED = 20
_DECODER = json.JSONDecoder(strict=False)
"""Accepts strings with line breaks in them, as models write them."""


def interruption(finish_reason: str | None) -> Interruption | None:
    """Return why a reply broke off, by the finish reason of an endpoint; None if it did not."""
    if finish_reason == "content_filter":
        return "refusal"
    return "truncated" if finish_reason is not None and finish_reason.lower() in _TOO_LONG else None


def answer(text: str, is_whole: bool = True) -> str:
    """Return a reply without the model's thoughts, special tokens and invisible characters.

    Code within JSON (an object, a tool call) is put in fenced blocks instead. If the reply `is_whole` (not cut off) and
    consists of thoughts alone, the thoughts are the answer.
    """
    text = _in_one_dialect(clean(text))
    said = _THOUGHT_BEFORE.sub("", _THINKING.sub("", text))
    return _unwrapped(text if is_whole and not said.strip() else said)


def clean(text: str) -> str:
    """Return the text with Unix line ends, without the byte-order marks and invisible spaces that Python refuses."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CLEAN)


def written_out(document: object) -> str:
    """Return the strings of a JSON document, decoded or as text, joined by blank lines; code is in fenced blocks."""
    return _written(_strings(document))


def _in_one_dialect(text: str) -> str:
    """Return the text with `<think>` and `</think>` around thoughts, and line breaks for other special tokens."""
    if _BARE_CHANNEL.match(text):
        text = f"<think>{text.replace('assistantfinal', '</think>')}"
    if any(mark in text for mark in _DIALECTS):
        text = _THOUGHT_ENDS.sub("</think>", _THOUGHT_BEGINS.sub("<think>", text))
        text = _SPECIAL_TOKEN.sub("\n", text)
    return text


def _unwrapped(text: str) -> str:
    """Replace every JSON document that holds a function by its strings."""
    if "def " not in text and "lambda" not in text:
        return text
    parts: list[str] = []
    place = 0
    for _ in range(_DOCUMENTS_TRIED):
        begin = _DOCUMENT_BEGINS.search(text, place)
        if begin is None:
            break
        try:
            document, end = _DECODER.raw_decode(text, begin.end())
        except (ValueError, RecursionError):
            document, end = None, begin.end() + 1
        strings = _strings(document)
        if any(map(_FUNCTION.search, strings)):
            fence = _FENCE_ENDS.match(text, end) if begin["fence"] else None
            parts += [text[place : begin.start()], f"\n{_written(strings)}\n"]
            end = fence.end() if fence else end
        else:
            parts.append(text[place:end])
        place = end
    return "".join([*parts, text[place:]]) if parts else text


def _strings(document: object) -> list[str]:
    """Return the strings in a document, in order. A string that is itself JSON is replaced by its strings."""
    found: list[str] = []
    waiting = [document]
    while waiting:
        match waiting.pop():
            case str(text):
                inner = _document(text) if text.lstrip()[:1] in ("{", "[", '"') else None
                if inner is None:
                    found.append(clean(text))
                else:
                    waiting.append(inner)
            case {"arguments": arguments} | {"parameters": arguments} | {"input": arguments}:
                waiting.append(arguments)
            case list(items):
                waiting += reversed(items)
            case Mapping() as members:
                waiting += reversed([*members.values()])
    return found


def _document(text: str) -> object:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _written(strings: Iterable[str]) -> str:
    """Join strings as in a reply that is not JSON: those with code in fenced blocks."""
    return "\n\n".join(fenced(text) if _FUNCTION.search(text) and "```" not in text else text for text in strings)
