"""The wording of prompts: their texts, the form of an answer, and the contract of a task.

A wording is a folder with a text for each kind of question, in which $names stand for parts. The form says how programs
are shown and asked for; the contract how the function is called, by which rules and limits. The sentences of this file
stand in prompts: changing one changes what models are asked in every run.
"""

from __future__ import annotations

import ast
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from string import Template
from textwrap import indent
from types import MappingProxyType
from typing import Literal

from behavesim.base.errors import UsageError, nearest
from behavesim.base.text import read_text_file
from behavesim.programs.functions import LONG_DOCSTRING, functions_in, long_docstrings, signature
from behavesim.state.members import Member
from behavesim.task import Task, instances_of
from behavesim.task.evaluated import CALLS_METRIC, LIBRARY_METRIC, EvaluatorTask, separate_files

# The wordings of this package.
#
# `full` states the task's contract in every prompt; `paper` follows the paper's; `small` is short, for small models.
SHIPPED = ("full", "paper", "small")
# The names of parts that a text may use; docs/reference/prompts.md describes each.
PARTS = frozenset(
    {
        *("description", "about", "contract", "template", "template_score", "entry_point"),  # about the task
        *("leader", "shown", "run", "tried", "behaviour", "failures", "goal"),  # about the run and its programs
        *("programs", "algorithms", "worse", "better", "comparison", "aim", "best", "reached"),
        *("prompt", "reply", "reason", "message"),  # of a repair
        *("angle", "spread", "hint", "hints", "known", "set", "adds", "answer", "answer_with_idea"),
        *("form", "base", "files"),  # of an answer that is a whole program
    }
)
HERE = Path(__file__).parent
# Ends a prompt that would otherwise equal an earlier one, with the number of those.
_ASKED_BEFORE = "Asked before ({}); take another way."


@dataclass(frozen=True)
class Wording:
    """The texts of prompts."""

    # Each text by its name, such as "improve": the file's name in the wording's folder, without its suffix.
    texts: Mapping[str, str]

    @classmethod
    def load(cls, name: str, variant: Variant = "function") -> Wording:
        """Return a wording of `SHIPPED`, or `full` with the texts of a person's folder in place of its own.

        Raises UsageError if there is no such folder, if it holds no text, or if a text there cannot be read, has an
        unknown name, an unknown part or a $ without a name.
        """
        if name in SHIPPED:
            return cls(_shipped(name, variant))
        own, ours = _own(Path(name)), _shipped("full", variant)
        for file, text in own.items():
            if file not in ours:
                raise UsageError(f"{name}/{file}.md is the text of nothing; {nearest(file, ours) or ', '.join(ours)}")
            _refuse_unknown_parts(f"{name}/{file}.md", text)
        # it would take the place of texts of one's own
        return cls({**{each: text for each, text in ours.items() if each != "reached"}, **own})

    def text(self, name: str, parts: Mapping[str, str]) -> str:
        """Return the text of a name with its parts filled in; paragraphs that are then empty are left out.

        Raises KeyError for an unknown text, or if the text or that of an answer names another part.
        """
        # these two texts hold parts of their own, and one paragraph of another text takes each
        answers = {each: Template(self.texts[each]).substitute(parts) for each in ("answer", "answer_with_idea")}
        known = {**parts, **{each: _one_paragraph(text) for each, text in answers.items()}}
        paragraphs = [Template(each).substitute(known).strip() for each in self.texts[name].strip().split("\n\n")]
        return "\n\n".join(filter(None, paragraphs))

    def asks_thought(self, name: str) -> bool:
        """Return whether the text of a name asks for the program's idea, too; KeyError for an unknown text."""
        return "answer_with_idea" in Template(self.texts[name]).get_identifiers()

    @property
    def angles(self) -> list[str]:
        """Ideas to begin from, for prompts with the template alone if `prompt_angles` is set. Empty without any."""
        return self.texts.get("angles", "").splitlines()

    def first_angle(self, number: int) -> str:
        """Return the angle of a prompt that shows the template alone, another for each candidate's number; "" if none.

        Each line of `angles` is taken once, then each pair of them.
        """
        known = self.angles
        turn, line = divmod(number, len(known) or 1)
        if not known:
            return ""
        pairing, again = turn % len(known), turn // len(known)
        angle = known[line]
        if pairing:  # all lines were begun from once: two of them are combined
            angle += f" Combine this with another start: {known[(number + pairing) % len(known)]}"
        return f"{angle} {_ASKED_BEFORE.format(again)}" if again else angle

    def later_angles(self, operator: str, number: int, shown: int) -> Iterator[str]:
        """Yield angles of a prompt that shows so many programs, that of this candidate's number first; never one twice.

        Those of the text `later_angles` come first, in turn, or none once for an operator that has no line there; then
        numbered requests for something else, without end. A line for "improve*" is for two programs or more.
        """
        lines = (line.partition(":") for line in self.texts.get("later_angles", "").splitlines())
        named = {operator, f"{operator}*"}
        known = [(said.strip(), named.intersection(operators.split())) for operators, _, said in lines]
        known = [each for each in known if each[1]] or [("", named)]
        # by rounds, so that an operator that takes every n-th turn is not given the same angle each time
        first = number + number // len(known)
        for place in range(len(known)):
            angle, taken_by = known[(first + place) % len(known)]
            if shown > 1 or operator in taken_by:
                yield angle
        yield from (_ASKED_BEFORE.format(again) for again in count(1))


