"""Extracts the program from a model's reply, or the reason why there is none, within limits of time and memory.

A reply that may be costly to read is read in a process of its own, which runs this module.
"""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from behavesim.base.errors import BehavesimError, TaskError
from behavesim.base.plugins import python_path
from behavesim.programs.answer import BLOCKS_READ, Block, blocks, interruption, prose_around, thought_in, tidy
from behavesim.programs.edits import Frame, apply_edits, edits_in, first_edit
from behavesim.programs.parsing import LONGEST_PROGRAM, NeedsLimits, Parser, program_hash, text_hash
from behavesim.programs.reading import (
    FunctionForm,
    Program,
    Request,
    answer_in,
    no_program,
    syntax_failure,
    truncation_failure,
)
from behavesim.task import Task
from behavesim.task.evaluated import Edits, EvaluatorTask, join_files, refuse_path, separate_files
from behavesim.task.verdict import Failure

_HEADER = "=== file: "
_NO_FILE = Failure("empty", "the reply names no file; begin each with a line `=== file: path ===`")
# A program may be this many times as long as the first one, if that is more than LONGEST_PROGRAM.
_ROOM = 2


@dataclass(frozen=True)
class WholeForm:
    """Programs that are whole texts: `initial` is the one that the search starts from, `suffix` names its language.

    The suffix is "" for several files. A model writes a program in full or as `edits`. Text outside EVOLVE-BLOCK
    markers of `initial` stays byte for byte. Of a repository's program, `show` and `kept` say which files may be added
    to those of `initial` (`refuse_path`).
    """

    initial: str
    suffix: str = ".py"
    edits: Edits = "full"
    show: Sequence[str] = ()
    kept: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Raise TaskError if the first program's markers are not in pairs, or its files have faulty paths."""
        try:
            for text in separate_files(self.initial).values():
                Frame.of(text)
        except ValueError as error:
            raise TaskError(f"the first program cannot be taken: {error}") from None

    def read(self, request: Request, has_limits: bool) -> Program | Failure:
        """Return the program of a reply, or a Failure, by these rules in this order.

        1. What the model thought aloud is removed, and code is taken out of JSON. A reply that was cut off is
           `truncated`, or `refusal` by a content filter, if it has edits, no block or an open last one.
        2. If edits are asked for and there are any, they are applied to `base`.
        3. Else the program is the last fenced block with all EVOLVE-BLOCK markers; if the answer has none, the last
           block that is at least half as long as the longest. Several files are taken from all blocks that name one.
           The answer itself counts if it has the markers and no block has, or if it has no block and is Python or
           names files.
        4. Text outside the markers is the first program's. Files that a reply does not name stay as they are there,
           or in `base` for edits.

        Reasons are "too-long", "truncated", "refusal", "empty", "edit" (one is faulty or does not fit, or a path is
        faulty), "outside" (other markers, other text outside of them, or a missing file), "syntax" and "too-complex".
        `has_limits` says whether this process has limits of time and memory. Raises NeedsLimits if it has none and
        Python text is costly to parse.
        """
        cut = interruption(request.finish_reason)
        said = answer_in(request, self.initial)
        if isinstance(said, Failure):
            return said
        parts = blocks(said)
        edits = edits_in(said) if self.edits == "diff" and not request.is_own else []
        if cut and (edits or not (parts and parts[-1].closed)):
            return truncation_failure(cut)
        if isinstance(edits, Failure):
            return edits
        parser = Parser(has_limits, self._longest)
        found = apply_edits(edits, request.base) if edits else self._rewrite(said, parts, parser)
        if isinstance(found, str):
            found = _in_plain_form(found, self.initial)
        if isinstance(found, str):
            failure = self._failure_of(found, parser)
            if failure and failure.reason == "syntax" and not request.is_own:
                # spaces that Python refuses do no harm; in what it takes, every character of a string stays
                failure = None if self._failure_of(tidy(found), parser) is None else failure
                found = tidy(found)
            found = failure or found
        if isinstance(found, Failure):
            return found
        return Program(found, _thought(said, parts, bool(edits)) if request.thought else "", self.hash(found))

    def hash(self, source: str) -> str:
        """Return the `program_hash` of Python, else the `text_hash`."""
        return program_hash(source) if self.suffix == ".py" else text_hash(source)

    def failure_of(self, source: str) -> Failure | None:
        """Return why a person's program cannot be evaluated; None if it can. Its text is checked, it does not run."""
        plain = _in_plain_form(source, self.initial)
        # with limits: a person's own program may take as long as it does
        return plain if isinstance(plain, Failure) else self._failure_of(plain, Parser(True, self._longest))

    @property
    def _longest(self) -> int:
        return max(LONGEST_PROGRAM, _ROOM * len(self.initial))

    def _failure_of(self, source: str, parser: Parser) -> Failure | None:
        """Return why a program in plain form cannot be evaluated; None if it can."""
        if len(source) > self._longest:
            return Failure("too-long", f"the program has {len(source)} characters; at most {self._longest} are taken")
        if "\0" in source or any("\ud800" <= character <= "\udfff" for character in source):
            return Failure("syntax", "the program has characters that cannot stand in a text file")
        given, wanted = separate_files(source), separate_files(self.initial)
        for path, initial in wanted.items():
            frame = Frame.of(initial)
            if path not in given or (frame.has_blocks and frame.blocks_of(given[path]) is None):
                where = f" of {path}" if path else ""
                return Failure("outside", f"the text outside the EVOLVE-BLOCK markers{where} must stay as it is")
        for path in given.keys() - wanted.keys() if self.show else ():
            if why := refuse_path(path, self.show, self.kept):
                return Failure("outside", why)
        for path, body in given.items():
            if (path or self.suffix).endswith(".py") and (failure := _syntax(body, parser)):
                message = f"{path}: {failure.message}" if path else failure.message
                return Failure(failure.reason, message[:500])
        return None

    def _rewrite(self, said: str, parts: Sequence[Block], parser: Parser) -> str | Failure:
        """Return the program that an answer with the blocks `parts` has in full (rule 3 of `read`), or why not."""
        codes = [part.code for part in parts[-BLOCKS_READ:] if part.code.strip()]
        if "" not in separate_files(self.initial):
            return _files(codes or [said], self.initial)
        has_markers = Frame.of(self.initial).has_blocks
        marked = [code for code in (*codes, said) if "EVOLVE-BLOCK-START" in code]
        if has_markers and marked:
            # the whole answer too: a fence inside the program may have ended its block too early
            tried = [complete_program(self.initial, code) for code in (*reversed(marked[:-1]), marked[-1])]
            return next((found for found in tried if isinstance(found, str)), tried[0])
        if not codes and self.suffix == ".py" and _is_bare_code(said, parser):
            codes = [said]
        if not codes:
            return no_program(said, "empty", "the reply holds no program in a fenced block")
        longest = max(map(len, codes))
        return complete_program(self.initial, next(code for code in reversed(codes) if 2 * len(code) >= longest))


