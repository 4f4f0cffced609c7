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

from behavesim.base.errors import TaskError
from behavesim.programs.answer import Interruption, answer, interruption
from behavesim.programs.definitions import Definitions
from behavesim.programs.entry import EntryPoint
from behavesim.programs.fences import Block, blocks, outside
from behavesim.programs.hashing import program_hash
from behavesim.programs.parsing import Parsed, TooLong, parse, parse_beginning
from behavesim.programs.signatures import callables
from behavesim.programs.supplies import completed, offered
from behavesim.programs.thought import prose_around, thought_in
from behavesim.state.verdict import Failure

Reason = Literal["signature", "truncated", "too-long", "syntax", "no-function", "refusal", "empty"]
"""Why a reply holds no program; where its blocks fail for several reasons, the first of these is given."""

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
"""How often a block, closed or not, is cut short where it ends to be a program."""
_BLOCKS_READ = 100
_SAID = 10_000
LONGEST_REPLY = 500_000
"""Characters of a reply that is read, some 125 000 tokens: each pass over it holds up the whole process."""


@dataclass(frozen=True)
class Program:
    """A program taken from a reply: it compiles and defines the entry point.

    `thought` is EoH's sentence about it, `hash` what it shares with its twins (`hashing.program_hash`).
    """

    source: str
    thought: str
    hash: str


@dataclass(frozen=True)
class _Wanted:
    """What the task asks for, and what it shows."""

    entry: EntryPoint
    template: Definitions


def extract(
    text: str, template_source: str, entry_point: str, finish_reason: str | None = None, thought: bool = False
) -> Program | Failure:
    """The program that a reply ends up with, by these rules in their order.

    1. What the model thinks aloud is set aside, and code is taken out of JSON.
    2. Each fenced block is read; without any, the text from the line on that begins a program.
    3. A reply that was cut off within its last block, or outside of any, is `truncated`.
    4. The last block counts that defines the entry point with the right arguments.
    5. What a program uses and does not define comes from the other blocks, the template and the usual imports.

    Of a reply with more than a hundred blocks the last hundred are
    read, of one with more than 500 000 characters nothing is. The reason of a Failure is one of REASONS.
    """
    if len(text) > LONGEST_REPLY:
        return Failure("too-long", f"the reply has {len(text)} characters; at most {LONGEST_REPLY} are read")
    cut = interruption(finish_reason)
    said = answer(text, is_whole=cut is None)
    parts = blocks(said)
    if cut and not (parts and parts[-1].closed):
        return _cut_off(cut)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a candidate writes "\d" is no business of the console
        wanted = _wanted(template_source, entry_point)
        readings = _read_blocks(parts[-_BLOCKS_READ:], wanted)
        if not any(isinstance(reading, Parsed) and callables(reading.tree.body) for reading in readings):
            readings += _read_prose(outside(said, parts), wanted)
        found = _chosen(readings, wanted) if readings else _nothing(said)
    if isinstance(found, Failure):
        return _weightiest([found, _cut_off(cut)]) if cut else found
    key = program_hash(found.source, found.tree)  # the tree is of no more use to anybody
    if not thought:
        return Program(found.source, "", key)
    prose = prose_around(said, parts) if parts else _CODE_BEGINS.split(said, maxsplit=1)[0]
    return Program(found.source, thought_in(prose), key)


@cache
def _wanted(template_source: str, entry_point: str) -> _Wanted:
    tree = ast.parse(template_source)
    arguments = callables(tree.body).get(entry_point)
    if not isinstance(arguments, ast.arguments):
        raise TaskError(f"the template does not define the entry point {entry_point!r} as a plain function")
    return _Wanted(EntryPoint(entry_point, arguments), Definitions.of(tree))


def _read_blocks(parts: Sequence[Block], wanted: _Wanted) -> list[Parsed | Failure]:
    """Each block as a program; of a last one left open in the midst of the entry point, no draft before it is taken."""
    readings = [_read(block) for block in parts]
    begun = parts and not parts[-1].closed and f"def {wanted.entry.name}" in parts[-1].code
    return readings[-1:] if begun and isinstance(readings[-1], Failure) else readings


def _read(block: Block) -> Parsed | Failure:
    """A block as a program; prose behind its functions is left out, and no function with it."""
    try:
        program = parse_beginning(block.code, _BEGINNINGS_TRIED[block.closed])
        if program.rest and not 0 < _functions(program.source) == _functions(block.code):
            return _syntax(program.rest)
        return program
    except SyntaxError as error:
        return _syntax(error)


def _functions(code: str) -> int:
    return sum(1 for _ in _FUNCTION.finditer(code))


def _read_prose(text: str, wanted: _Wanted) -> list[Parsed | Failure]:
    """The program of a reply without fences, if any: read from the first line from which the entry point is reached."""
    text = textwrap.dedent(text)
    starts = [text[match.start() :] for match in islice(_CODE_BEGINS.finditer(text), _STARTS_TRIED)]
    readings = [_read(Block(code, closed=False)) for code in starts]
    programs = [reading for reading in readings if isinstance(reading, Parsed)]
    complete = [program for program in programs if wanted.entry.name in callables(program.tree.body)]
    with_function = [program for program in programs if callables(program.tree.body)]
    return [*(complete or with_function or readings)[:1]]


def _chosen(readings: Sequence[Parsed | Failure], wanted: _Wanted) -> Parsed | Failure:
    """The last reading that defines the entry point, or the weightiest reason why none does."""
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
    """A program with what it lacks: from the nearest other block that has it, the template, the usual imports."""
    donors = [*(other.definitions for other in programs), wanted.template, offered()]
    lacking = program.names - program.definitions.places.keys()  # or a local name: only a closer look tells
    if all(lacking.isdisjoint(donor.places) for donor in donors):
        return program
    source = completed(program.source, donors)
    return program if source == program.source else parse(source)


def _nothing(said: str) -> Failure:
    """Why a reply without any code has none."""
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
    if isinstance(error, TooLong):
        return Failure("too-long", str(error))
    line = f"line {error.lineno}: " if error.lineno else ""
    text = f": {error.text.strip()}" if error.text else ""
    return Failure("syntax", f"{line}{error.msg}{text}"[:500])


def _weightiest(failures: Sequence[Failure]) -> Failure:
    return min(failures, key=lambda failure: _WEIGHT[failure.reason])
