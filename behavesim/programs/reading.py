"""The rules for finding the program in a model's reply, or the reason why there is none."""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from behavesim.base.errors import TaskError
from behavesim.programs.answer import (
    BLOCKS_READ,
    Block,
    Interruption,
    answer,
    blocks,
    interruption,
    outside,
    prose_around,
    thought_in,
    tidy,
)
from behavesim.programs.functions import EntryPoint, callables, functions_in, rename_function, with_docstrings
from behavesim.programs.parsing import (
    Parsed,
    Parser,
    TooComplex,
    TooLong,
    imports_in,
    program_hash,
    usual_imports,
    with_imports,
)
from behavesim.task.verdict import Failure

# Why `FunctionForm.read` finds no program. Of several reasons, the one that comes first here is given.
REASONS = ("signature", "truncated", "too-complex", "too-long", "syntax", "no-function", "refusal", "empty")

_REFUSAL = re.compile(
    r"\b(?:sorry|apologi[sz]e|as an ai|i(?:['’]m| am)? (?:can['’]?t|cannot|won['’]?t|will not|unable|not able))\b",
    re.IGNORECASE,
)
# a line that begins as code does and as prose rarely does: an import, decorator, definition, class or assignment
_CODE_BEGINS = re.compile(
    r"^(?:from [\w.]+ import\b|import [\w.]+(?: as \w+)?(?:,.*)?$|@\w|(?:async )?def \w+ *\(|class \w+ *[(:]"
    r"|\w+ *(?::[^=\n]+)?=[^=])",
    re.MULTILINE,
)
_FUNCTION = re.compile(r"\bdef \w+ *\(|\blambda\b")
# Most beginnings of a block that are tried, by whether its closing fence came. An open one may end in prose.
_BEGINNINGS_TRIED = {True: 2, False: 20}
# Characters at the start of a reply without code in which a refusal is looked for.
_SAID = 10_000
# Most characters of a reply, about 125 000 tokens; nothing of a longer reply is read, it fails as `too-long`.
LONGEST_REPLY = 500_000


@dataclass(frozen=True)
class Program:
    """A program taken from a reply: a function that compiles, or a whole text (see `WholeForm`) in any language.

    `thought` is the model's sentence about it, '' if none was asked for or found. `hash` is its `program_hash`.
    """

    source: str
    thought: str
    hash: str


@dataclass(frozen=True)
class Request:
    """The text of a reply to be read, and what is needed for that.

    `base` is the program that edits apply to. `finish_reason` is the endpoint's word for why the reply ended. `thought`
    says whether to look for a sentence about the program. `is_own` says that a person wrote it: nothing is removed.
    """

    text: str
    base: str = ""
    finish_reason: str | None = None
    thought: bool = False
    is_own: bool = False


@dataclass(frozen=True)
class _Wanted:
    """The entry point that the task needs, imports that a program gets, by name, and the parser of the reply."""

    entry: EntryPoint
    imports: Mapping[str, str]
    parser: Parser
    is_own: bool
    is_whole: bool