def complete_program(initial: str, code: str) -> str | Failure:
    """Return the program of a model's code: the code's text within the blocks, all else as in `initial`.

    Failures are "empty" (no file is named), "edit" (a path is faulty) and "outside" (the markers differ).
    """
    first = separate_files(initial)
    if "" in first:
        return _fill_files(first, {"": code.rstrip() + "\n"})
    try:
        files = separate_files(code)
    except ValueError as error:
        return Failure("edit", str(error)[:500])
    return _NO_FILE if "" in files else _fill_files(first, files)


def _fill_files(first: Mapping[str, str], files: Mapping[str, str]) -> str | Failure:
    """Return the program of the files `first`, with `files`, completed by their frames, in place of their namesakes."""
    found: dict[str, str] = {}
    for path, body in files.items():
        text = Frame.of(first.get(path, "")).complete(body)
        if text is None:
            where = f" of {path}" if path else ""
            return Failure("outside", f"the EVOLVE-BLOCK markers{where} differ from the program's; keep each of them")
        found[path] = text
    return found[""] if "" in found else _join({**first, **found})


def _join(files: Mapping[str, str]) -> str | Failure:
    """Return files as one text; Failure "edit" if that cannot be read back."""
    try:
        return join_files(files)
    except ValueError as error:
        return Failure("edit", str(error)[:500])


def _in_plain_form(source: str, initial: str) -> str | Failure:
    """Return the program with the paths of its files in plain form; a program of one file as it is."""
    try:
        files = separate_files(source)
        if ("" in files) != ("" in separate_files(initial)):
            return Failure("outside", "the program is one file if the first one is; leave lines `=== file: … ===` out")
    except ValueError as error:
        return Failure("edit", str(error)[:500])
    return source if "" in files else _join(files)


def _syntax(source: str, parser: Parser) -> Failure | None:
    try:
        parser.parse(source)
    except SyntaxError as error:
        return syntax_failure(error)
    return None


def _files(codes: Sequence[str], initial: str) -> str | Failure:
    """Return the program `initial` with the files that the blocks' texts name, the last block for each."""
    changed: dict[str, str] = {}
    for code in codes:
        if _HEADER in code:
            try:
                found: Mapping[str, str] = separate_files(f"{code.strip()}\n")
            except ValueError as error:
                return Failure("edit", str(error)[:500])
            changed |= {path: body for path, body in found.items() if path}
    return _fill_files(separate_files(initial), changed) if changed else _NO_FILE


