"""Finds the answer in a reply: removes what the model thought aloud, and takes code out of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal

from behavesim.programs.fences import fenced

Interruption = Literal["truncated", "refusal"]
"""Why a reply broke off: "truncated" at its limit of tokens, "refusal" by the endpoint's content filter."""

# what endpoints call the limit of tokens
_TOO_LONG = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})
# what people do not see and Python refuses: byte-order mark, zero-width space, form feed, two kinds of spaces
_CLEAN = str.maketrans({"\ufeff": None, "\u200b": None, "\f": None, "\u00a0": " ", "\u2028": " "})
_THINKING = re.compile(r"<((?:seed:)?(?:think|thinking|thought|reasoning))>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
# a prompt can end in the opening tag, so that the reply has the closing one alone
_THOUGHT_BEFORE = re.compile(r"\A.*</(?:seed:)?(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_SPECIAL_TOKEN = re.compile(r"<\|[\w ]{1,40}\|>|</s>")
"""Tokens of a model's own format, such as `<|im_end|>`: some servers leave them in replies."""
_DOCUMENT_BEGINS = re.compile(r"^(?:[ \t]*+(?P<fence>`{3,}+|~{3,}+)[^\n`]*+\n)?[ \t]*+(?=[{\[])", re.MULTILINE)
# a document in a fenced block is replaced with its fences
_FENCE_ENDS = re.compile(r"\s*(?:`{3,}|~{3,})[ \t]*$", re.MULTILINE)
_FUNCTION = re.compile(r"^[ \t]*(?:async )?def \w+ *\(|= *lambda\b", re.MULTILINE)
_DOCUMENTS_TRIED = 20
"""Most places of a reply at which a JSON document is looked for: hostile replies have thousands of brackets."""
_DECODER = json.JSONDecoder(strict=False)
"""Accepts strings with line breaks in them, as models write them."""


def interruption(finish_reason: str | None) -> Interruption | None:
    """Return "truncated" if a reply ended at a limit of tokens, "refusal" if a content filter ended it, else None.

    `finish_reason` is the endpoint's word for why the reply ended, in any letter case; None and unknown words give
    None.
    """
    word = (finish_reason or "").lower()
    if word == "content_filter":
        return "refusal"
    return "truncated" if word in _TOO_LONG else None


def answer(text: str, is_whole: bool = True) -> str:
    """Return a reply, cleaned (see `clean`), without thoughts in tags such as `<think>`, and without special tokens.

    JSON documents that begin a line and hold a function are replaced by their strings, the functions in fenced blocks.
    Only the first 20 places where one could begin are tried. If nothing but thoughts is there, a reply that `is_whole`
    (not cut off) is returned with them, any other gives blank text.
    """
    text = _SPECIAL_TOKEN.sub("\n", clean(text))
    said = _THOUGHT_BEFORE.sub("", _THINKING.sub("", text))
    return _unwrapped(text if is_whole and not said.strip() else said)


def clean(text: str) -> str:
    """Return the text with Unix line ends, plain spaces for U+00A0 and U+2028, and no U+FEFF, U+200B or form feed.

    Other invisible characters stay.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CLEAN)


def written_out(document: object) -> str:
    """Return the strings of a JSON document, cleaned and joined by blank lines; "" if it has none. Keys do not count.

    `document` is decoded JSON, or text. Any text that is itself a JSON object, array or string is replaced by its
    strings; other text is one string. If an object has "arguments", "parameters" or "input", only that value counts.
    Strings with a function are put in fenced blocks, unless they contain ```.
    """
    strings = _strings(document)
    return "\n\n".join(fenced(text) if _FUNCTION.search(text) and "```" not in text else text for text in strings)


def _unwrapped(text: str) -> str:
    """Return the text with every JSON document that holds a function replaced by its strings; its fences are removed.

    A document must begin a line. Only the first 20 places where one could begin are tried.
    """
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
        if any(map(_FUNCTION.search, _strings(document))):
            parts += [text[place : begin.start()], f"\n{written_out(document)}\n"]
            fence = _FENCE_ENDS.match(text, end) if begin["fence"] else None
            end = fence.end() if fence else end
        else:
            parts.append(text[place:end])
        place = end
    return "".join([*parts, text[place:]]) if parts else text


def _strings(document: object) -> list[str]:
    """Return the strings in a document, cleaned and in order, without keys.

    A string that is itself a JSON object, array or string is replaced by its strings. If an object has "arguments",
    "parameters" or "input", as a tool's call has, only that value counts.
    """
    found: list[str] = []
    waiting = [document]  # a list and not recursion: a document can be nested deeper than Python's stack
    while waiting:
        match waiting.pop():
            case str(text):
                try:
                    inner = _DECODER.decode(text)
                except (ValueError, RecursionError):
                    inner = None
                if isinstance(inner, str | list | dict):  # not a number: "42" is text
                    waiting.append(inner)
                else:
                    found.append(clean(text))
            case {"arguments": arguments} | {"parameters": arguments} | {"input": arguments}:
                waiting.append(arguments)
            case list(items):
                waiting += reversed(items)
            case Mapping() as members:
                waiting += reversed([*members.values()])
    return found
