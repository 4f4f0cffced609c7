"""Changes the text of a program in the prompt, for the tasks that no grammar suits; moves on any language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from behavesim.programs.answer import add_fence
from behavesim.programs.edits import Frame, edit_between
from behavesim.programs.extract import complete_program
from behavesim.programs.numbers import SKIPPED, Span, numbers_in, replace_literal, within
from behavesim.prompts.wording import AnswerFormat
from behavesim.proposers.proposer import uniform, uniform_or_none, weighted
from behavesim.task import Task
from behavesim.task.evaluated import join_files, separate_files

from . import moves
from .moves import Material, Move, PythonText, another, another_operator

# blanks on both sides tell an operation from a pointer, a sign, a template's brackets or a path
_OPERATOR = re.compile(rf"{SKIPPED}|--[^\n]*+|(?<=[\w)\]] )(?P<operator>[-+*/<>]|[<>]=)(?= [\w(.])", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*+(?![(\[.:])")


@dataclass(frozen=True, eq=False)
class Tokens:
    """A program's text and the spans of it that may change, texts to take parts from, and a random generator."""

    source: str
    spans: tuple[Span, ...]
    others: tuple[str, ...]
    random: np.random.Generator

    @property
    def operators(self) -> list[Span]:
        """The spans of the operators that stand between two blanks and may change."""
        found = (each.span("operator") for each in _OPERATOR.finditer(self.source) if each["operator"])
        return [span for span in found if within(span, self.spans)]

    @property
    def operands(self) -> list[Span]:
        """The spans of names at the right of an operator that may change, but not before a bracket, dot or colon."""
        found = (_NAME.match(self.source, end + 1) for _, end in self.operators)
        return [each.span() for each in found if each and within(each.span(), self.spans)]


def change_tokens(tokens: Tokens, move: Move) -> tuple[str | None, Move]:
    """Return the text after the move that corresponds to a move on Python text, and the move that was made.

    If that move has no place in the text, a number changes instead. The text is None if there is no number either.
    """
    if (text := _TOKEN_MOVES[move](tokens)) is not None:
        return text, move
    return _number(tokens), moves.number


def _number(tokens: Tokens) -> str | None:
    places = [span for span in numbers_in(tokens.source) if within(span, tokens.spans)]
    return _rewrite_one(tokens, places, lambda literal: another(literal, tokens.random))


def _operator(tokens: Tokens) -> str | None:
    return _rewrite_one(tokens, tokens.operators, lambda symbol: another_operator(symbol, tokens.random))


def _weight(tokens: Tokens) -> str | None:
    """Multiply a name at the right of an operator by a random factor near 1."""
    return _rewrite_one(tokens, tokens.operands, lambda name: f"({name} * {np.exp(tokens.random.normal(0, 0.3)):.4g})")


def _name(tokens: Tokens) -> str | None:
    """Replace a name at the right of an operator by another such name."""
    names = {tokens.source[slice(*each)] for each in tokens.operands}
    return _rewrite_one(tokens, tokens.operands, lambda name: uniform_or_none(sorted(names - {name}), tokens.random))


def _removal(tokens: Tokens) -> str | None:
    """Remove a name and the operator before it."""
    places = [(tokens.source[: begin - 1].rindex(" "), end) for begin, end in tokens.operands]
    return _rewrite_one(tokens, places, lambda name: "")


def _rewrite_one(tokens: Tokens, places: Sequence[Span], write: Callable[[str], str | None]) -> str | None:
    """Return the text with one of the places, drawn at random, rewritten; None if there is none."""
    place = uniform_or_none(places, tokens.random)
    new = None if place is None else write(tokens.source[slice(*place)])
    return None if place is None or new is None else replace_literal(tokens.source, place, new)


def _lines(tokens: Tokens) -> str | None:
    """Take over one passage of lines from another program in which that differs."""
    theirs = uniform_or_none(tokens.others, tokens.random)
    if theirs is None:
        return None
    own, other = tokens.source.splitlines(keepends=True), theirs.splitlines(keepends=True)
    differing = [each for each in SequenceMatcher(None, own, other, autojunk=False).get_opcodes() if each[0] != "equal"]
    passage = uniform_or_none(differing, tokens.random)
    if passage is None:
        return None
    _, begin, end, first, last = passage
    return "".join([*own[:begin], *other[first:last], *own[end:]])


_TOKEN_MOVES: Mapping[Move, Callable[[Tokens], str | None]] = {
    moves.number: _number,
    moves.growth: _weight,
    moves.crossover: _lines,
    moves.expression: _name,
    moves.operator: _operator,
    moves.removal: _removal,
}

_MOVES: Sequence[tuple[Move, float, str]] = (
    (moves.number, 0.50, "change a number"),
    (moves.growth, 0.15, "weigh an expression differently"),
    (moves.crossover, 0.12, "take over a part of another program"),
    (moves.expression, 0.10, "use an expression in another place"),
    (moves.operator, 0.07, "change an operator"),
    (moves.removal, 0.06, "leave something out"),
)
# Probability of each move for operators that are not in MUTATION_MOVES.
IMPROVE: Mapping[Move, float] = {move: probability for move, probability, _ in _MOVES}
# The words by which a reply describes each move.
SENTENCES: Mapping[Move, str] = {move: sentence for move, _, sentence in _MOVES}
# Probability of each move for the prompts of these operators; IMPROVE has those for all other operators.
MUTATION_MOVES: Mapping[str, Mapping[Move, float]] = {
    "crossover": {moves.crossover: 1.0},
    "e2": {moves.crossover: 0.6, moves.growth: 0.4},
    "m1": {moves.growth: 0.4, moves.expression: 0.3, moves.operator: 0.3},
    "m2": {moves.number: 1.0},
    "m3": {moves.removal: 1.0},
}
# Operators that ask for a program unlike those shown: one more change is made.
FROM_NOTHING = frozenset({"i1", "e1"})
# Probability of 1, 2 and 3 changes in one reply; FROM_NOTHING adds one.
COUNTS = (0.7, 0.2, 0.1)

