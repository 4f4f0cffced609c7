"""From a model's reply to a program, or to the reason why there is none."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Literal, get_args

from behavesim.errors import TaskError
from behavesim.programs.definitions import Definitions, identifiers
from behavesim.programs.fences import Block, blocks, fenced_blocks
from behavesim.programs.parsing import Parsed, TooLong, clean, parse, parse_beginning, without_main_guard
from behavesim.programs.signatures import complaint, entry_arguments
from behavesim.programs.supplies import completed, offered
from behavesim.protocols import Failure

__all__ = ["REASONS", "Program", "Reason", "extract", "fenced_blocks"]

Reason = Literal["signature", "truncated", "too-long", "syntax", "no-function", "refusal", "empty"]
"""Why a reply holds no program; where its blocks fail for several reasons, the first of these is given."""

REASONS: tuple[Reason, ...] = get_args(Reason)

_WEIGHT: Mapping[str, int] = {reason: weight for weight, reason in enumerate(REASONS)}
_THINKING = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THINKING_BEFORE = re.compile(r"\A.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(?:sorry|apologi[sz]e|as an ai|i(?:['’]m| am)? (?:can['’]?t|cannot|won['’]?t|will not|unable|not able))\b",
    re.IGNORECASE,
)
_CODE_BEGINS = re.compile(
    r"^(?:from [\w.]+ import\b|import [\w.]+(?: as \w+)?(?:,.*)?$|@\w|(?:async )?def \w+ *\(|class \w+ *[(:]"
    r"|\w+ *(?::[^=\n]+)?=[^=])",
    re.MULTILINE,
)
_STARTS_TRIED = 10
_BLOCKS_READ = 100
_SAID = 10_000
_BRACES = re.compile(r"\{([^{}]*)\}")
_WORDS = re.compile(r"\w\s+\w")
_LABEL = re.compile(r"^[\s#>*_-]*(?:(?:thought|idea|algorithm|description)[*_ ]*:)?[\s*_]*", re.IGNORECASE)
_THOUGHT_LIMIT = 500
LONGEST_REPLY = 500_000
"""Characters of a reply that is read, some 125 000 tokens: each pass over it holds up the whole process."""


@dataclass(frozen=True)
class Program:
    """A program taken from a reply: it compiles and defines the entry point; `thought` is EoH's sentence about it."""

    source: str
    thought: str = ""


@dataclass(frozen=True)
class _Wanted:
    """What the task asks for, and how the model ended: `interrupted` where it did not end by itself."""

    template: Definitions
    entry_point: str
    arguments: ast.arguments
    interrupted: Literal["truncated", "refusal"] | None


