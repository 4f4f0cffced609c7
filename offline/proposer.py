"""The offline proposer: in place of a model it reads prompts, and breeds programs by typed genetic programming."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Self

import numpy as np

from behavesim.programs.answer import add_fence
from behavesim.prompts.shown import programs_to_vary
from behavesim.proposers.proposer import (
    ProgramWriter,
    Proposer,
    ProposerContext,
    ProposerSettings,
    uniform,
    uniform_or_none,
    weighted,
)
from behavesim.state.events import Prompt, Reply
from behavesim.task import Task
from behavesim.task.evaluated import EvaluatorTask

from .grammar import (
    NUMBER,
    Grammar,
    Path,
    Rule,
    Term,
    fresh,
    generic_grammar,
    grown,
    round_number,
    suits,
)
from .mutator import Mutator
from .source import Reader, Writer

# Maximum depth of a new expression that a move adds: less than a program's, so that a child resembles its parent.
GROWTH = 3


@dataclass(frozen=True)
class Couple:
    """The input of a move: the program to change (`base`), another one to take parts from, and a random generator."""

    grammar: Grammar
    base: Term
    other: Term
    random: np.random.Generator

    def site(self, wanted: Callable[[Term], bool]) -> tuple[Path, Term] | None:
        """Draw one of the wanted terms of the base, never the whole; return it with its path, None if there is none."""
        sites = [(path, term) for path, term in self.base.sites() if path and wanted(term)]
        return uniform_or_none(sites, self.random)

    def changed(self, wanted: Callable[[Term], bool], change: Callable[[Term], Term | None]) -> Term | None:
        """Return the base with a drawn term that is wanted replaced by what `change` makes of it; None if nothing."""
        site = self.site(wanted)
        term = None if site is None else change(site[1])
        return None if site is None or term is None else self.base.replaced(site[0], term)

    def root(self) -> int:
        """Draw the index of a root of `base`, with a probability proportional to the number of its terms."""
        sizes = np.array([root.size for root in self.base.children], dtype=float)
        return int(self.random.choice(len(sizes), p=sizes / sizes.sum()))

    def grow(self, kind: str) -> Term:
        """Return a new random expression of the type `kind`, at most GROWTH deep if the grammar allows it."""
        return grown(self.grammar, kind, GROWTH, self.random)


# Returns a child, a whole program, made of a couple; None if the move does not apply to it.
Move = Callable[[Couple], Term | None]


def switch(couple: Couple) -> Term | None:
    """Replace one root of the base by a conditional expression with this root of both programs."""
    return _join_roots(couple, lambda rule: rule.is_choice)


def blend(couple: Couple) -> Term | None:
    """Replace one root of the base by another rule with this root of both programs as operands."""
    return _join_roots(couple, lambda rule: not rule.is_choice)


def addition(couple: Couple) -> Term | None:
    """Combine a part of the base, at least half of the time a root, with new expressions by a rule of its type."""
    index = couple.root()
    path: Path = (index,)
    part = couple.base.children[index]
    if couple.random.random() < 0.5:
        path, part = couple.site(lambda inner: inner.type == part.type) or (path, part)
    rules = [rule for rule in couple.grammar.rules[part.type] if part.type in rule.holes and len(rule.holes) > 1]
    if not rules:
        return None
    return couple.base.replaced(path, _around(uniform(rules, couple.random), [part], couple))


def constants(couple: Couple) -> Term | None:
    """Change a random constant of the base, once to three times: a number, or one of several constants of a type."""
    changed = _constant(couple)
    for _ in range(min(2, int(couple.random.geometric(0.7)) - 1)):
        if changed is not None:
            changed = _constant(replace(couple, base=changed))
    return changed


def replacement(couple: Couple) -> Term | None:
    """Replace a drawn part of the base, no constant number, by a new expression of its type."""
    return couple.changed(_is_part, lambda old: couple.grow(old.type))


def crossover(couple: Couple) -> Term | None:
    """Replace a drawn part of the base, no constant number, by a part of the other program with the same type."""

    def taken(old: Term) -> Term | None:
        parts = [inner for path, inner in couple.other.sites() if path and inner.type == old.type]
        return uniform_or_none(parts, couple.random)

    return couple.changed(_is_part, taken)


def operation(couple: Couple) -> Term | None:
    """Replace a drawn operation or definition of the base by another rule with operands of the same types."""

    def exchanged(old: Term) -> Term:
        rule = uniform(_like(couple.grammar, old), couple.random)
        operands = list(old.children)
        places = ([operand.type for operand in operands].index(hole) for hole in rule.holes)
        return Term(old.type, rule, tuple(operands.pop(place) for place in places))

    return couple.changed(lambda inner: bool(_like(couple.grammar, inner)), exchanged)


def removal(couple: Couple) -> Term | None:
    """Replace a drawn part of the base by one of its own sub-expressions of the same type."""
    return couple.changed(
        lambda inner: next(_within(inner), None) is not None, lambda old: uniform(list(_within(old)), couple.random)
    )


def restatement(couple: Couple) -> Term | None:
    """Swap the operands of a drawn sum or product of the base: its text changes and its behaviour does not."""
    return couple.changed(
        lambda inner: inner.rule is not None and inner.rule.commutes and len(set(inner.children)) > 1,
        lambda old: Term(old.type, old.rule, old.children[::-1]),
    )


def _is_part(term: Term) -> bool:
    return term.type != NUMBER


def _constant(couple: Couple) -> Term | None:
    """Change one drawn constant of the base: a number by a random factor, a choice to one up to two places away."""

    def shifted(old: Term) -> Term:
        if old.value is None:
            return Term(old.type, uniform(_other_constants(couple.grammar, old), couple.random))
        return Term(NUMBER, value=round_number(old.value * math.exp(couple.random.normal(0, 0.5))))

    return couple.changed(lambda inner: inner.type == NUMBER or _other_constants(couple.grammar, inner) != [], shifted)


def _join_roots(couple: Couple, wanted: Callable[[Rule], bool]) -> Term | None:
    """Return the base with one drawn root replaced by a wanted rule around that root of both programs."""
    index = couple.root()
    mine, theirs = couple.base.children[index], couple.other.children[index]
    rules = [r for r in couple.grammar.rules[mine.type] if r.holes.count(mine.type) > 1 and wanted(r)]
    if not rules:
        return None
    parts = [mine, theirs] if couple.random.random() < 0.5 else [theirs, mine]
    return couple.base.replaced((index,), _around(uniform(rules, couple.random), parts, couple))


def _around(rule: Rule, parts: list[Term], couple: Couple) -> Term:
    """Return a term of the rule with the parts in drawn holes of its type and new expressions in the others."""
    places = [index for index, hole in enumerate(rule.holes) if hole == rule.type]
    # sorted, so that the first part stays first: in a conditional expression it is used first
    drawn = sorted(couple.random.permutation(len(places))[: len(parts)])
    held = {places[int(place)]: part for place, part in zip(drawn, parts, strict=True)}
    return Term(
        rule.type, rule, tuple(held[i] if i in held else couple.grow(hole) for i, hole in enumerate(rule.holes))
    )


def _other_constants(grammar: Grammar, term: Term) -> list[Rule]:
    """Return the constants up to two places before or after this one among those of its type."""
    if term.rule is None or term.rule.constant is None:
        return []
    rules = [rule for rule in grammar.rules[term.type] if rule.constant is not None]
    place = rules.index(term.rule)
    return [rule for index, rule in enumerate(rules) if 0 < abs(index - place) <= 2]


def _like(grammar: Grammar, term: Term) -> list[Rule]:
    """Return the other rules of the term's type with as many holes of each type; empty for a number."""
    if term.rule is None:
        return []
    holes = sorted(term.rule.holes)
    return [rule for rule in grammar.rules[term.type] if rule is not term.rule and sorted(rule.holes) == holes]


