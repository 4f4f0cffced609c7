"""The rules for reading a program that is a whole text, in any language: in full, or as edits of one that was shown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from behavesim.programs.answer import answer, interruption
from behavesim.programs.edits import applied, edits_in, first_edit
from behavesim.programs.evolve_blocks import Frame
from behavesim.programs.fences import Block, blocks
from behavesim.programs.hashing import program_hash
from behavesim.programs.parsing import LONGEST_PROGRAM, Parser
from behavesim.programs.reading import LONGEST_REPLY, Program, cut_off, declines, syntax_failure
from behavesim.programs.thought import prose_around, thought_in
from behavesim.task.evaluated import Edits
from behavesim.task.files import joined, separated
from behavesim.task.verdict import Failure

_HEADER = "=== file: "
_BLOCKS_READ = 100
"""Most blocks of a reply that are read, counted from its end: hostile replies have thousands."""
_ROOM = 2
"""A program may be this many times as long as the first one, if that is more than LONGEST_PROGRAM."""


@dataclass(frozen=True)
class WholeRequest:
    """The text of a reply, and what to look for in it: a program in the form of `initial`, the first program.

    `base` is the program that edits apply to, `suffix` names the language of a program of one file. `edits` is the form
    that was asked for. `finish_reason` is the endpoint's word for why the reply ended, None if it gave none. `thought`
    says whether to look for the model's sentence about the program too.
    """

    text: str
    base: str
    initial: str
    suffix: str = ".py"
    edits: Edits = "full"
    finish_reason: str | None = None
    thought: bool = False

    @property
    def longest(self) -> int:
        """Most characters of a program: LONGEST_PROGRAM, or twice the length of `initial` if that is more."""
        return max(LONGEST_PROGRAM, _ROOM * len(self.initial))


def read_whole(request: WholeRequest, parser: Parser) -> Program | Failure:
    """Return the program of a reply, or a Failure, by these rules in this order.

    1. What the model thought aloud is removed, and code is taken out of JSON.
    2. If edits are asked for and there are any, they are applied to `base`.
    3. Else the program is the last fenced block with all EVOLVE-BLOCK markers; of a program without markers, the last
       block that is at least half as long as the longest. Several files are taken from all blocks that name one.
       Without blocks, the answer itself counts if it is Python, has markers or names files.
    4. Text outside the markers is the first program's. Files that a reply does not name stay as they are.

    Reasons are "too-long", "truncated", "refusal", "empty", "edit" (one does not fit), "outside" (other markers, or
    other text outside of them), "syntax" and "too-complex". Raises NeedsLimits if the parser has no limits and Python
    text is costly to parse.
    """
    if len(request.text) > LONGEST_REPLY:
        return Failure("too-long", f"the reply has {len(request.text)} characters; at most {LONGEST_REPLY} are read")
    cut = interruption(request.finish_reason)
    said = answer(request.text, is_whole=cut is None)
    parts = blocks(said)
    edits = edits_in(said) if request.edits == "diff" else []
    if cut and (edits or not (parts and parts[-1].closed)):
        return cut_off(cut)
    if isinstance(edits, Failure):
        return edits
    found = applied(edits, request.base) if edits else _rewritten(said, parts, request, parser)
    if isinstance(found, str):
        found = in_plain_form(found, request.initial)
    if isinstance(found, Failure):
        return found
    if (refused := refusal(found, request, parser)) is not None:
        return refused
    return Program(
        found, _thought(said, parts, bool(edits)) if request.thought else "", whole_hash(found, request.suffix)
    )


def whole_hash(source: str, suffix: str) -> str:
    """Return 32 hexadecimal digits: `program_hash` for the suffix ".py", else a hash of the text.

    Trailing whitespace of the lines and of the text does not count. A program of several files, whose `suffix` is "",
    is hashed as text.
    """
    if suffix == ".py":
        return program_hash(source)
    text = "\n".join(line.rstrip() for line in source.split("\n")).rstrip()
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]


def completed(initial: str, code: str) -> str | Failure:
    """Return the program that results from a model's code: the code's text within the blocks, all else as in `initial`.

    Of several files, those that the code does not name stay as they are. Failures are "empty" (no file is named),
    "edit" (a path is faulty) and "outside" (the markers differ).
    """
    first = separated(initial)
    if "" in first:
        files = {"": code.rstrip() + "\n"}
    else:
        try:
            files = separated(code)
        except ValueError as error:
            return Failure("edit", str(error)[:500])
        if "" in files:
            return Failure("empty", "the reply names no file; begin each with a line `=== file: path ===`")
    for path, body in files.items():
        text = Frame.of(first.get(path, "")).completed(body)
        if text is None:
            where = f" of {path}" if path else ""
            return Failure("outside", f"the EVOLVE-BLOCK markers{where} differ from the program's; keep each of them")
        files[path] = text
    return files[""] if "" in files else _joined({**first, **files})


def _joined(files: Mapping[str, str]) -> str | Failure:
    """Return files as one text; Failure "edit" if that cannot be read back."""
    try:
        return joined(files)
    except ValueError as error:
        return Failure("edit", str(error)[:500])


def in_plain_form(source: str, initial: str) -> str | Failure:
    """Return a program of several files with their paths in plain form, any other as it is.

    Failures are "edit" for a faulty path, and "outside" if one of both programs is a single file and the other is not.
    """
    try:
        files = separated(source)
        if ("" in files) != ("" in separated(initial)):
            return Failure("outside", "the program is one file if the first one is; leave lines `=== file: … ===` out")
    except ValueError as error:
        return Failure("edit", str(error)[:500])
    return source if "" in files else _joined(files)


def refusal(source: str, request: WholeRequest, parser: Parser) -> Failure | None:
    """Return why a program in plain form cannot be evaluated; None if it can. Its text is checked, it does not run.

    Reasons are "too-long", "syntax", "too-complex", and "outside" for changed text outside the markers or a missing
    file. Raises NeedsLimits as `read_whole` does.
    """
    if len(source) > request.longest:
        return Failure("too-long", f"the program has {len(source)} characters; at most {request.longest} are taken")
    if "\0" in source or any("\ud800" <= character <= "\udfff" for character in source):
        return Failure("syntax", "the program has characters that cannot stand in a text file")
    given, wanted = separated(source), separated(request.initial)
    for path, initial in wanted.items():
        frame = Frame.of(initial)
        if path not in given or (len(frame.fixed) > 1 and frame.blocks_of(given[path]) is None):
            where = f" of {path}" if path else ""
            return Failure("outside", f"the text outside the EVOLVE-BLOCK markers{where} must stay as it is")
    for path, body in given.items():
        if (path or request.suffix).endswith(".py") and (failure := _syntax(body, parser)):
            message = f"{path}: {failure.message}" if path else failure.message
            return Failure(failure.reason, message[:500])
    return None


def _syntax(source: str, parser: Parser) -> Failure | None:
    """Return why a text does not parse and compile as Python; None if it does. Raises NeedsLimits."""
    try:
        parser.parse(source)
    except SyntaxError as error:
        return syntax_failure(error)
    return None


def _rewritten(said: str, parts: Sequence[Block], request: WholeRequest, parser: Parser) -> str | Failure:
    """Return the program that an answer with the blocks `parts` has in full (rule 3 of `read_whole`), or why not."""
    codes = [part.code for part in parts[-_BLOCKS_READ:] if part.code.strip()]
    if "" not in separated(request.initial):
        return _files(codes or [said], request.initial)
    has_markers = len(Frame.of(request.initial).fixed) > 1
    marked = [code for code in (*codes, said) if "EVOLVE-BLOCK-START" in code]
    if has_markers and marked:
        # the whole answer too: a fence inside the program may have ended its block too early
        tried = [completed(request.initial, code) for code in (*reversed(marked[:-1]), marked[-1])]
        return next((found for found in tried if isinstance(found, str)), tried[0])
    if not codes and _is_bare_code(said, request.suffix, parser):
        codes = [said]
    if not codes:
        return _nothing(said)
    longest = max(map(len, codes))
    return completed(request.initial, next(code for code in reversed(codes) if 2 * len(code) >= longest))


def _files(codes: Sequence[str], initial: str) -> str | Failure:
    """Return the first program with the files that blocks name, each as named last; a Failure if none is named."""
    changed: dict[str, str] = {}
    for code in codes:
        if _HEADER in code:
            try:
                found: Mapping[str, str] = separated(f"{code.strip()}\n")
            except ValueError as error:
                return Failure("edit", str(error)[:500])
            changed |= {path: body for path, body in found.items() if path}
    if not changed:
        return Failure("empty", "the reply names no file; begin each with a line `=== file: path ===`")
    text = _joined(changed)
    return completed(initial, text) if isinstance(text, str) else text


def _is_bare_code(said: str, suffix: str, parser: Parser) -> bool:
    """Whether an answer without fenced blocks is Python code: it has a statement that is more than a word."""
    if suffix != ".py" or not re.search(r"^(?:def|class|import|from|for|while|\w+ *=)\b", said, re.MULTILINE):
        return False
    return _syntax(said, parser) is None


def _nothing(said: str) -> Failure:
    words = " ".join(said[:1000].split())
    if declines(words):
        return Failure("refusal", f"the model declined: {words}"[:500])
    return Failure("empty", f"the reply holds no program in a fenced block: {words}"[:500])


def _thought(said: str, parts: Sequence[Block], is_edited: bool) -> str:
    """Return the model's sentence about its program: the text before the code, or else after it; '' if none."""
    begin = first_edit(said) if is_edited else 0
    if is_edited and (not parts or begin < parts[0].begin):
        return thought_in("\n".join(said.split("\n")[:begin]))
    return thought_in(prose_around(said, parts)) if parts else ""
