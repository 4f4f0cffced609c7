"""The rules for finding the program in a model's reply, or the reason why there is none."""

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

from behavesim.base.errors import TaskError
from behavesim.programs.answer import Interruption, answer, interruption
from behavesim.programs.definitions import Definitions
from behavesim.programs.entry import EntryPoint
from behavesim.programs.fences import Block, blocks, outside
from behavesim.programs.hashing import program_hash
from behavesim.programs.parsing import Parsed, Parser, TooComplex, TooLong
from behavesim.programs.signatures import callables
from behavesim.programs.supplies import completed, offered
from behavesim.programs.thought import prose_around, thought_in
from behavesim.state.verdict import Failure

Reason = Literal["signature", "truncated", "too-complex", "too-long", "syntax", "no-function", "refusal", "empty"]
"""Why a reply holds no program. If its blocks fail for several reasons, the first of these in this order is given."""

REASONS: tuple[Reason, ...] = get_args(Reason)

_WEIGHT: Mapping[str, int] = {reason: weight for weight, reason in enumerate(REASONS)}
_REFUSAL = re.compile(
    r"\b(?:sorry|apologi[sz]e|as an ai|i(?:['’]m| am)? (?:can['’]?t|cannot|won['’]?t|will not|unable|not able))\b",
    re.IGNORECASE,
)
_CODE_BEGINS = re.compile(
    r"^(?:from [\w.]+ import\b|import [\w.]+(?: as \w+)?(?:,.*)?$|@\w|(?:async )?def \w+ *\(|class \w+ *[(:]"
    r"|\w+ *(?::[^=\n]+)?=[^=])",
    re.MULTILINE,
)
_FUNCTION = re.compile(r"\bdef \w+ *\(|\blambda\b")
_STARTS_TRIED = 10
_BEGINNINGS_TRIED = {True: 2, False: 20}
"""Number of beginnings of a block that are tried, by whether its closing fence came. An open one may end in prose."""
_BLOCKS_READ = 100
_SAID = 10_000
LONGEST_REPLY = 500_000
"""Most characters of a reply that is read, about 125 000 tokens."""


@dataclass(frozen=True)
class Program:
    """A program taken from a reply: it compiles and defines the entry point.

    `thought` is EoH's sentence about it, '' if none was asked for. `hash` is the hash of its normal form
    (`hashing.program_hash`), equal for programs that differ only in layout, comments and names of locals.
    """

    source: str
    thought: str
    hash: str


@dataclass(frozen=True)
class Request:
    """The text of a reply, and what to look for in it: a program that defines `entry_point` as `template` does.

    `finish_reason` is the endpoint's word for why the reply ended, None if it gave none. `thought` asks for the
    sentence about the program.
    """

    text: str
    template: str
    entry_point: str
    finish_reason: str | None = None
    thought: bool = False


@dataclass(frozen=True)
class _Wanted:
    """The entry point that the task needs, the definitions of its template, and the parser of the reply."""

    entry: EntryPoint
    template: Definitions
    parser: Parser


def read(request: Request, parser: Parser) -> Program | Failure:
    """Return the program of a reply, by these rules in this order.

    1. The model's thoughts are removed, and code is taken out of JSON.
    2. Each fenced block is read. If no block has a function, the text outside is read from its first line of code.
    3. A reply that was cut off within its last block, or outside of any, is `truncated`.
    4. The program is the last block that defines the entry point with the right arguments.
    5. Names that it uses and does not define come from the other blocks, the template and the usual imports.

    Only the last 100 blocks are read. A reply of more than LONGEST_REPLY characters is `too-long`. The reason of a
    Failure is one of REASONS. Raises NeedsLimits if the parser does, TaskError if the template does not define the
    entry point.
    """
    if len(request.text) > LONGEST_REPLY:
        said = f"the reply has {len(request.text)} characters; at most {LONGEST_REPLY} are read"
        return Failure("too-long", said)
    cut = interruption(request.finish_reason)
    said = answer(request.text, is_whole=cut is None)
    parts = blocks(said)
    if cut and not (parts and parts[-1].closed):
        return _cut_off(cut)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # else a candidate's "\d" would print a warning on the console
        found = _found(said, parts, _Wanted(*_template(request.template, request.entry_point), parser))
    if isinstance(found, Failure):
        return _weightiest([found, _cut_off(cut)]) if cut else found
    key = program_hash(found.source, found.tree)  # this changes the tree, which is not used afterwards
    if not request.thought:
        return Program(found.source, "", key)
    prose = prose_around(said, parts) if parts else _CODE_BEGINS.split(said, maxsplit=1)[0]
    return Program(found.source, thought_in(prose), key)