@dataclass(frozen=True)
class FunctionForm:
    """Programs that define the function `entry_point` so that it can be called as the one in `template`."""

    template: str
    entry_point: str

    def read(self, request: Request, has_limits: bool) -> Program | Failure:
        """Return the program of a reply, or a Failure whose reason is one of REASONS, by these rules in this order.

        1. What the model thought aloud is removed, and code is taken out of JSON (see `answer`).
        2. A reply that was cut off before any block or within its last one is `truncated`, or `refusal` if a content
           filter cut it off. If it was cut off later, that is one more reason if no program is found.
        3. Each fenced block is read; a closing fence behind code on the same line is part of the code (see `blocks`).
           If it is no Python, it is read once more without invisible characters and special tokens. If no block has a
           function, the text outside is read from its first line of code.
        4. The program is the last block that defines the entry point with the right arguments. If the last block is
           left open, begins the entry point and cannot be parsed, no other block counts.
           If all blocks define one function, of another name and with the template's parameters, the last gets the
           name, unless the reply was cut off or a person wrote it. Blocks without a function, such as a command for a
           shell, do not count.
        5. Imports for names that it uses and does not define come from the template, else from OFFERED.

        Only the last BLOCKS_READ blocks are read. A reply of more than LONGEST_REPLY characters is `too-long`.
        `has_limits` says whether this process has limits of time and memory. Raises NeedsLimits if it has none and a
        block is costly to parse, TaskError if the template does not define the entry point.
        """
        cut = interruption(request.finish_reason)
        said = answer_in(request, self.template)
        if isinstance(said, Failure):
            return said
        parts = blocks(said)
        if cut and not (parts and parts[-1].closed):
            return truncation_failure(cut)
        imports, parser = usual_imports(self.template), Parser(has_limits)
        wanted = _Wanted(_entry_point(self), imports, parser, request.is_own, is_whole=cut is None)
        with warnings.catch_warnings(action="ignore"):  # else a candidate's "\d" would print one on the console
            found = _read_function(said, parts, wanted)
        if isinstance(found, Failure):
            return _weightiest([found, truncation_failure(cut)]) if cut else found
        key = program_hash(found.source, found.tree)
        if not request.thought:
            return Program(found.source, "", key)
        prose = prose_around(said, parts) if parts else _CODE_BEGINS.split(said, maxsplit=1)[0]
        return Program(found.source, thought_in(prose), key)

    def hash(self, source: str) -> str:
        """Return the `program_hash` of a program."""
        return program_hash(source)


def _read_function(said: str, parts: Sequence[Block], wanted: _Wanted) -> Parsed | Failure:
    readings = _read_blocks(parts[-BLOCKS_READ:], wanted)
    if not any(isinstance(reading, Parsed) and callables(reading.tree) for reading in readings):
        readings += _read_prose(outside(said, parts), wanted.parser)
    if readings:
        return _choose_reading(readings, wanted)
    if not said.strip():
        return Failure("empty", "the reply has no text")
    return no_program(said, "no-function", "the reply has no code")


@cache
def _entry_point(form: FunctionForm) -> EntryPoint:
    function = functions_in(form.template).get(form.entry_point)
    if function is None:
        raise TaskError(f"the template does not define the entry point {form.entry_point!r} as a plain function")
    return EntryPoint(form.entry_point, function.args)


def _read_blocks(parts: Sequence[Block], wanted: _Wanted) -> list[Parsed | Failure]:
    readings = [_read_tidied(block, wanted) for block in parts]
    begun = parts and not parts[-1].closed and f"def {wanted.entry.name}" in parts[-1].code
    # a draft must not stand for the program that the model did not finish
    if begun and isinstance(readings[-1], Failure):
        return readings[-1:]
    if not any(isinstance(each, Parsed) and callables(each.tree) for each in readings):
        return readings
    # beside a function, a command for a shell is no program that could not be read
    return [
        each for each, part in zip(readings, parts, strict=True) if isinstance(each, Parsed) or _functions(part.code)
    ]


def _read_tidied(block: Block, wanted: _Wanted) -> Parsed | Failure:
    """Return what `_read` finds in a model's block or, if that is a Failure, in the same code made tidy."""
    # second, so that every character of a string stays where Python takes it
    found = _read(block, wanted.parser)
    code = block.code if wanted.is_own or isinstance(found, Parsed) else tidy(block.code)
    again = found if code == block.code else _read(replace(block, code=code), wanted.parser)
    return again if isinstance(again, Parsed) else found


def _read(block: Block, parser: Parser) -> Parsed | Failure:
    """Return the program at the beginning of a block; a Failure if there is none."""
    try:
        program = parser.parse_beginning(block.code, _BEGINNINGS_TRIED[block.closed])
        # what follows the last function may be prose, and is left out
        if program.rest and not 0 < _functions(program.source) == _functions(block.code):
            return syntax_failure(program.rest)
        return program
    except SyntaxError as error:
        return syntax_failure(error)


