"""A reply's answer: its fenced blocks, without what the model thought aloud and with code taken out of JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

# Most blocks of a reply that are read for its program, counted from its end: hostile replies have thousands.
BLOCKS_READ = 100
# A line that is a fence: its indentation, the fence's characters, and a label without back-quotes.
_FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<marks>`{3,}|~{3,})(?P<label>[^`]*)")


def add_fence(source: str, label: str = "python") -> str:
    """Return a program in a fenced block with a label, whose fence is longer than any row of back-quotes in it."""
    marks = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", source))])
    return f"{marks}{label}\n{source.strip()}\n{marks}"


@dataclass(frozen=True)
class Block:
    """The code in a fenced block, whether its closing fence came, and its lines: `begin` to `end` - 1, with fences."""

    code: str
    closed: bool
    begin: int = 0
    end: int = 0


def fenced_blocks(text: str) -> list[str]:
    """Return the code of every fenced block in order, whatever its label. A block left open reaches to the end."""
    return [block.code for block in blocks(text)]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a reply in order. The last one reaches to the end if no fence closes it."""
    found: list[Block] = []
    opening: re.Match[str] | None = None
    begin = 0
    inside: list[str] = []
    for number, line in enumerate(text.split("\n")):
        fence = _FENCE.fullmatch(line)
        if opening is None:
            if fence is not None:
                opening, begin, inside = fence, number, []
        elif fence is None or not _closes(fence, opening):
            inside.append(line)
        else:
            found.append(Block(_code(inside, opening), True, begin, number + 1))
            opening = None
    if opening is not None:
        found.append(Block(_code(inside, opening), False, begin, begin + 1 + len(inside)))
    return found


def outside(text: str, parts: Sequence[Block]) -> str:
    """Return the lines of a text, joined, that are in none of its blocks `parts`."""
    inside = {number for part in parts for number in range(part.begin, part.end)}
    return "\n".join(line for number, line in enumerate(text.split("\n")) if number not in inside)


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    """Whether a fence closes the block that `opening` begins: of its character, at least as long, without a label."""
    # behind code on the same line a fence is part of the code; so it is three columns deeper, as in a docstring
    is_as_long = fence["marks"].startswith(opening["marks"]) and not fence["label"].strip()
    return is_as_long and len(fence["indent"]) <= len(opening["indent"]) + 3


def _code(lines: Sequence[str], opening: re.Match[str]) -> str:
    """Return a block's lines without the indentation of its opening fence where they have it."""
    margin = len(opening["indent"])
    return "\n".join(line[margin:] if not line[:margin].strip() else line for line in lines)


# Why a reply broke off: "truncated" at its limit of tokens, "refusal" by the endpoint's content filter.
Interruption = Literal["truncated", "refusal"]

# what endpoints call the limit of tokens
_TOO_LONG = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})


def interruption(finish_reason: str | None) -> Interruption | None:
    """Return "truncated" if a reply ended at a limit of tokens, "refusal" if a content filter ended it, else None."""
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


_TAG = "(?:seed:)?(?:think|thinking|thought|reasoning)"
# Tokens of a model's own format, such as `<|im_end|>`: some servers leave them in replies.
_TOKEN = r"<\|[\w ]{1,40}\|>|</s>"
# Quantifiers here are possessive (`*+`): with others a hostile reply, such as a million blanks, takes quadratic time.
_SPECIAL_TOKEN = re.compile(_TOKEN)
_LAST_TOKENS = re.compile(rf"(?:\s*+(?:{_TOKEN}))+\s*\Z")
# Most characters at the end of a reply in which special tokens are looked for, if it ends inside a block.
_TOKENS_END = 200
# what people do not see and Python refuses: byte-order mark, zero-width space, form feed, two kinds of spaces
_CLEAN = str.maketrans({"\ufeff": None, "\u200b": None, "\f": None, "\u00a0": " ", "\u2028": " "})
_BLANK = "[ \t\ufeff\u200b\f\u00a0\u2028]"
_LINE_BEGINS = r"(?:^|(?<=\|>)|(?<=</s>))"  # a special token ends a line
# What must be read before what is inside it: a fenced block, a thought, an edit, or a line that may begin JSON.
_PART_BEGINS = re.compile(
    rf"{_LINE_BEGINS}(?P<indent>{_BLANK}*+)(?P<marks>`{{3,}}+|~{{3,}}+)[^`\n]*+$"
    rf"|<(?P<thought>{_TAG})>|(?P<thought_ends></{_TAG}>)"
    r"|(?P<edit>^[ \t]*+<{5,9} ?SEARCH[ \t]*$)"
    rf"|{_LINE_BEGINS}[ \t]*+(?P<document>[{{\[])",
    re.MULTILINE | re.IGNORECASE,
)
_EDIT_ENDS = re.compile(r"^[ \t]*+>{5,9} ?REPLACE[ \t]*$", re.MULTILINE)
_THOUGHT_ENDS = re.compile(f"</{_TAG}>", re.IGNORECASE)
_LABELLED = re.compile(r"^[ \t]*+(`{3,}|~{3,})\w", re.MULTILINE)
# Most places of a reply at which a JSON document is looked for: hostile replies have thousands of brackets.
_DOCUMENTS_TRIED = 20


