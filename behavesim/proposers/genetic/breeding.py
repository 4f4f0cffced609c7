"""Breeds programs of a grammar: typed genetic programming over the programs in a prompt."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from behavesim.programs.answer import add_fence
from behavesim.programs.functions import functions_in
from behavesim.proposers.genetic.grammar import NUMBER, Grammar, Path, Rule, Term, fresh, grown, round_number
from behavesim.proposers.genetic.source import Reader, Writer
from behavesim.proposers.proposer import choose, choose_any, pick
from behavesim.task import Task

# The moves that make a child of one or two programs; each returns None if it does not apply.


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
        """Draw one of the terms of the base for which `wanted` holds; return it with its path, None if there is none.

        The whole program is never drawn.
        """
        sites = [(path, term) for path, term in self.base.sites() if path and wanted(term)]
        return choose_any(sites, self.random)

    def changed(self, wanted: Callable[[Term], bool], change: Callable[[Term], Term | None]) -> Term | None:
        """Return the base with one of the wanted terms, drawn by `site`, replaced by what `change` makes of it.

        Return None if no term is wanted, or if `change` returns None.
        """
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
    """Replace one root of the base by a conditional expression with this root of both programs (see `_joined`)."""
    return _joined(couple, lambda rule: rule.is_choice)


def blend(couple: Couple) -> Term | None:
    """Replace one root of the base by another rule with this root of both programs as operands (see `_joined`)."""
    return _joined(couple, lambda rule: not rule.is_choice)


def addition(couple: Couple) -> Term | None:
    """Combine a part of the base with new expressions by a rule of its type, at least half of the time a root.

    None if no rule of that type has two holes or more, one of them of the type itself.
    """
    index = couple.root()
    path: Path = (index,)
    part = couple.base.children[index]
    if couple.random.random() < 0.5:
        path, part = couple.site(lambda inner: inner.type == part.type) or (path, part)
    rules = [rule for rule in couple.grammar.rules[part.type] if part.type in rule.holes and len(rule.holes) > 1]
    if not rules:
        return None
    return couple.base.replaced(path, _around(choose(rules, couple.random), [part], couple))


def constants(couple: Couple) -> Term | None:
    """Change a random constant of the base, once to three times; None if it has none.

    A constant is a number, or a rule that stands for one of several constants.
    """
    changed = _constant(couple)
    for _ in range(min(2, int(couple.random.geometric(0.7)) - 1)):
        if changed is not None:
            changed = _constant(replace(couple, base=changed))
    return changed


def replacement(couple: Couple) -> Term | None:
    """Replace a drawn part of the base, no constant number, by a new expression of its type.

    None if the base has constant numbers alone.
    """
    return couple.changed(_is_part, lambda old: couple.grow(old.type))


def crossover(couple: Couple) -> Term | None:
    """Replace a drawn part of the base, no constant number, by a part of the other program with the same type.

    None if the other has none of the drawn part's type.
    """

    def taken(old: Term) -> Term | None:
        parts = [inner for path, inner in couple.other.sites() if path and inner.type == old.type]
        return choose_any(parts, couple.random)

    return couple.changed(_is_part, taken)


def operation(couple: Couple) -> Term | None:
    """Replace a drawn operation or definition of the base by another rule with operands of the same types.

    None if the grammar has no such rule for any of them.
    """

    def exchanged(old: Term) -> Term:
        rule = choose(_like(couple.grammar, old), couple.random)
        operands = list(old.children)
        places = ([operand.type for operand in operands].index(hole) for hole in rule.holes)
        return Term(old.type, rule, tuple(operands.pop(place) for place in places))

    return couple.changed(lambda inner: bool(_like(couple.grammar, inner)), exchanged)


def removal(couple: Couple) -> Term | None:
    """Replace a drawn part of the base by one of its own sub-expressions of the same type; None if no part has one."""
    return couple.changed(
        lambda inner: next(_within(inner), None) is not None, lambda old: choose(list(_within(old)), couple.random)
    )


def restatement(couple: Couple) -> Term | None:
    """Return the base with the operands of one of its sums or products, drawn at random, swapped.

    Its text changes and its behaviour does not. None if it has no sum or product of two different operands.
    """
    return couple.changed(
        lambda inner: inner.rule is not None and inner.rule.commutes and len(set(inner.children)) > 1,
        lambda old: Term(old.type, old.rule, old.children[::-1]),
    )


def _is_part(term: Term) -> bool:
    """Whether a term is anything but a constant number."""
    return term.type != NUMBER


def _constant(couple: Couple) -> Term | None:
    """Change one drawn constant of the base: a number by a random factor, a choice to one up to two places away."""
    # None if it has no constant.

    def shifted(old: Term) -> Term:
        if old.value is None:
            return Term(old.type, choose(_other_constants(couple.grammar, old), couple.random))
        return Term(NUMBER, value=round_number(old.value * math.exp(couple.random.normal(0, 0.5))))

    return couple.changed(lambda inner: inner.type == NUMBER or _other_constants(couple.grammar, inner) != [], shifted)


def _joined(couple: Couple, wanted: Callable[[Rule], bool]) -> Term | None:
    """Return the base with one drawn root replaced by a wanted rule around that root of the base and of the other."""
    # The rule and the order of the two are drawn. None if no wanted rule has two holes of the root's type.
    index = couple.root()
    mine, theirs = couple.base.children[index], couple.other.children[index]
    rules = [r for r in couple.grammar.rules[mine.type] if r.holes.count(mine.type) > 1 and wanted(r)]
    if not rules:
        return None
    parts = [mine, theirs] if couple.random.random() < 0.5 else [theirs, mine]
    return couple.base.replaced((index,), _around(choose(rules, couple.random), parts, couple))


def _around(rule: Rule, parts: list[Term], couple: Couple) -> Term:
    """Return a term of the rule with the parts in drawn holes of the rule's type and new expressions in the others."""
    # The parts are of the rule's type too, and stay in order.
    places = [index for index, hole in enumerate(rule.holes) if hole == rule.type]
    # sorted, so that the first part stays first: in a conditional expression it is used first
    drawn = sorted(couple.random.permutation(len(places))[: len(parts)])
    held = {places[int(place)]: part for place, part in zip(drawn, parts, strict=True)}
    return Term(
        rule.type, rule, tuple(held[i] if i in held else couple.grow(hole) for i, hole in enumerate(rule.holes))
    )