def _within(term: Term) -> Iterator[Term]:
    return (inner for path, inner in term.sites() if path and inner.type == term.type and inner.type != NUMBER)


_MOVES = (
    (switch, 0.10, "Go by one rule first and by the other later"),
    (blend, 0.16, "Combine the two rules in one"),
    (addition, 0.18, "Add a consideration to the rule"),
    (constants, 0.22, "Weigh the parts of the rule differently"),
    (replacement, 0.12, "Replace a part of the rule by a new one"),
    (crossover, 0.08, "Take over a part of the other rule"),
    (operation, 0.09, "Combine the same parts by another operation"),
    (removal, 0.05, "Leave out what the rule may not need"),
)
# Probability of each move for operators that are not in BREEDING_MOVES or FROM_NOTHING.
IMPROVE: Mapping[Move, float] = {move: probability for move, probability, _ in _MOVES}
# The words by which a reply describes each move.
SENTENCES: Mapping[Move, str] = {move: sentence for move, _, sentence in _MOVES}

# Probability of each move for the prompts of these operators. FROM_NOTHING uses no move, all others use IMPROVE.
BREEDING_MOVES: Mapping[str, Mapping[Move, float]] = {
    "crossover": {switch: 0.25, blend: 0.4, crossover: 0.35},
    "e2": {switch: 0.2, blend: 0.3, crossover: 0.25, addition: 0.25},
    "cs": {switch: 0.2, blend: 0.3, crossover: 0.25, addition: 0.25},
    "m1": {addition: 0.35, replacement: 0.3, operation: 0.2, switch: 0.15},
    "m2": {constants: 1.0},
    "m3": {removal: 1.0},
}

# Operators that are answered with a new random program; every other operator changes one of those shown.
FROM_NOTHING = frozenset({"template", "i1", "e1"})
# Probability that a prompt of the operator `improve` is answered with a new random program.
FRESH = 0.02