def _read_parts(text: str, has_thoughts: bool) -> str:
    """Return the answer in a text with Unix line ends; without `has_thoughts`, tags are plain text."""
    # The text is read from its beginning: whichever part begins first contains the others. A program may hold tags and
    # JSON in its strings, a thought may hold blocks with drafts, and JSON may hold whole replies.
    found: list[str] = []
    place = at = 0  # what is before `place` is in `found`; the next part is looked for from `at`
    tries = _DOCUMENTS_TRIED if "def " in text or "lambda" in text else 0
    while part := _PART_BEGINS.search(text, at):
        at = part.end()
        if part["marks"]:
            inside, closing, at = _block(text, part)
            if has_thoughts and "</" in inside and (draft := _thought_in(inside, len(part["marks"]))):
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
    """Return what is inside a fenced block, its closing line ("" for none, see `blocks`), and where it ends."""
    mark, least = opening["marks"][0], len(opening["marks"])
    closes = rf"^{_BLANK}{{0,{len(opening['indent']) + 3}}}{mark}{{{least},}}[ \t]*(?=$|{_TOKEN})"
    closing = re.compile(closes, re.MULTILINE).search(text, opening.end())
    if closing is None:
        inside = text[opening.end() :]
        return inside[:-_TOKENS_END] + _LAST_TOKENS.sub("\n", inside[-_TOKENS_END:]), "", len(text)
    return text[opening.end() : closing.start()], closing[0], closing.end()


def _thought_in(inside: str, marks: int) -> int:
    """Return where a thought ends inside a block that another one begins in; 0 if there is no such end."""
    # a fence of fewer marks than the block's begins no block: it is part of the code, as in a docstring
    fences = (fence for fence in _LABELLED.finditer(inside) if len(fence[1]) >= marks)
    last = max((fence.start() for fence in fences), default=0)
    return max((tag.end() for tag in _THOUGHT_ENDS.finditer(inside, 0, last)), default=0)


def tidy(text: str) -> str:
    """Return the text, cleaned, with a line break in place of each special token of a model's format."""
    return _SPECIAL_TOKEN.sub("\n", clean(text))


def clean(text: str) -> str:
    """Return the text with Unix line ends, plain spaces for U+00A0 and U+2028, and no U+FEFF, U+200B or form feed."""
    return _with_unix_lines(text).translate(_CLEAN)


def _with_unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


_FUNCTION = re.compile(r"^[ \t]*(?:async )?def \w+ *\(|= *lambda\b", re.MULTILINE)
# Accepts strings with line breaks in them, as models write them.
_DECODER = json.JSONDecoder(strict=False)


def json_strings(document: object) -> str:
    """Return the strings of a JSON document, decoded or text, joined by blank lines, without its keys.

    Strings with a function are put in fenced blocks, unless they contain ```; the others are cleaned.
    """
    strings = _strings(document)
    return "\n\n".join(add_fence(text) if _FUNCTION.search(text) and "```" not in text else text for text in strings)


def _document(text: str, begin: int) -> tuple[str, int]:
    """Return the strings of the JSON document that begins here, "" if none holds a function, and where it ends."""
    try:
        document, end = _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return "", begin + 1
    return f"\n{json_strings(document)}\n" if any(map(_FUNCTION.search, _strings(document))) else "", end


def _strings(document: object) -> list[str]:
    """Return the strings in a document, in order and without keys; those that hold no function are cleaned."""
    # A string that is itself JSON is replaced by its strings: models quote whole replies. Of a tool's call only the
    # arguments count.
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


_BRACES = re.compile(r"\{([^{}]*)\}")
# Two words: braces with a single word are LaTeX or a placeholder.
_WORDS = re.compile(r"\w\s+\w")
# Most characters of a program's description, which prompts show; a longer one is cut.
_LIMIT = 1000


def thought_in(prose: str) -> str:
    """Return a program's description, on one line of at most 1000 characters: the first words in braces, else all."""
    description = next((inside for inside in _BRACES.findall(prose) if _WORDS.search(inside)), prose)
    words = " ".join(description.split())
    return words if len(words) <= _LIMIT else f"{words[: _LIMIT - 1]}…"


def prose_around(text: str, parts: Sequence[Block]) -> str:
    """Return the text before the first of the blocks `parts`, at least one; if it is blank, that after the last."""
    lines = text.split("\n")
    before, after = "\n".join(lines[: parts[0].begin]), "\n".join(lines[parts[-1].end :])
    return before if before.strip() else after