def _other_constants(grammar: Grammar, term: Term) -> list[Rule]:
    """Return the constants up to two places before or after this one among those of its type."""
    # Empty if the term is not a rule with a constant.
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
    """Yield the sub-expressions of a term that have its type; none of a number."""
    return (inner for path, inner in term.sites() if path and inner.type == term.type and inner.type != NUMBER)


# Builds a grammar for a task that has none, from the annotated parameters of its template.


# Annotations of parameters that are taken as numbers; parameters with others than these and ARRAYS are not used.
#
# An annotation counts by its plain name: `np.ndarray` as "ndarray", `list[int]` as "list".
SCALARS = frozenset({"int", "float", "bool"})
# Annotations of parameters that are taken as arrays of numbers.
ARRAYS = frozenset({"ndarray", "NDArray", "ArrayLike", "list", "tuple", "Sequence", "List", "Tuple"})
# Return annotations, by their plain names (see SCALARS), of functions that return a number.
NUMBERS = SCALARS | {"float64"}
# Annotations of functions that return a numpy array, which programs of the grammar can return.
NUMPY = frozenset({"ndarray", "NDArray"})

# The names of the grammar's types.
TYPES = frozenset({"number", "scalar", "array"})

SCALAR_RULES = """
scalar = number | scalar + scalar | scalar - scalar | number * scalar | scalar * scalar | scalar / (abs(scalar) + 0.01)
scalar = min(scalar, scalar) | max(scalar, scalar) | abs(scalar) | np.sqrt(abs(scalar)) | np.tanh(scalar)
scalar = np.log1p(abs(scalar)) | np.exp(-abs(scalar)) | (scalar if scalar > scalar else scalar)
"""
ARRAY_RULES = """
scalar = array.mean() | array.min() | array.max() | array.sum() | array.std() | len(array)
array = array + array | array - array | number * array | array * array | array / (np.abs(array) + 0.01)
array = array + scalar | scalar * array | np.minimum(array, array) | np.maximum(array, array) | np.abs(array)
array = np.sqrt(np.abs(array)) | np.tanh(array) | np.exp(-np.abs(array)) | np.where(array > scalar, array, array)
"""


def generic_grammar(template: str, entry_point: str) -> str:
    """Return a grammar, as text in the notation of `Grammar`, for a function of numbers and arrays.

    `template` is Python source that defines the function `entry_point`, else this raises KeyError. Only parameters
    annotated with SCALARS or ARRAYS are used. The return annotation decides what programs return: an int, a bool, with
    array parameters an array, or for `int` the index of the largest value. For any other annotation or none it is a
    number.
    """
    function = functions_in(template)[entry_point]
    scalars, arrays = _parameters(function, SCALARS), _parameters(function, ARRAYS)
    lines = ["import numpy as np"]
    lines += [f"{name}_values: array = np.asarray({name}, dtype=float)" for name in arrays]
    # a parameter named like a type of the grammar would be read as a hole, so it gets another name
    lines += [f"the_{name}: scalar = {name}" if name in TYPES else f"scalar = {name}" for name in scalars]
    lines += [SCALAR_RULES, ARRAY_RULES if arrays else "", _ending(_annotated(function.returns), bool(arrays))]
    return "\n".join(lines)