def absolute_wording(name: str) -> str:
    """Return the name of a wording of `SHIPPED` as it is, the path of any other wording's folder made absolute."""
    return name if name in SHIPPED else str(Path(name).resolve())


def wording_hash(name: str) -> str:
    """Return the SHA-256 of the texts in a person's folder, in hexadecimal; "" for a wording of `SHIPPED`."""
    # those are identified by the package's version
    if name in SHIPPED:
        return ""
    # resuming with other texts would ask other questions, so a run records this hash
    return hashlib.sha256(repr(sorted(_own(Path(name)).items())).encode()).hexdigest()


@cache
def _shipped(name: str, variant: Variant) -> Mapping[str, str]:
    """Return the texts of a wording: those for functions, but for the texts that the variant has of its own."""
    folders = {"function": [], "whole": ["whole"], "diff": ["whole", "diff"]}[variant]
    # a text that the short wording does not have is the full one's
    texts = {**(_texts(HERE / "full") if name == "small" else {}), **_texts(HERE / name)}
    for folder in folders:
        texts |= _texts(HERE / name / folder)
    return MappingProxyType(texts)


def _own(folder: Path) -> dict[str, str]:
    """Return the texts of a person's folder, by file name without .md; UsageError without a folder or a text."""
    if not folder.is_dir():
        raise UsageError(f"prompts are {', '.join(SHIPPED)}, or a folder with texts of your own; there is no {folder}")
    if not (texts := _texts(folder)):
        raise UsageError(f"{folder} holds no text for a prompt; write one as {folder}/improve.md")
    return texts


def _texts(folder: Path) -> dict[str, str]:
    """Return the text of each .md file in a folder, by its name without the suffix."""
    return {path.stem: read_text_file(path, "prompt") for path in sorted(folder.glob("*.md"))}


def _refuse_unknown_parts(file: str, text: str) -> None:
    """Raise UsageError, naming the file, if a text has a part that is not in PARTS, or a $ without a name."""
    template = Template(text)
    if not template.is_valid():
        raise UsageError(f"{file} has a $ that begins no part's name; write $$ for the sign itself")
    for part in template.get_identifiers():
        if part not in PARTS:
            raise UsageError(f"{file} names the part ${part}; {nearest(part, PARTS) or ', '.join(sorted(PARTS))}")


def _one_paragraph(text: str) -> str:
    """Return the form of an answer on one line; if it shows edits, line by line, each with single spaces."""
    if "<<<<<<<" not in text:
        return " ".join(text.split())
    return "\n".join(
        line if line.startswith(("<", "=", ">")) else " ".join(line.split()) for line in text.strip().split("\n")
    )


# What a model is asked for: a function, a whole program, or edits of one that is shown.
Variant = Literal["function", "whole", "diff"]
# By a file's suffix: the label of fenced blocks, and the name in a sentence.
_LANGUAGES = {
    ".py": ("python", "Python"),
    ".c": ("c", "C"),
    ".h": ("c", "C"),
    ".cc": ("cpp", "C++"),
    ".cpp": ("cpp", "C++"),
    ".cxx": ("cpp", "C++"),
    ".hpp": ("cpp", "C++"),
    ".cu": ("cuda", "CUDA"),
    ".cs": ("csharp", "C#"),
    ".f90": ("fortran", "Fortran"),
    ".go": ("go", "Go"),
    ".hs": ("haskell", "Haskell"),
    ".java": ("java", "Java"),
    ".jl": ("julia", "Julia"),
    ".js": ("javascript", "JavaScript"),
    ".kt": ("kotlin", "Kotlin"),
    ".lua": ("lua", "Lua"),
    ".m": ("matlab", "MATLAB"),
    ".ml": ("ocaml", "OCaml"),
    ".r": ("r", "R"),
    ".rb": ("ruby", "Ruby"),
    ".rs": ("rust", "Rust"),
    ".scala": ("scala", "Scala"),
    ".sh": ("bash", "shell"),
    ".sql": ("sql", "SQL"),
    ".swift": ("swift", "Swift"),
    ".ts": ("typescript", "TypeScript"),
    ".zig": ("zig", "Zig"),
}
_FILES = {
    "whole": "Files that you do not name stay as they are.",
    "diff": "Write the line `=== file: PATH ===` before the edits of each file.",
}


