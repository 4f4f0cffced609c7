"""The offline proposer: it takes the place of a model, reads the same prompts and answers in the same form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, Self

import numpy as np

from behavesim.programs.fences import fenced_blocks
from behavesim.proposers.genetic import variation
from behavesim.proposers.genetic.generic import generic_grammar
from behavesim.proposers.genetic.grammar import Grammar, Rule
from behavesim.proposers.genetic.growth import fresh
from behavesim.proposers.genetic.reading import Reader
from behavesim.proposers.genetic.rendering import Writer
from behavesim.proposers.genetic.term import Term
from behavesim.proposers.genetic.variation import Couple, Move
from behavesim.proposers.proposer import Errand, Proposer, ProposerSettings
from behavesim.state.events import Prompt, Reply
from behavesim.task import Task

MODEL = "genetic"
REMEMBERED = 256
"""Number of parsed programs kept in a cache: a good program is an example in many prompts."""
LARGEST = 50
"""Maximum number of terms of a program; a move that exceeds it is tried again."""
ATTEMPTS = 8
"""Moves that are tried before a fresh program is returned instead."""
BETTER_IS_BASE = 0.6
"""Probability that the better of two examples is the one that is changed."""

IMPROVE: Mapping[Move, float] = {
    variation.switch: 0.10,
    variation.blend: 0.16,
    variation.term: 0.18,
    variation.constants: 0.22,
    variation.replacement: 0.12,
    variation.crossover: 0.08,
    variation.operation: 0.09,
    variation.removal: 0.05,
}
"""Relative frequency of each move when a better program is asked for."""
FRESH = 0.02
"""Probability that a request to improve is answered with a fresh program."""

MOVES: Mapping[str, Mapping[Move, float]] = {
    "crossover": {variation.switch: 0.25, variation.blend: 0.4, variation.crossover: 0.35},
    "e2": {variation.switch: 0.2, variation.blend: 0.3, variation.crossover: 0.25, variation.term: 0.25},
    "m1": {variation.term: 0.35, variation.replacement: 0.3, variation.operation: 0.2, variation.switch: 0.15},
    "m2": {variation.constants: 1.0},
    "m3": {variation.removal: 1.0},
}
TIMID = 0.6
"""Probability that a timid proposer changes the text and keeps the behaviour."""
LEANING = 6
"""How many times as often as any other rule a biased proposer uses its preferred ones."""

FROM_NOTHING = frozenset({"template", "i1", "e1"})
"""Operators that ask for a program unlike those shown; every other operator asks for a better one."""
Habit = Literal["none", "timid", "biased"]


class GeneticSettings(ProposerSettings):
    """The settings of the offline proposer."""

    genetic_habit: Habit = "none"
    """Make the offline proposer more like a model: `timid` mostly changes text and not behaviour; `biased` prefers
    few ideas."""


class GeneticProposer(Proposer[GeneticSettings]):
    """Typed genetic programming over the examples of a prompt.

    The reply depends only on the examples, the seed and the candidate's number. The proposer sees no scores and keeps
    nothing between prompts. It builds programs from the task's grammar, or from the template's parameters if the task
    has none. Do not compare its results with a model's: the building blocks contain expert knowledge.
    """

    settings_type = GeneticSettings
    costs_money = False
    is_pure = True
    writes_text = False

    def __init__(self, task: Task, seed: int, habit: Habit = "none") -> None:
        self._seed, self._habit = seed, habit
        self._grammar = Grammar.parse(task.grammar or generic_grammar(task.template, task.entry_point))
        self._read = lru_cache(REMEMBERED)(Reader(self._grammar, task.entry_point).read)
        self._writer = Writer(self._grammar, task.template, task.entry_point)
        if habit == "biased":
            self._grammar = self._grammar.leaning(LEANING)

    @classmethod
    def of(cls, settings: GeneticSettings, errand: Errand) -> Self:
        """Return the offline proposer of a run."""
        return cls(errand.task, errand.seed, settings.genetic_habit)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return a reply with one fenced program."""
        random = np.random.default_rng([self._seed, number])
        read = [self._read(source) for source in fenced_blocks(prompt.text)]
        examples = [program for program in read if program is not None]
        program, thought = self._child(prompt.operator, examples, random)
        opening = f"{{{thought}}}" if prompt.asks_thought else thought
        return Reply(f"{opening}\n\n```python\n{self._writer.write(program)}```\n", MODEL)

    def _child(self, operator: str, examples: list[Term], random: np.random.Generator) -> tuple[Term, str]:
        """Return a new program and a sentence that says how it was made."""
        moves = MOVES.get(operator, IMPROVE)
        if operator in FROM_NOTHING or not examples or (operator == "improve" and random.random() < FRESH):
            program = self._unlike(examples, random)
            return program, f"Try something new: weigh {self._subject(program)}."
        base, other = _drawn(examples, random)
        if self._habit == "timid" and random.random() < TIMID:
            again = variation.restatement(Couple(self._grammar, base, other, random))
            return again or base, "Say the same in other words."
        weights = np.array(list(moves.values()))
        for _ in range(ATTEMPTS):
            move = list(moves)[int(random.choice(len(moves), p=weights / weights.sum()))]
            child = move(Couple(self._grammar, base, other, random))
            if child is not None and child not in examples and child.size <= LARGEST:
                return child, f"{SENTENCES[move]}; it weighs {self._subject(child)}."
        program = self._unlike(examples, random)
        return program, f"Leave the given programs: weigh {self._subject(program)}."

    def _unlike(self, examples: list[Term], random: np.random.Generator) -> Term:
        """Return a fresh program; if examples are shown, the one of three that shares the fewest rules with them."""
        if not examples:
            return fresh(self._grammar, random)
        known: frozenset[Rule] = frozenset().union(*(example.rules() for example in examples))
        return min((fresh(self._grammar, random) for _ in range(3)), key=lambda program: _share(program, known))

    def _subject(self, program: Term) -> str:
        """Return the definitions that a program uses, as words for a sentence."""
        rules = program.rules()
        names = [name.replace("_", " ") for name, rule in self._grammar.definitions.items() if rule in rules]
        if not names:
            return "nothing but numbers"
        *others, last = names
        return f"{', '.join(others)} and {last}" if others else last


SENTENCES: Mapping[Move, str] = {
    variation.switch: "Go by one rule first and by the other later",
    variation.blend: "Combine the two rules in one",
    variation.term: "Add a consideration to the rule",
    variation.constants: "Weigh the parts of the rule differently",
    variation.replacement: "Replace a part of the rule by a new one",
    variation.crossover: "Take over a part of the other rule",
    variation.operation: "Combine the same parts by another operation",
    variation.removal: "Leave out what the rule may not need",
}


def _drawn(examples: list[Term], random: np.random.Generator) -> tuple[Term, Term]:
    """Return the program to change and the one to take parts from; the last example shown is the best."""
    *others, best = examples
    other = others[int(random.integers(len(others)))] if others else best
    return (best, other) if random.random() < BETTER_IS_BASE else (other, best)


def _share(program: Term, known: frozenset[Rule]) -> float:
    rules = program.rules()
    return len(rules & known) / len(rules)
