"""Writes a new program by changing the text of one in the prompt: for the tasks that no grammar suits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from behavesim.programs.edits import edit_between
from behavesim.programs.evolve_blocks import Frame
from behavesim.programs.fences import fenced
from behavesim.programs.whole import completed
from behavesim.prompts.answering import Answering
from behavesim.proposers.draw import choose, pick
from behavesim.proposers.mutation import moves, tokens
from behavesim.proposers.mutation.literals import Span
from behavesim.proposers.mutation.moves import Material, Move
from behavesim.proposers.mutation.python import PythonText
from behavesim.proposers.mutation.tokens import Tokens
from behavesim.task import Task
from behavesim.task.files import joined, separated

ATTEMPTS = 20
"""Most tries to make one change; if all fail, the change is left out. Most failures give text that is no Python."""
GROWTH = 2.0
"""A changed file may have this many times the characters of the task's template, and ROOM more."""
ROOM = 2000
"""Characters that a changed file may have beyond GROWTH times the template's."""
BETTER_IS_BASE = 0.7
"""Probability that the last of the shown programs, the best, is changed; otherwise, and by edits, the first one is."""
COUNTS = (0.7, 0.2, 0.1)
"""Probability of 1, 2 and 3 changes in one reply; FROM_NOTHING adds one."""

_MOVES: Sequence[tuple[Move, float, str]] = (
    (moves.number, 0.50, "change a number"),
    (moves.growth, 0.15, "weigh an expression differently"),
    (moves.crossover, 0.12, "take over a part of another program"),
    (moves.expression, 0.10, "use an expression in another place"),
    (moves.operator, 0.07, "change an operator"),
    (moves.removal, 0.06, "leave something out"),
)
IMPROVE: Mapping[Move, float] = {move: probability for move, probability, _ in _MOVES}
"""Probability of each move for operators that are not in MOVES."""
SENTENCES: Mapping[Move, str] = {move: sentence for move, _, sentence in _MOVES}
"""The words by which a reply describes each move."""
MOVES: Mapping[str, Mapping[Move, float]] = {
    "crossover": {moves.crossover: 1.0},
    "e2": {moves.crossover: 0.6, moves.growth: 0.4},
    "m1": {moves.growth: 0.4, moves.expression: 0.3, moves.operator: 0.3},
    "m2": {moves.number: 1.0},
    "m3": {moves.removal: 1.0},
}
"""Probability of each move for the prompts of these operators; IMPROVE has those for all other operators."""
FROM_NOTHING = frozenset({"i1", "e1"})
"""Operators that ask for a program unlike those shown: one more change is made."""


@dataclass(frozen=True)
class File:
    """A file of a program, its text, and the spans of it that may change; the path is "" if it is the only one."""

    path: str
    text: str
    spans: tuple[Span, ...]


class Mutator:
    """Changes numbers, expressions, operators and statements of Python text; of other languages, what `tokens` knows.

    Text outside EVOLVE-BLOCK markers stays as it is. A mutator keeps nothing between prompts.
    """

    def __init__(self, task: Task) -> None:
        answering = Answering.of(task)
        self._template = task.template
        self._suffix = task.suffix
        self._label = answering.label
        self._writes_edits = answering.variant == "diff"
        self._frames = {path: Frame.of(text) for path, text in separated(task.template).items()}
        self._has_blocks = any(frame.has_blocks for frame in self._frames.values())
        self._lines = {line.strip() for line in task.template.splitlines() if line.strip()}

    def write(self, operator: str, shown: Sequence[str], random: np.random.Generator) -> tuple[str, str]:
        """Return a sentence on a new program, and the program in a fenced block, or the edits that give it.

        `operator` is the prompt's. `shown` are the texts of its fenced blocks, the best program last. Those that are no
        programs of the task are ignored; if none is left, the template is changed. If no move fits, the program is an
        unchanged one.
        """
        programs = [program for code in shown if (program := self._whole(code)) is not None] or [self._template]
        # edits are read as edits of the first program that the prompt shows
        place = 0 if self._writes_edits or random.random() >= BETTER_IS_BASE else len(programs) - 1
        base, others = programs[place], [*programs[:place], *programs[place + 1 :]]
        program, done = base, list[str]()
        count = 1 + int(random.choice(len(COUNTS), p=COUNTS)) + (operator in FROM_NOTHING)
        for _ in range(count):
            program, said = self._changed(program, others, MOVES.get(operator, IMPROVE), programs, random)
            done += [said] if said and said not in done else []
        thought = f"{' and '.join(done).capitalize()}." if done else "Nothing could be changed."
        edit = edit_between(base, program) if self._writes_edits else None
        return thought, edit or fenced(program, self._label)

    def _changed(
        self,
        program: str,
        others: Sequence[str],
        weights: Mapping[Move, float],
        known: Sequence[str],
        random: np.random.Generator,
    ) -> tuple[str, str]:
        """Return the program after one move that gives a program not `known`, and what the move did.

        `others` are programs to take parts from; `weights` are the moves, each drawn with a probability in proportion
        to its weight. If none of the tried moves succeeds, the program is returned as it is, with "".
        """
        files = [file for file in self._files(program) if file.spans]
        for _ in range(ATTEMPTS if files else 0):
            file = choose(files, random)
            text, said = self._moved(file, others, weights, random)
            if text is None or len(text) > GROWTH * len(self._template) + ROOM:
                continue
            whole = joined({**separated(program), file.path: text}) if file.path else text
            if whole not in known and self._frame(file.path).spans(text) is not None:
                return whole, said
        return program, ""

    def _moved(
        self, file: File, others: Sequence[str], weights: Mapping[Move, float], random: np.random.Generator
    ) -> tuple[str | None, str]:
        """Return a file's new text after one move drawn by `weights`, and what the move does.

        The text is None if no such change is possible, or the changed Python would not parse. `others` are whole
        programs to take parts from.
        """
        donors = [each for program in others for each in self._files(program) if each.path == file.path]
        move = pick(weights, random)
        is_python = (file.path or self._suffix).endswith(".py")
        if not is_python or (python := PythonText.of(file.text, file.spans)) is None:
            texts = tuple(each.text for each in donors)
            text, done = tokens.changed(Tokens(file.text, file.spans, texts, random), move)
            return text, SENTENCES[done]
        read = [PythonText.of(each.text, each.spans) for each in donors]
        text = move(Material(python, tuple(each for each in read if each is not None), random))
        is_whole = text is not None and PythonText.of(text, ()) is not None
        return text if is_whole else None, SENTENCES[move]

    def _whole(self, code: str) -> str | None:
        """Return the whole program of a fenced block; what the block leaves out is taken from the template.

        None if the block has no line in common with the template, or gives no program of the task.
        """
        # the words of an evaluator can stand in a block too: a program has a line in common with the first one
        if self._lines.isdisjoint(line.strip() for line in code.splitlines()):
            return None
        program = completed(self._template, code)
        return program if isinstance(program, str) else None

    def _files(self, program: str) -> list[File]:
        """Return the files of a program, with what may change: blocks, if the template has any, else the whole text.

        Nothing may change in a file whose text outside of blocks is not that of the template.
        """
        found = []
        for path, text in separated(program).items():
            frame = self._frame(path)
            may_change = frame.has_blocks or not self._has_blocks
            found.append(File(path, text, tuple(frame.spans(text) or ()) if may_change else ()))
        return found

    def _frame(self, path: str) -> Frame:
        """Return the fixed text of a file of the template; that of an empty file if the template has none there."""
        return self._frames.get(path) or Frame.of("")
