"""Breeds programs of a grammar: typed genetic programming over the programs in a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from behavesim.programs.fences import fenced
from behavesim.proposers.draw import choose, pick
from behavesim.proposers.genetic import variation
from behavesim.proposers.genetic.generic import generic_grammar
from behavesim.proposers.genetic.grammar import Grammar, Rule
from behavesim.proposers.genetic.reading import Reader
from behavesim.proposers.genetic.rendering import Writer
from behavesim.proposers.genetic.term import Term, fresh
from behavesim.proposers.genetic.variation import Couple, Move
from behavesim.task import Task

REMEMBERED = 256
"""Most parsed programs kept in a cache: a good program is an example in many prompts."""
LARGEST = 50
"""Maximum number of terms of a child; if a move's child has more, another move is drawn (see ATTEMPTS)."""
ATTEMPTS = 8
"""Most moves that are drawn for one reply; if none gives a new program, a random one is returned."""
BETTER_IS_BASE = 0.6
"""Probability that the best example is changed with parts of a drawn one; otherwise it is the other way round."""

_MOVES = (
    (variation.switch, 0.10, "Go by one rule first and by the other later"),
    (variation.blend, 0.16, "Combine the two rules in one"),
    (variation.addition, 0.18, "Add a consideration to the rule"),
    (variation.constants, 0.22, "Weigh the parts of the rule differently"),
    (variation.replacement, 0.12, "Replace a part of the rule by a new one"),
    (variation.crossover, 0.08, "Take over a part of the other rule"),
    (variation.operation, 0.09, "Combine the same parts by another operation"),
    (variation.removal, 0.05, "Leave out what the rule may not need"),
)
IMPROVE: Mapping[Move, float] = {move: probability for move, probability, _ in _MOVES}
"""Probability of each move for operators that are not in MOVES or FROM_NOTHING."""
SENTENCES: Mapping[Move, str] = {move: sentence for move, _, sentence in _MOVES}
"""The words by which a reply describes each move."""
FRESH = 0.02
"""Probability that a prompt of the operator `improve` is answered with a new random program."""

MOVES: Mapping[str, Mapping[Move, float]] = {
    "crossover": {variation.switch: 0.25, variation.blend: 0.4, variation.crossover: 0.35},
    "e2": {variation.switch: 0.2, variation.blend: 0.3, variation.crossover: 0.25, variation.addition: 0.25},
    "cs": {variation.switch: 0.2, variation.blend: 0.3, variation.crossover: 0.25, variation.addition: 0.25},
    "m1": {variation.addition: 0.35, variation.replacement: 0.3, variation.operation: 0.2, variation.switch: 0.15},
    "m2": {variation.constants: 1.0},
    "m3": {variation.removal: 1.0},
}
"""Probability of each move for the prompts of these operators. FROM_NOTHING uses no move, all others use IMPROVE."""
TIMID = 0.6
"""Probability that a change by a proposer of the habit `timid` keeps the program's behaviour, or the whole program."""
LEANING = 6
"""The habit `biased` draws the first rule with holes of each type this many times as often as another such rule."""

FROM_NOTHING = frozenset({"template", "i1", "e1"})
"""Operators that are answered with a new random program; every other operator changes one of those shown."""
Habit = Literal["none", "timid", "biased"]
"""How the offline proposer imitates a model.

"none": it does not. "timid": most changes keep the program's behaviour (see TIMID). "biased": it prefers the first rule
of each type (see LEANING)."""


class Breeder:
    """Writes programs of a task's grammar, or of the template's annotated parameters if the task has none."""

    def __init__(self, task: Task, habit: Habit = "none") -> None:
        """Raise TaskError if the task's grammar is not valid."""
        self._habit = habit
        self._grammar = Grammar.parse(task.grammar or generic_grammar(task.template, task.entry_point))
        self._read = lru_cache(REMEMBERED)(Reader(self._grammar, task.entry_point).read)
        self._writer = Writer(self._grammar, task.template, task.entry_point)
        # after the reader and the writer, which need each rule once; only the draws lean
        if habit == "biased":
            self._grammar = self._grammar.leaning(LEANING)

    def write(self, operator: str, shown: Sequence[str], random: np.random.Generator) -> tuple[str, str]:
        """Return a sentence on a new program, and the program in a fenced block.

        `operator` is the prompt's. `shown` are the texts of its fenced blocks, the best program last. Those that the
        grammar does not produce are ignored; if none is left, the program is random.
        """
        # programs of the grammar are examples, others (a template, a model's) may not be readable
        examples = [program for program in map(self._read, shown) if program is not None]
        program, thought = self._child(operator, examples, random)
        return thought, fenced(self._writer.write(program))

    def _child(self, operator: str, examples: list[Term], random: np.random.Generator) -> tuple[Term, str]:
        """Return a program and a sentence that says how it was made; `operator` is the prompt's.

        A changed program differs from all examples, except that with the habit `timid` it may be one of them.
        """
        if operator in FROM_NOTHING or not examples or (operator == "improve" and random.random() < FRESH):
            program = self._unlike(examples, random)
            return program, f"Try something new: weigh {self._subject(program)}."
        base, other = _drawn(examples, random)
        if self._habit == "timid" and random.random() < TIMID:
            again = variation.restatement(Couple(self._grammar, base, other, random))
            return again or base, "Say the same in other words."
        moves = MOVES.get(operator, IMPROVE)
        for _ in range(ATTEMPTS):
            move = pick(moves, random)
            child = move(Couple(self._grammar, base, other, random))
            if child is not None and child not in examples and child.size <= LARGEST:
                return child, f"{SENTENCES[move]}; it weighs {self._subject(child)}."
        program = self._unlike(examples, random)
        return program, f"Leave the given programs: weigh {self._subject(program)}."

    def _unlike(self, examples: list[Term], random: np.random.Generator) -> Term:
        """Return a random program; with examples, the one of three with the smallest share of rules found in them."""
        if not examples:
            return fresh(self._grammar, random)
        known: frozenset[Rule] = frozenset().union(*(example.rules() for example in examples))
        programs = [fresh(self._grammar, random) for _ in range(3)]
        return min(programs, key=lambda program: len(program.rules() & known) / max(1, len(program.rules())))

    def _subject(self, program: Term) -> str:
        """Return the definitions that a program uses, joined by commas and "and"; "nothing but numbers" if none."""
        rules = program.rules()
        names = [name.replace("_", " ") for name, rule in self._grammar.definitions.items() if rule in rules]
        if not names:
            return "nothing but numbers"
        *others, last = names
        return f"{', '.join(others)} and {last}" if others else last


def _drawn(examples: list[Term], random: np.random.Generator) -> tuple[Term, Term]:
    """Return the program to change and the one to take parts from: the last example, the best, and a drawn other.

    With the probability BETTER_IS_BASE the best is the first of the two. A single example is both.
    """
    *others, best = examples
    other = choose(others, random) if others else best
    return (best, other) if random.random() < BETTER_IS_BASE else (other, best)