@dataclass(frozen=True)
class AnswerFormat:
    """The form in which programs of a task are shown and asked for."""

    variant: Variant = "function"
    # The label of fenced blocks with programs; "" for several files, for unknown languages the suffix without dot.
    label: str = "python"
    # What to answer with: "the complete program in one fenced Python block" or the like; "" for a function.
    form: str = ""
    # A sentence on programs of several files; "" for all others.
    files: str = ""

    @classmethod
    def of(cls, task: Task) -> AnswerFormat:
        """Return the form for a task, by the suffix, files and edits of its programs; for functions the defaults."""
        if not isinstance(task, EvaluatorTask) or task.calls_a_function:
            return cls()
        variant: Variant = "diff" if task.file.edits == "diff" else "whole"
        if "" not in separate_files(task.template):
            form = "the files that change, complete, each in a fenced block whose first line is `=== file: PATH ===`"
            return cls(variant, "", form, _FILES[variant])
        suffix = task.file.suffix.lower()
        label, language = _LANGUAGES.get(suffix, (suffix.removeprefix("."), ""))
        lines = ", lines with EVOLVE-BLOCK included," if "EVOLVE-BLOCK-START" in task.template else ""
        return cls(variant, label, f"the complete program{lines} in one fenced {language} block".replace("  ", " "))


STATELESS = (
    "It must keep nothing between calls: some are repeated in a fresh process and another order (not timed); a program "
    "that answers otherwise there is rejected."
)
COUNTED = "- It counts its steps and does not read the clock, so that it scores the same on every machine."
UNSEEDED = "- Unseeded random numbers are the same in every run."
SEEDED = "- Random numbers must be seeded anew in each call, or its answers depend on the calls before."


def contract(task: Task, timeout_s: float, memory_mb: int, says_imports: bool = True) -> str:
    """Return what a task asks of a program: how the function is called, the task's rules and the run's limits.

    `timeout_s`: CPU seconds for all instances of the search together. `says_imports`: whether it says what a program
    that an evaluator runs may import. Raises TaskError if the instances cannot be made.
    """
    # programs that are whole texts have no function to call: for them it is the rules and limits alone
    if isinstance(task, EvaluatorTask):
        rules = _evaluator_rules(task, timeout_s, memory_mb)
        rules += [_imports()] if says_imports and is_python(task) else []
        if not task.calls_a_function:
            return "\n\n".join([*_documentation(task), "\n".join(["Rules:", *rules])])
    else:
        rules = [task.rules.strip(), *_limits(task, timeout_s, memory_mb)]
    return "\n\n".join(
        [
            f"The function to write is `{task.entry_point}`. It is called like this:",
            indent(_interface(task, task.entry_point), "    "),  # not in a fenced block: those hold example programs
            *_documentation(task),
            "\n".join(["Rules:", *filter(None, rules)]),
        ]
    )


def _evaluator_rules(task: EvaluatorTask, timeout_s: float, memory_mb: int) -> list[str]:
    """Return the rules for programs that an evaluator runs, one a line."""
    has_blocks, is_maximised = "EVOLVE-BLOCK-START" in task.template, task.objective.direction == "maximise"
    bound, worse = ("at least", "Below") if is_maximised else ("at most", "Above")
    passing = " and ".join(
        f"{bound} {needed:g} in stage {stage}"
        for stage, needed in enumerate(task.file.thresholds, 1)
        if math.isfinite(needed)
    )
    rules = [
        _judged(task),
        "Only text between EVOLVE-BLOCK-START and EVOLVE-BLOCK-END may change; the rest is put back."
        if has_blocks
        else "",
        f"Only the files shown may change, and files be added that match {', '.join(task.file.repository.show)}. "
        "All others are put back."
        if task.file.repository
        else "",
        f"The evaluation has stages: to be evaluated to the end, a program needs {passing}. "
        f"{worse} that it keeps the score of the stage where it stopped."
        if passing
        else "",
        f"Evaluator and program together have {timeout_s:g} s of CPU time and {memory_mb} MB of memory, no network, "
        "and temporary files alone to write to.",
        "An exception, an invalid result or a passed limit loses the program.",
        _objective(task, 1),
    ]
    return [f"- {rule}" for rule in rules if rule]