# Most parsed programs kept in a cache: a good program is an example in many prompts.
REMEMBERED = 256
# Maximum number of terms of a child; if a move's child has more, another move is drawn (see ATTEMPTS).
LARGEST = 50
# Most moves that are drawn for one reply; if none gives a new program, a random one is returned.
ATTEMPTS = 8
# Probability that the best example is changed with parts of a drawn one; otherwise it is the other way round.
BETTER_IS_BASE = 0.6
# How the offline proposer imitates a model: not at all, by changes that keep the behaviour (see TIMID), or by
# preferring the first rule of each type (see LEANING).
Habit = Literal["none", "timid", "biased"]
# Probability that a change by a proposer of the habit `timid` keeps the program's behaviour, or the whole program.
TIMID = 0.6
# The habit `biased` draws the first rule with holes of each type this many times as often as another such rule.
LEANING = 6


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
        """Return a sentence on a new program, and the program in a fenced block (see `Author.write`).

        Shown programs that the grammar does not produce are ignored; if none is left, the program is random.
        """
        # programs of the grammar are examples, others (a template, a model's) may not be readable
        examples = [program for program in map(self._read, shown) if program is not None]
        program, thought = self._child(operator, examples, random)
        return thought, add_fence(self._writer.write(program))

    def _child(self, operator: str, examples: list[Term], random: np.random.Generator) -> tuple[Term, str]:
        """Return a program and a sentence that says how it was made."""
        if operator in FROM_NOTHING or not examples or (operator == "improve" and random.random() < FRESH):
            program = self._unlike(examples, random)
            return program, f"Try something new: weigh {self._subject(program)}."
        base, other = _draw_parents(examples, random)
        if self._habit == "timid" and random.random() < TIMID:
            again = restatement(Couple(self._grammar, base, other, random))
            return again or base, "Say the same in other words."
        moves = BREEDING_MOVES.get(operator, IMPROVE)
        for _ in range(ATTEMPTS):
            move = weighted(moves, random)
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
        """Return the definitions that a program uses, in words."""
        rules = program.rules()
        names = [name.replace("_", " ") for name, rule in self._grammar.definitions.items() if rule in rules]
        if not names:
            return "nothing but numbers"
        *others, last = names
        return f"{', '.join(others)} and {last}" if others else last


def _draw_parents(examples: list[Term], random: np.random.Generator) -> tuple[Term, Term]:
    """Return the program to change and the one to take parts from: the best example and a drawn other, or reversed."""
    *others, best = examples
    other = uniform(others, random) if others else best
    return (best, other) if random.random() < BETTER_IS_BASE else (other, best)


# The offline proposer: it takes the place of a model, reads the same prompts and answers in the same form.


# The name of the model in replies.
MODEL = "genetic"


def changes_text(task: Task) -> bool:
    """Whether a task's programs are written by changing the text of earlier ones, not from a grammar.

    That holds for tasks with an evaluator, and for those without a grammar whose function returns what
    `generic_grammar` cannot write.
    """
    if isinstance(task, EvaluatorTask):
        return True
    return not task.grammar and not suits(task.template, task.entry_point)


class GeneticSettings(ProposerSettings):
    """The settings of the offline proposer."""

    genetic_habit: Habit = "none"
    """Make the offline proposer more like a model: `timid` mostly changes only a program's text, not its behaviour;
    `biased` prefers the first rule of each type; `none` does neither. No effect on tasks whose programs are changed in
    place."""


class GeneticProposer(Proposer[GeneticSettings]):
    """Writes programs offline, by genetic programming, without a model.

    It varies the examples of a prompt: the programs in its fenced blocks, the best one last, and not the best of the
    run that stands beside them: it reads no code to compare with. The reply depends only on
    the prompt, the seed and the candidate's number. The proposer sees no scores and keeps nothing between prompts. It
    builds programs from the task's grammar, or from the template's parameters if the task has none; see `changes_text`
    for programs that are changed in place. Do not compare its results with a model's: the building blocks contain
    expert knowledge.
    """

    settings_type = GeneticSettings
    costs_money = False
    is_pure = True
    writes_text = False

    def __init__(self, task: Task, seed: int, habit: Habit = "none") -> None:
        self._seed = seed
        self._writer = self.grammar_writer(task, habit) or self.text_writer(task)

    @classmethod
    def of(cls, settings: GeneticSettings, context: ProposerContext) -> Self:
        """Return the offline proposer of a run; raises TaskError if the task's grammar is not valid."""
        return cls(context.task, context.seed, settings.genetic_habit)

    @staticmethod
    def grammar_writer(task: Task, habit: Habit = "none") -> ProgramWriter | None:
        """Return what breeds programs of the task's grammar; None if their text is changed instead."""
        return None if changes_text(task) else Breeder(task, habit)

    @staticmethod
    def text_writer(task: Task) -> ProgramWriter:
        """Return what changes the text of programs."""
        return Mutator(task)

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return a reply with a sentence and one program; `number` is the candidate's, and seeds the draws."""
        random = np.random.default_rng([self._seed, number])
        thought, program = self._writer.write(prompt.operator, programs_to_vary(prompt.text), random)
        opening = f"{{{thought}}}" if prompt.asks_thought else thought
        return Reply(f"{opening}\n\n{program}\n", MODEL)
