"""The offline proposer: it stands where a model would, reads the same prompts and answers in the same form."""

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
"""Programs that need not be read again: a good one is an example in many prompts."""
LARGEST = 50
"""Terms a program may have; a move that makes it larger is tried again."""
ATTEMPTS = 8
BETTER_IS_BASE = 0.6
"""How often the better of two examples is the one that is changed."""

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
"""How often each move is tried."""
FRESH = 0.02
"""How often an improvement is a program unlike any other."""

MOVES: Mapping[str, Mapping[Move, float]] = {
    "crossover": {variation.switch: 0.25, variation.blend: 0.4, variation.crossover: 0.35},
    "e2": {variation.switch: 0.2, variation.blend: 0.3, variation.crossover: 0.25, variation.term: 0.25},
    "m1": {variation.term: 0.35, variation.replacement: 0.3, variation.operation: 0.2, variation.switch: 0.15},
    "m2": {variation.constants: 1.0},
    "m3": {variation.removal: 1.0},
}
TIMID = 0.6
"""How often a timid proposer says the same in other words."""
LEANING = 6
"""How many times as often as another rule a biased proposer follows its favourites."""

FROM_NOTHING = frozenset({"template", "i1", "e1"})
"""The operators that ask for a program unlike any that is shown; any other word asks for a better one."""
Habit = Literal["none", "timid", "biased"]


class GeneticSettings(ProposerSettings):
    """The settings of the offline proposer."""

    genetic_habit: Habit = "none"
    """What the offline proposer has of a model: timid, it mostly changes words; biased, it comes back to few ideas."""


class GeneticProposer(Proposer[GeneticSettings]):
    """Typed genetic programming over the examples of a prompt: the same programs, seed and candidate, the same reply.

    It knows no scores and learns nothing between prompts. The blocks of its programs are those the task's grammar
    offers, or the template's parameters where it has none. Two habits make it more like a model: a timid one mostly
    changes words and not behaviour, a biased one comes back to the same few ideas.
    """

    settings_type = GeneticSettings
    costs_money = False
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
        """The offline proposer of a run."""
        return cls(errand.task, errand.seed, settings.genetic_habit)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """A reply with one fenced program."""
        random = np.random.default_rng([self._seed, number])
        read = [self._read(source) for source in fenced_blocks(prompt.text)]
        examples = [program for program in read if program is not None]
        program, thought = self._child(prompt.operator, examples, random)
        opening = f"{{{thought}}}" if prompt.asks_thought else thought
        return Reply(f"{opening}\n\n```python\n{self._writer.write(program)}```\n", MODEL)

    def _child(self, operator: str, examples: list[Term], random: np.random.Generator) -> tuple[Term, str]:
        """A program, and a sentence on how it came about."""
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
        """A fresh program; beside examples, of three the one that shares the fewest rules with them."""
        if not examples:
            return fresh(self._grammar, random)
        known: frozenset[Rule] = frozenset().union(*(example.rules() for example in examples))
        return min((fresh(self._grammar, random) for _ in range(3)), key=lambda program: _share(program, known))

    def _subject(self, program: Term) -> str:
        """The definitions a program uses, in words."""
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
    """The program to change and the one to take from: the last example is the best."""
    *others, best = examples
    other = others[int(random.integers(len(others)))] if others else best
    return (best, other) if random.random() < BETTER_IS_BASE else (other, best)


def _share(program: Term, known: frozenset[Rule]) -> float:
    rules = program.rules()
    return len(rules & known) / len(rules)