def surroundings_in_words(task: Task, template: Member | None) -> str:
    """Return rules that the evaluation of the first program taught: which libraries exist, and how often it is called.

    Each begins a line of its own.
    """
    known = {} if template is None else template.metrics
    libraries = [name.removeprefix(LIBRARY_METRIC) for name in known if name.startswith(LIBRARY_METRIC)]
    rules = [_imports(libraries)] if is_python(task) else []
    if calls := known.get(CALLS_METRIC):
        rules.append(f"- In one evaluation, the functions of the first program are called {calls:g} times.")
    return "".join(f"\n{rule}" for rule in rules)


def is_python(task: Task) -> bool:
    """Whether the programs of a task are written in Python, or one of their files is."""
    return ".py" in task.template if not task.suffix else task.suffix == ".py"


def _imports(libraries: Sequence[str] = ()) -> str:
    """Return the rule on what a program may import: these libraries, or without any what is installed."""
    more = ", ".join(libraries) or "what else is installed, such as what the first program imports"
    return f"- The program may import the standard library of Python 3.11, and {more}."


def _judged(task: EvaluatorTask) -> str:
    """Return a sentence that says how the task's evaluator runs a program, and what the program must keep."""
    if task.entry_point:
        return f"An evaluator calls `{task.entry_point}`; keep its arguments and the kind of its result."
    if task.file.convention == "command":
        return "A command runs the program and scores it; keep how the program is started, what it reads and writes."
    return (
        "An evaluator imports the program, calls it and scores it; keep the names, arguments and results that it needs."
    )


def _documentation(task: Task) -> list[str]:
    """Return paragraphs on functions of the template other than the entry point, whose long docstrings stand here once.

    In the programs that prompts show, they are short (`without_docstrings`).
    """
    functions, said = functions_in(task.template) if long_docstrings(task.template) else {}, list[str]()
    for name, function in functions.items():
        text = ast.get_docstring(function) or ""
        if name != task.entry_point and len(text) >= LONG_DOCSTRING:
            said += [f"What `{name}` means below:", indent(text, "    ")]
    return said


def _interface(task: Task, name: str) -> str:
    """Return the signature of a function of the task's template, and its docstring, if any, indented."""
    function = functions_in(task.template)[name]
    return "\n".join(filter(None, [signature(function), indent(ast.get_docstring(function) or "", "    ")]))


def _limits(task: Task, timeout_s: float, memory_mb: int) -> list[str]:
    """Return the rules of every task without an evaluator, one a line."""
    count = len(instances_of(task, "search"))
    judged = "one instance" if count == 1 else f"{count} instances, one after another in one process"
    compiling = ", compiling and imports included"
    if task.first_call_s:
        compiling = f", imports included, and {task.first_call_s:g} s more for its first call, in which numba compiles"
    together, on_any = ("", "") if count == 1 else (" for all of them", " on any instance")
    return [
        f"- It is judged on {judged}. {STATELESS if task.stateless else 'What it keeps between calls is kept.'}",
        f"- It has {timeout_s:g} s of CPU time{together}{compiling}, {memory_mb} MB and one thread.",
        "- It may import the standard library of Python 3.11, numpy, scipy and numba, but use no files, network or "
        "other processes.",
        COUNTED,
        SEEDED if task.stateless else UNSEEDED,
        f"- An exception, a broken rule or a passed limit{on_any} loses the program.",
        f"- {_objective(task, count)}",
    ]


def _objective(task: Task, count: int) -> str:
    """Return a sentence: which scores are better, and the best known one if any; of `count` instances."""
    objective = task.objective_on("search")
    mean = ", the mean over the instances," if count > 1 and not task.has_own_mean else ""
    better = "lower" if objective.direction == "minimise" else "higher"
    known = "" if objective.best_known is None else f"; the best known is {objective.best_known:.7g}"
    return f"The score{mean} is better the {better} it is{known}."