def _is_bare_code(said: str, parser: Parser) -> bool:
    """Whether an answer without blocks is Python code: it parses, and a line begins as programs do, such as `def`."""
    begins = r"^(?:(?:def|class|import|from|for|while)\b|\w+ *=(?!=))"
    return re.search(begins, said, re.MULTILINE) is not None and _syntax(said, parser) is None


def _thought(said: str, parts: Sequence[Block], is_edited: bool) -> str:
    """Return the model's description of its program; "" if there is none."""
    # an edit before all blocks is no prose: the description stands before it
    begin = first_edit(said) if is_edited else 0
    if is_edited and (not parts or begin < parts[0].begin):
        return thought_in("\n".join(said.split("\n")[:begin]))
    return thought_in(prose_around(said, parts)) if parts else ""


# Longest reply (characters) that is read in this process: a longer one would block the event loop for too long.
READ_HERE = 40_000
# Limit of CPU seconds for one reply. The limits on the text are normally reached first; this is for other causes.
CPU_S = 10
# Limit of address space for one reply, on Linux alone. The interpreter and its libraries take 150 MB of it.
MEMORY_BYTES = 1 << 30
# Limit of wall-clock seconds for one reply, in case the process gets no core. It is large, for busy machines.
WALL_S = 300.0
# Written by the process once its limits are set. If a process ends before that, the reply is not the cause.
_READY = b"ready\n"
# one thread, since each takes address space; the same hashes in every process
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def form_of(task: Task) -> FunctionForm | WholeForm:
    """Return the form of a task's programs: whole texts for an evaluator that calls no function, else functions."""
    if isinstance(task, EvaluatorTask) and not task.calls_a_function:
        repository = task.file.repository
        paths = ((), ()) if repository is None else (repository.show, repository.kept)
        return WholeForm(task.template, task.file.suffix, task.file.edits, *paths)
    return FunctionForm(task.template, task.entry_point)


def extract(form: FunctionForm | WholeForm, request: Request) -> Program | Failure:
    """Return the program in a reply by the rules of `form.read`, or a Failure.

    Raises TaskError if the template does not define the entry point, and BehavesimError as `read_within_limits` does.
    """
    # a process takes 0.2 s more than to read a short reply with plain code here
    if len(request.text) <= READ_HERE:
        with suppress(NeedsLimits):
            return form.read(request, has_limits=False)
    return read_within_limits(form, request)


def read_within_limits(form: FunctionForm | WholeForm, request: Request) -> Program | Failure:
    """Return what `form.read` finds in a new process; a Failure `too-complex` if the process reaches a limit.

    Raises BehavesimError if no process can be started, if the machine ends it, or if it has not ended after WALL_S.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-sP", "-m", "behavesim.programs.extract"],
            input=json.dumps([asdict(form), asdict(request)]).encode(),
            capture_output=True,
            timeout=WALL_S,
            env=_ENVIRONMENT | {"PYTHONPATH": python_path()},  # few variables, so that it sees no keys
            cwd="/",
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise BehavesimError(f"the process that reads a reply did not end in {WALL_S:g} s; it had no core") from None
    except OSError as error:
        raise BehavesimError(f"no process to read a reply in: {error.strerror}; raise ulimit -u and -n") from error
    ready, begun, found = done.stdout.partition(_READY)
    if ready or not begun:
        raise BehavesimError(f"the process that reads replies did not start: {done.stderr.decode()[-500:]}")
    if done.returncode == -signal.SIGKILL:
        raise BehavesimError(
            "the process that reads a reply was killed, as if the machine had no memory left; free some"
        )
    if done.returncode:
        return Failure("too-complex", f"to read the reply takes more than {CPU_S} s of CPU time or 1 GB of memory")
    document = json.loads(found)
    if "error" in document:
        raise TaskError(document["error"])
    return Program(**document) if "hash" in document else Failure(**document)


def main() -> None:
    """Limit this process, and read one reply: form and request in JSON from stdin, what was found to stdout."""
    # at the first limit of CPU time comes SIGXCPU, so that SIGKILL says that the machine ran out of memory
    limits = {resource.RLIMIT_CORE: (0, 0), resource.RLIMIT_CPU: (CPU_S, CPU_S + 5)}
    if sys.platform == "linux":  # elsewhere the kernel refuses it, or does nothing
        limits[resource.RLIMIT_AS] = (MEMORY_BYTES, MEMORY_BYTES)
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        soft, last = most if hard == resource.RLIM_INFINITY else (min(each, hard) for each in most)
        resource.setrlimit(kind, (soft, last))
    fields, request = json.load(sys.stdin.buffer)
    form = WholeForm(**fields) if "initial" in fields else FunctionForm(**fields)
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    try:
        found = asdict(form.read(Request(**request), has_limits=True))
    except TaskError as error:
        found = {"error": str(error)}
    sys.stdout.buffer.write(json.dumps(found).encode())


if __name__ == "__main__":
    main()