def extract(
    text: str, template_source: str, entry_point: str, finish_reason: str | None = None, thought: bool = False
) -> Program | Failure:
    """The last program of a reply whose entry point can be called as the template's.

    Imports, constants and functions that it uses and does not define are supplied from the reply's other blocks and
    from the template. A block's only function is renamed where no block defines the entry point. What a model thinks
    aloud is set aside. Of a reply with more than a hundred blocks the last hundred are read, of one with more than
    500 000 characters nothing is. The reason of a Failure is one of REASONS.
    """
    if len(text) > LONGEST_REPLY:
        return Failure("too-long", f"the reply has {len(text)} characters; at most {LONGEST_REPLY} are read")
    answer = _THINKING_BEFORE.sub("", _THINKING.sub("", clean(text)))
    parts = blocks(answer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a candidate writes "\d" is no business of the console
        wanted = _Wanted(*_template(template_source, entry_point), _interrupted(finish_reason))
        readings = [_read(block, wanted) for block in parts[-_BLOCKS_READ:]] if parts else _read_prose(answer, wanted)
        found = _chosen(readings, wanted) if readings else _nothing(answer, wanted)
    if isinstance(found, Failure):
        return found
    return Program(found, _thought(answer, parts) if thought else "")


@cache
def _template(source: str, entry_point: str) -> tuple[Definitions, str, ast.arguments]:
    tree = ast.parse(source)
    arguments = entry_arguments(tree.body, entry_point)
    if not isinstance(arguments, ast.arguments):
        raise TaskError(f"the template does not define the entry point {entry_point!r} as a plain function")
    return Definitions.of(tree), entry_point, arguments


def _interrupted(finish_reason: str | None) -> Literal["truncated", "refusal"] | None:
    if finish_reason == "content_filter":
        return "refusal"
    return "truncated" if finish_reason in ("length", "max_tokens") else None


def _read(block: Block, wanted: _Wanted) -> Parsed | Failure:
    """A block as a program; of one left open only if the model ended by itself, and then without prose behind it."""
    if not block.closed and wanted.interrupted:
        return _cut_off(wanted.interrupted)
    try:
        parsed = without_main_guard(parse(block.code) if block.closed else parse_beginning(block.code))
    except SyntaxError as error:
        return _syntax(error)
    left_out = f"def {wanted.entry_point}" in block.code and f"def {wanted.entry_point}" not in parsed.source
    return _syntax(parsed.rest) if parsed.rest and left_out else parsed


def _read_prose(answer: str, wanted: _Wanted) -> list[Parsed | Failure]:
    """The program of a reply without fences, if any: read from the first line from which the entry point is reached."""
    answer = textwrap.dedent(answer)
    starts = [match.start() for match in islice(_CODE_BEGINS.finditer(answer), _STARTS_TRIED)]
    readings = [_read(Block(answer[start:], closed=False), wanted) for start in starts]
    complete: list[Parsed | Failure] = [
        reading for reading in readings if isinstance(_defined(reading, wanted), Parsed)
    ]
    with_function: list[Parsed | Failure] = [
        reading for reading in readings if isinstance(reading, Parsed) and _functions(reading)
    ]
    return complete[:1] or with_function[:1] or readings[:1]


def _chosen(readings: Sequence[Parsed | Failure], wanted: _Wanted) -> str | Failure:
    """The source of the last reading that will do, or the weightiest reason why none does."""
    failures: list[Failure] = []
    for accept in (_defined, _renamed):
        for reading in reversed(readings):
            program = accept(reading, wanted)
            program = program if isinstance(program, Failure) else _supplied(program, readings, wanted)
            if isinstance(program, Parsed):
                return program.source
            failures.append(program)
        if any(failure.reason == "signature" for failure in failures):
            break
    return min(failures, key=lambda failure: _WEIGHT[failure.reason])


def _defined(reading: Parsed | Failure, wanted: _Wanted) -> Parsed | Failure:
    """The reading, if it defines the entry point and takes the template's arguments."""
    if isinstance(reading, Failure):
        return reading
    found = entry_arguments(reading.tree.body, wanted.entry_point)
    if found is None:
        return Failure("no-function", f"no function {wanted.entry_point!r} is defined at module level")
    wrong = complaint(found, wanted.arguments)
    return Failure("signature", f"{wanted.entry_point}: {wrong}"[:500]) if wrong else reading


def _renamed(reading: Parsed | Failure, wanted: _Wanted) -> Parsed | Failure:
    """The reading with its only function called as the entry point is, if that function takes the right arguments."""
    if isinstance(reading, Failure):
        return reading
    functions = _functions(reading)
    if len(functions) != 1 or wanted.entry_point in identifiers(reading.tree):
        return _defined(reading, wanted)
    try:
        renamed = parse(re.sub(rf"(?<![\w.]){functions[0]}(?!\w)", wanted.entry_point, reading.source))
    except SyntaxError as error:
        return _syntax(error)
    return _defined(renamed, wanted)


def _functions(reading: Parsed) -> list[str]:
    return [node.name for node in reading.tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _supplied(program: Parsed, readings: Sequence[Parsed | Failure], wanted: _Wanted) -> Parsed | Failure:
    """The program with what it lacks: from the nearest other block that has it, the template, the usual imports."""
    others = [reading.definitions for reading in reversed(readings) if isinstance(reading, Parsed)]
    try:
        source = completed(program.source, [*others, wanted.template, offered()])
        return program if source == program.source else parse(source)
    except SyntaxError as error:
        return _syntax(error)


def _nothing(answer: str, wanted: _Wanted) -> Failure:
    """Why a reply without any code has none."""
    if wanted.interrupted:
        return _cut_off(wanted.interrupted)
    if not answer.strip():
        return Failure("empty", "the reply has no text")
    said = " ".join(answer[:_SAID].split())
    if _REFUSAL.search(said):
        return Failure("refusal", f"the model declined: {said}"[:500])
    return Failure("no-function", f"the reply has no code: {said}"[:500])


def _cut_off(reason: Literal["truncated", "refusal"]) -> Failure:
    if reason == "refusal":
        return Failure("refusal", "the endpoint's content filter ended the reply")
    return Failure("truncated", "the reply was cut off at the limit of tokens; raise max_tokens if this happens often")


def _syntax(error: SyntaxError) -> Failure:
    if isinstance(error, TooLong):
        return Failure("too-long", str(error))
    line = f"line {error.lineno}: " if error.lineno else ""
    text = f": {error.text.strip()}" if error.text else ""
    return Failure("syntax", f"{line}{error.msg}{text}"[:500])


def _thought(answer: str, parts: Sequence[Block]) -> str:
    """What the model says of its program, on one line: the words in braces (EoH), else the prose around the code."""
    prose = _prose(answer, parts)
    braces = next((inside for inside in _BRACES.findall(prose) if _WORDS.search(inside)), None)
    words = " ".join(_LABEL.sub("", prose if braces is None else braces, count=1).split())
    return words if len(words) <= _THOUGHT_LIMIT else f"{words[: _THOUGHT_LIMIT - 1]}…"


def _prose(answer: str, parts: Sequence[Block]) -> str:
    """What stands before the code, or behind it where nothing does."""
    if not parts:
        return _CODE_BEGINS.split(answer, maxsplit=1)[0]
    lines = answer.split("\n")
    before, behind = "\n".join(lines[: parts[0].begin]), "\n".join(lines[parts[-1].end :])
    return before if before.strip() else behind