def _found(said: str, parts: Sequence[Block], wanted: _Wanted) -> Parsed | Failure:
    """Return the program in an answer that has these blocks, or why there is none."""
    readings = _read_blocks(parts[-_BLOCKS_READ:], wanted)
    if not any(isinstance(reading, Parsed) and callables(reading.tree.body) for reading in readings):
        readings += _read_prose(outside(said, parts), wanted)
    return _chosen(readings, wanted) if readings else _nothing(said)


@cache
def _template(source: str, entry_point: str) -> tuple[EntryPoint, Definitions]:
    """Return the template's entry point and all its definitions; raises TaskError if it lacks the entry point."""
    tree = ast.parse(source)
    arguments = callables(tree.body).get(entry_point)
    if not isinstance(arguments, ast.arguments):
        raise TaskError(f"the template does not define the entry point {entry_point!r} as a plain function")
    return EntryPoint(entry_point, arguments), Definitions.of(tree)


def _read_blocks(parts: Sequence[Block], wanted: _Wanted) -> list[Parsed | Failure]:
    """Read each block as a program. If the last one breaks off inside the entry point, earlier blocks are ignored."""
    readings = [_read(block, wanted.parser) for block in parts]
    begun = parts and not parts[-1].closed and f"def {wanted.entry.name}" in parts[-1].code
    return readings[-1:] if begun and isinstance(readings[-1], Failure) else readings


def _read(block: Block, parser: Parser) -> Parsed | Failure:
    """Read a block as a program. Text after the last function is dropped if it holds no function."""
    try:
        program = parser.parse_beginning(block.code, _BEGINNINGS_TRIED[block.closed])
        if program.rest and not 0 < _functions(program.source) == _functions(block.code):
            return _syntax(program.rest)
        return program
    except SyntaxError as error:
        return _syntax(error)


def _functions(code: str) -> int:
    return sum(1 for _ in _FUNCTION.finditer(code))


def _read_prose(text: str, wanted: _Wanted) -> list[Parsed | Failure]:
    """Read the program of a reply without fences: from the first line of code from which the entry point is defined."""
    text = textwrap.dedent(text)
    readings: list[Parsed | Failure] = []
    for match in islice(_CODE_BEGINS.finditer(text), _STARTS_TRIED):
        reading = _read(Block(text[match.start() :], closed=False), wanted.parser)
        if isinstance(reading, Parsed) and wanted.entry.name in callables(reading.tree.body):
            return [reading]
        readings.append(reading)
    with_function = [each for each in readings if isinstance(each, Parsed) and callables(each.tree.body)]
    return [*(with_function or readings)[:1]]


def _chosen(readings: Sequence[Parsed | Failure], wanted: _Wanted) -> Parsed | Failure:
    """Return the last reading that defines the entry point, or the first reason in REASONS why none does."""
    programs = [reading for reading in reversed(readings) if isinstance(reading, Parsed)]
    unread = [reading for reading in reversed(readings) if isinstance(reading, Failure)]
    failures: list[Failure] = []
    for program in programs:
        try:
            failure = wanted.entry.failure(program.tree)
            if failure is None:
                return _supplied(program, programs, wanted)
        except SyntaxError as error:
            failure = _syntax(error)
        failures.append(failure)
    return _weightiest([*failures, *unread])


def _supplied(program: Parsed, programs: Sequence[Parsed], wanted: _Wanted) -> Parsed:
    """Add what a program lacks: from the nearest other block, else the template, else the usual imports."""
    donors = [*(other.definitions for other in programs), wanted.template, offered()]
    lacking = program.names - program.definitions.places.keys()  # some may be local names: `completed` tells
    if all(lacking.isdisjoint(donor.places) for donor in donors):
        return program
    source = completed(program.source, donors, wanted.parser.spend)
    return program if source == program.source else wanted.parser.parse(source)


def _nothing(said: str) -> Failure:
    """Return why a reply has no code."""
    if not said.strip():
        return Failure("empty", "the reply has no text")
    words = " ".join(said[:_SAID].split())
    if _REFUSAL.search(words):
        return Failure("refusal", f"the model declined: {words}"[:500])
    return Failure("no-function", f"the reply has no code: {words}"[:500])


def _cut_off(cut: Interruption) -> Failure:
    if cut == "refusal":
        return Failure("refusal", "the endpoint's content filter ended the reply")
    return Failure("truncated", "the reply was cut off at its limit of tokens, before its program was whole")


def _syntax(error: SyntaxError) -> Failure:
    if isinstance(error, TooLong | TooComplex):
        return Failure("too-long" if isinstance(error, TooLong) else "too-complex", str(error))
    line = f"line {error.lineno}: " if error.lineno else ""
    text = f": {error.text.strip()}" if error.text else ""
    return Failure("syntax", f"{line}{error.msg}{text}"[:500])


def _weightiest(failures: Sequence[Failure]) -> Failure:
    return min(failures, key=lambda failure: _WEIGHT[failure.reason])
