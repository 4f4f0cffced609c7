"""Finds the answer in a reply: removes what the model thought aloud, and takes code out of JSON, unchanged."""

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
_TAG = "(?:seed:)?(?:think|thinking|thought|reasoning)"
_TOKEN = r"<\|[\w ]{1,40}\|>|</s>"
"""Tokens of a model's own format, such as `<|im_end|>`: some servers leave them in replies."""
_SPECIAL_TOKEN = re.compile(_TOKEN)
_LAST_TOKENS = re.compile(rf"(?:\s*+(?:{_TOKEN}))+\s*\Z")
_TOKENS_END = 200
"""Most characters at the end of a reply in which special tokens are looked for, if it ends inside a block."""
_BLANK = "[ \t\ufeff\u200b\f\u00a0\u2028]"
_LINE_BEGINS = r"(?:^|(?<=\|>)|(?<=</s>))"  # a special token ends a line
_PART_BEGINS = re.compile(
    rf"{_LINE_BEGINS}(?P<indent>{_BLANK}*+)(?P<marks>`{{3,}}+|~{{3,}}+)[^`\n]*+$"
    rf"|<(?P<thought>{_TAG})>|(?P<thought_ends></{_TAG}>)"
    r"|(?P<edit>^[ \t]*+<{5,9} ?SEARCH[ \t]*$)"
    rf"|{_LINE_BEGINS}[ \t]*+(?P<document>[{{\[])",
    re.MULTILINE | re.IGNORECASE,
)
"""What must be read before what is inside it: a fenced block, a thought, an edit, or a line that may begin JSON."""
_EDIT_ENDS = re.compile(r"^[ \t]*+>{5,9} ?REPLACE[ \t]*$", re.MULTILINE)
_THOUGHT_ENDS = re.compile(f"</{_TAG}>", re.IGNORECASE)
_LABELLED = re.compile(r"^[ \t]*+(?:`{3,}|~{3,})\w", re.MULTILINE)
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
    """Return a reply without what is no part of its answer; the code in fenced blocks and in edits stays as it is.

    Outside of them the text is made tidy (see `tidy`), and thoughts in tags such as `<think>` are removed. JSON
    documents that begin a line or a block and hold a function are replaced by their strings, the functions in fenced
    blocks; only the first 20 places where one could begin are tried. If nothing but thoughts is there, a reply that
    `is_whole` (not cut off) is returned with them, any other gives blank text.
    """
    text = _with_unix_lines(text)
    said = _read_parts(text, has_thoughts=True)
    return _read_parts(text, has_thoughts=False) if is_whole and not said.strip() else said


def tidy(text: str) -> str:
    """Return the text, cleaned (see `clean`), with a line break in place of each special token of a model's format."""
    return _SPECIAL_TOKEN.sub("\n", clean(text))


def clean(text: str) -> str:
    """Return the text with Unix line ends, plain spaces for U+00A0 and U+2028, and no U+FEFF, U+200B or form feed.

    Other invisible characters stay.
    """
    return _with_unix_lines(text).translate(_CLEAN)


def _with_unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def written_out(document: object) -> str:
    """Return the strings of a JSON document, joined by blank lines; "" if it has none. Keys do not count.

    `document` is decoded JSON, or text. Any text that is itself a JSON object, array or string is replaced by its
    strings; other text is one string. If an object has "arguments", "parameters" or "input", only that value counts.
    Strings with a function are put in fenced blocks, unless they contain ```; the others are cleaned.
    """
    strings = _strings(document)
    return "\n\n".join(fenced(text) if _FUNCTION.search(text) and "```" not in text else text for text in strings)


def _read_parts(text: str, has_thoughts: bool) -> str:
    """Return the answer in a text with Unix line ends (see `answer`); without `has_thoughts`, tags are plain text.

    The text is read from its beginning: whichever part begins first contains the others. A program may hold tags and
    JSON in its strings, a thought may hold blocks with drafts, and JSON may hold whole replies.
    """
    found: list[str] = []
    place = at = 0  # what is before `place` is in `found`; the next part is looked for from `at`
    tries = _DOCUMENTS_TRIED if "def " in text or "lambda" in text else 0
    while part := _PART_BEGINS.search(text, at):
        at = part.end()
        if part["marks"]:
            inside, closing, at = _block(text, part)
            if has_thoughts and "</" in inside and (draft := _thought_in(inside)):
                # a thought that the prompt opened, and in it a block that nothing closed
                found.clear()
                place = at = part.end() + draft
                continue
            begin = len(inside) - len(inside.lstrip())
            written, end = _document(inside, begin) if tries and inside[begin : begin + 1] in ("{", "[") else ("", 0)
            kept = [written, tidy(inside[end:])] if written else [tidy(part[0]), inside, tidy(closing)]
        elif part["thought"] and has_thoughts:
            ends = re.compile(f"</{part['thought']}>", re.IGNORECASE).search(text, at)
            kept, at = [], ends.end() if ends else len(text)
        elif part["thought_ends"] and has_thoughts:
            found.clear()  # its opening tag can stand at the end of the prompt
            place = at
            continue
        elif part["edit"]:
            ends = _EDIT_ENDS.search(text, at)
            at = ends.end() if ends else len(text)
            kept = [text[part.start() : at]]
        elif part["document"] and tries:
            tries -= 1
            written, at = _document(text, part.end() - 1)
            if not written:
                continue
            kept = [written]
        else:
            continue
        found += [tidy(text[place : part.start()]), *kept]
        place = at
    return "".join([*found, tidy(text[place:])])


def _block(text: str, opening: re.Match[str]) -> tuple[str, str, int]:
    """Return what is inside the fenced block that `opening` begins, its closing line ("" for none), and where it ends.

    Which line closes it is said in `fences.blocks`; what follows a special token in that line is not part of the block.
    """
    mark, least = opening["marks"][0], len(opening["marks"])
    closes = rf"^{_BLANK}{{0,{len(opening['indent']) + 3}}}{mark}{{{least},}}[ \t]*(?=$|{_TOKEN})"
    closing = re.compile(closes, re.MULTILINE).search(text, opening.end())
    if closing is None:
        inside = text[opening.end() :]
        return inside[:-_TOKENS_END] + _LAST_TOKENS.sub("\n", inside[-_TOKENS_END:]), "", len(text)
    return text[opening.end() : closing.start()], closing[0], closing.end()


def _thought_in(inside: str) -> int:
    """Return where a thought ends inside a block that another one begins in; 0 if there is no such end."""
    last = max((fence.start() for fence in _LABELLED.finditer(inside)), default=0)
    return max((tag.end() for tag in _THOUGHT_ENDS.finditer(inside, 0, last)), default=0)


def _document(text: str, begin: int) -> tuple[str, int]:
    """Return the strings of the JSON document that begins here (see `written_out`), and where it ends.

    The strings are "" if they hold no function; the end is behind the first character if there is no document.
    """
    try:
        document, end = _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return "", begin + 1
    return f"\n{written_out(document)}\n" if any(map(_FUNCTION.search, _strings(document))) else "", end


def _strings(document: object) -> list[str]:
    """Return the strings in a document, in order and without keys; those that hold no function are cleaned.

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
                    found.append(_with_unix_lines(text) if _FUNCTION.search(text) else clean(text))
            case {"arguments": arguments} | {"parameters": arguments} | {"input": arguments}:
                waiting.append(arguments)
            case list(items):
                waiting += reversed(items)
            case Mapping() as members:
                waiting += reversed([*members.values()])
    return found