def suits(template: str, entry_point: str) -> bool:
    """Return whether programs of `generic_grammar` can return what this function must return, by its annotations.

    An array, and an `int` if there are array parameters (an index), can be returned if there is exactly one: the shapes
    of several may differ. Other numbers can if the grammar uses any parameter, and nothing else can. Raises KeyError if
    `template` does not define `entry_point`.
    """
    function = functions_in(template)[entry_point]
    returned, arrays = _annotated(function.returns), _parameters(function, ARRAYS)
    if arrays and returned in NUMPY | {"int"}:
        return len(arrays) == 1
    return returned in NUMBERS and bool(arrays or _parameters(function, SCALARS))


def _parameters(function: ast.FunctionDef, annotations: frozenset[str]) -> list[str]:
    """Return the names of a function's parameters that have one of these annotations, in order."""
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [argument.arg for argument in parameters if _annotated(argument.annotation) in annotations]


def _ending(returned: str | None, has_arrays: bool) -> str:
    """Return the root and the final statement for a return annotation, in a grammar with or without arrays."""
    if has_arrays and returned == "int":
        return "result: array\nreturn int(np.argmax(result))"
    kind = "array" if has_arrays and returned in ARRAYS else "scalar"
    value = {"int": "int(result)", "bool": "bool(result > 0)"}.get(returned or "", "result")
    return f"result: {kind}\nreturn {value}"


def _annotated(annotation: ast.expr | None) -> str | None:
    """Return the plain name of an annotation, `ndarray` for `np.ndarray` and `list` for `list[int]`; else None."""
    match annotation:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _annotated(value)
    return None


# Most parsed programs kept in a cache: a good program is an example in many prompts.
REMEMBERED = 256
# Maximum number of terms of a child; if a move's child has more, another move is drawn (see ATTEMPTS).
LARGEST = 50
# Most moves that are drawn for one reply; if none gives a new program, a random one is returned.
ATTEMPTS = 8
# Probability that the best example is changed with parts of a drawn one; otherwise it is the other way round.
BETTER_IS_BASE = 0.6

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
# Probability of each move for operators that are not in MOVES or FROM_NOTHING.
IMPROVE: Mapping[Move, float] = {move: probability for move, probability, _ in _MOVES}
# The words by which a reply describes each move.
SENTENCES: Mapping[Move, str] = {move: sentence for move, _, sentence in _MOVES}
# Probability that a prompt of the operator `improve` is answered with a new random program.
FRESH = 0.02

# Probability of each move for the prompts of these operators. FROM_NOTHING uses no move, all others use IMPROVE.
MOVES: Mapping[str, Mapping[Move, float]] = {
    "crossover": {switch: 0.25, blend: 0.4, crossover: 0.35},
    "e2": {switch: 0.2, blend: 0.3, crossover: 0.25, addition: 0.25},
    "cs": {switch: 0.2, blend: 0.3, crossover: 0.25, addition: 0.25},
    "m1": {addition: 0.35, replacement: 0.3, operation: 0.2, switch: 0.15},
    "m2": {constants: 1.0},
    "m3": {removal: 1.0},
}
# Probability that a change by a proposer of the habit `timid` keeps the program's behaviour, or the whole program.
TIMID = 0.6
# The habit `biased` draws the first rule with holes of each type this many times as often as another such rule.
LEANING = 6

# Operators that are answered with a new random program; every other operator changes one of those shown.
FROM_NOTHING = frozenset({"template", "i1", "e1"})
# How the offline proposer imitates a model.
#
# "none": it does not. "timid": most changes keep the program's behaviour (see TIMID). "biased": it prefers the first
# rule of each type (see LEANING).
Habit = Literal["none", "timid", "biased"]


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
        return thought, add_fence(self._writer.write(program))

    def _child(self, operator: str, examples: list[Term], random: np.random.Generator) -> tuple[Term, str]:
        """Return a program and a sentence that says how it was made; `operator` is the prompt's."""
        # A changed program differs from all examples, except that with the habit `timid` it may be one of them.
        if operator in FROM_NOTHING or not examples or (operator == "improve" and random.random() < FRESH):
            program = self._unlike(examples, random)
            return program, f"Try something new: weigh {self._subject(program)}."
        base, other = _drawn(examples, random)
        if self._habit == "timid" and random.random() < TIMID:
            again = restatement(Couple(self._grammar, base, other, random))
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
    """Return the program to change and the one to take parts from: the last example, the best, and a drawn other."""
    # With the probability BETTER_IS_BASE the best is the first of the two. A single example is both.
    *others, best = examples
    other = choose(others, random) if others else best
    return (best, other) if random.random() < BETTER_IS_BASE else (other, best)