def _functions(code: str) -> int:
    return len(_FUNCTION.findall(code))


def _read_prose(text: str, parser: Parser) -> list[Parsed | Failure]:
    """Return a list of what is read from the first line of a text that begins as code does; empty if none does."""
    text = textwrap.dedent(text)
    begin = _CODE_BEGINS.search(text)
    return [_read(Block(text[begin.start() :], closed=False), parser)] if begin else []


def _choose_reading(readings: Sequence[Parsed | Failure], wanted: _Wanted) -> Parsed | Failure:
    """Return the last of the readings that has the entry point, with the imports that it lacks; else a failure."""
    programs = [reading for reading in reversed(readings) if isinstance(reading, Parsed)]
    unread = [reading for reading in reversed(readings) if isinstance(reading, Failure)]
    failures: list[Failure] = []
    for program in programs:
        try:
            failure = wanted.entry.failure(program.tree)
            if failure is None:
                return _with_imports(program, wanted)
        except SyntaxError as error:
            failure = syntax_failure(error)
        failures.append(failure)
    defining = [program for program in programs if callables(program.tree)]
    # small models name it as they like; it is clear what they mean where nothing else can be meant
    names = {tuple(callables(each.tree)) for each in defining}
    if len(names) == 1 and not unread and wanted.is_whole and not wanted.is_own:
        source = rename_function(defining[0].source, defining[0].tree, wanted.entry)
        try:
            return _with_imports(wanted.parser.parse(source), wanted) if source else _weightiest(failures)
        except SyntaxError as error:  # it is too long with the name or the imports
            return syntax_failure(error)
    return _weightiest([*failures, *unread])


def _with_imports(program: Parsed, wanted: _Wanted) -> Parsed:
    usual = wanted.imports
    lacking = program.names & usual.keys() - imports_in(program.tree.body).keys()
    if not lacking:  # most programs: to find the missing names takes longer
        return program
    source = with_imports(program.source, usual)
    return program if source == program.source else wanted.parser.parse(source)


def no_program(said: str, reason: str, why: str) -> Failure:
    """Return the failure of an answer without a program: `refusal` if the model declines, else `reason` with `why`."""
    words = " ".join(said[:_SAID].split())
    if _REFUSAL.search(words):
        return Failure("refusal", f"the model declined: {words}"[:500])
    return Failure(reason, f"{why}: {words}"[:500])


def answer_in(request: Request, template: str) -> str | Failure:
    """Return the answer in a reply, or Failure "too-long"; the text of a person's program is its own answer.

    It has the docstrings of the first program, `template`, in place of the short ones that prompts show.
    """
    if len(request.text) > LONGEST_REPLY:
        return Failure("too-long", f"the reply has {len(request.text)} characters; at most {LONGEST_REPLY} are read")
    if request.is_own:
        return request.text
    return with_docstrings(answer(request.text, is_whole=interruption(request.finish_reason) is None), template)


def truncation_failure(cut: Interruption) -> Failure:
    """Return the failure of a reply that broke off before its program was whole."""
    if cut == "refusal":
        return Failure("refusal", "the endpoint's content filter ended the reply")
    return Failure("truncated", "the reply was cut off at its limit of tokens, before its program was whole")


def syntax_failure(error: SyntaxError) -> Failure:
    """Return the failure that a parser's error stands for: `syntax` with its line, `too-long` or `too-complex`."""
    if isinstance(error, TooLong | TooComplex):
        return Failure("too-long" if isinstance(error, TooLong) else "too-complex", str(error))
    line = f"line {error.lineno}: " if error.lineno else ""
    text = f": {error.text.strip()}" if error.text else ""
    return Failure("syntax", f"{line}{error.msg}{text}"[:500])


def _weightiest(failures: Sequence[Failure]) -> Failure:
    return min(failures, key=lambda failure: REASONS.index(failure.reason))