# Most tries to make one change; if all fail, the change is left out. Most failures give text that is no Python.
ATTEMPTS = 20
# A changed file may have this many times the characters of the task's template, and ROOM more.
GROWTH = 2.0
# Characters that a changed file may have beyond GROWTH times the template's.
ROOM = 2000
# Probability that the last of the shown programs, the best, is changed; otherwise, and by edits, the first one is.
BETTER_IS_BASE = 0.7


@dataclass(frozen=True)
class File:
    """A file of a program, its text, and the spans of it that may change; the path is "" if it is the only one."""

    path: str
    text: str
    spans: tuple[Span, ...]


class Mutator:
    """Changes numbers, expressions, operators and statements of Python text; of other languages, what Tokens finds.

    Text outside EVOLVE-BLOCK markers stays as it is. A mutator keeps nothing between prompts.
    """

    def __init__(self, task: Task) -> None:
        answering = AnswerFormat.of(task)
        self._template = task.template
        self._suffix = task.suffix
        self._label = answering.label
        self._writes_edits = answering.variant == "diff"
        self._frames = {path: Frame.of(text) for path, text in separate_files(task.template).items()}
        self._has_blocks = any(frame.has_blocks for frame in self._frames.values())
        self._lines = {line.strip() for line in task.template.splitlines() if line.strip()}

    def write(self, operator: str, shown: Sequence[str], random: np.random.Generator) -> tuple[str, str]:
        """Return a sentence on a new program, and the program in a fenced block, or the edits (see `Author.write`).

        Shown texts that are no programs of the task are ignored; if none is left, the template is changed. If no move
        fits, the program is an unchanged one.
        """
        programs = [program for code in shown if (program := self._whole(code)) is not None] or [self._template]
        # edits are read as edits of the first program that the prompt shows
        place = 0 if self._writes_edits or random.random() >= BETTER_IS_BASE else len(programs) - 1
        base, others = programs[place], [*programs[:place], *programs[place + 1 :]]
        program, done = base, list[str]()
        count = 1 + int(random.choice(len(COUNTS), p=COUNTS)) + (operator in FROM_NOTHING)
        for _ in range(count):
            program, said = self._change(program, others, MUTATION_MOVES.get(operator, IMPROVE), programs, random)
            done += [said] if said and said not in done else []
        thought = f"{' and '.join(done).capitalize()}." if done else "Nothing could be changed."
        edit = edit_between(base, program) if self._writes_edits else None
        return thought, edit or add_fence(program, self._label)

    def _change(
        self,
        program: str,
        others: Sequence[str],
        weights: Mapping[Move, float],
        known: Sequence[str],
        random: np.random.Generator,
    ) -> tuple[str, str]:
        """Return the program after one move that gives a program not `known`, and what the move did; "" if none did."""
        files = [file for file in self._files(program) if file.spans]
        for _ in range(ATTEMPTS if files else 0):
            file = uniform(files, random)
            text, said = self._move_file(file, others, weights, random)
            if text is None or len(text) > GROWTH * len(self._template) + ROOM:
                continue
            whole = join_files({**separate_files(program), file.path: text}) if file.path else text
            if whole not in known and self._frame(file.path).spans(text) is not None:
                return whole, said
        return program, ""

    def _move_file(
        self, file: File, others: Sequence[str], weights: Mapping[Move, float], random: np.random.Generator
    ) -> tuple[str | None, str]:
        """Return a file's text after one move drawn by `weights`, None if it does not apply, and what the move does."""
        donors = [each for program in others for each in self._files(program) if each.path == file.path]
        move = weighted(weights, random)
        is_python = (file.path or self._suffix).endswith(".py")
        if not is_python or (python := PythonText.of(file.text, file.spans)) is None:
            texts = tuple(each.text for each in donors)
            text, done = change_tokens(Tokens(file.text, file.spans, texts, random), move)
            return text, SENTENCES[done]
        read = [PythonText.of(each.text, each.spans) for each in donors]
        text = move(Material(python, tuple(each for each in read if each is not None), random))
        is_whole = text is not None and PythonText.of(text, ()) is not None
        return text if is_whole else None, SENTENCES[move]

    def _whole(self, code: str) -> str | None:
        """Return the whole program of a fenced block; what the block leaves out is taken from the template."""
        # the words of an evaluator can stand in a block too: a program has a line in common with the first one
        if self._lines.isdisjoint(line.strip() for line in code.splitlines()):
            return None
        program = complete_program(self._template, code)
        return program if isinstance(program, str) else None

    def _files(self, program: str) -> list[File]:
        """Return the files of a program, with what may change: blocks, if the template has any, else the whole text."""
        found = []
        for path, text in separate_files(program).items():
            frame = self._frame(path)
            may_change = frame.has_blocks or not self._has_blocks
            found.append(File(path, text, tuple(frame.spans(text) or ()) if may_change else ()))
        return found

    def _frame(self, path: str) -> Frame:
        return self._frames.get(path) or Frame.of("")
