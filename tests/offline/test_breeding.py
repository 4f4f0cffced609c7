"""The moves of genetic programming: typed, within bounds, and close in behaviour to what they start from."""

from itertools import pairwise

import numpy as np
import pytest
from behavesim_offline import Grammar, proposer
from behavesim_offline.grammar import Term, fresh, grown
from behavesim_offline.proposer import Couple
from behavesim_offline.source import Reader, Writer
from behavesim_tasks.asp import AdmissibleSet
from behavesim_tasks.bin_packing import OnlineBinPacking
from behavesim_tasks.cpp import CirclePacking
from behavesim_tasks.tsp import TravellingSalesman

TASKS = [TravellingSalesman(), AdmissibleSet(), CirclePacking(), OnlineBinPacking()]
GRAMMARS = {type(task): Grammar.parse(task.grammar) for task in TASKS}
MOVES = [
    proposer.switch,
    proposer.blend,
    proposer.addition,
    proposer.constants,
    proposer.replacement,
    proposer.crossover,
    proposer.operation,
    proposer.removal,
    proposer.restatement,
]


def couples(task, count):
    """Pairs of random programs to start from."""
    grammar = GRAMMARS[type(task)]
    for seed in range(count):
        random = np.random.default_rng(seed)
        yield Couple(grammar, fresh(grammar, random), fresh(grammar, random), random)


def well_typed(program: Term, grammar):
    return all(
        term.rule is None
        or (term.rule in grammar.rules[term.type] and tuple(c.type for c in term.children) == term.rule.holes)
        for _, term in program.sites()
    )


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_a_child_is_well_typed_and_can_be_written_and_read(task, move):
    children = 0
    for couple in couples(task, 8):
        child = move(couple)
        if child is None:
            continue
        children += 1
        assert well_typed(child, couple.grammar)
        source = Writer(couple.grammar, task.template, task.entry_point).write(child)
        assert Reader(couple.grammar, task.entry_point).read(source) is not None
    unlikely = {proposer.switch: not any_choice(task), proposer.restatement: isinstance(task, CirclePacking)}
    assert children > 0 or unlikely.get(move, False)


def any_choice(task):
    grammar = GRAMMARS[type(task)]
    return any(
        rule.is_choice and rule.holes.count(kind) > 1 for kind in grammar.roots.values() for rule in grammar.rules[kind]
    )


def test_tuning_keeps_every_rule_but_those_of_constants():
    for couple in couples(TASKS[0], 40):
        child = proposer.constants(couple)
        if child is not None:
            assert [path for path, _ in child.sites()] == [path for path, _ in couple.base.sites()]
            changed = [
                (old, new)
                for (_, old), (_, new) in zip(couple.base.sites(), child.sites(), strict=True)
                if old.rule is not new.rule
            ]
            assert all(old.rule.constant is not None and new.rule.constant is not None for old, new in changed)


def test_removal_makes_programs_smaller():
    for couple in couples(TASKS[1], 40):
        child = proposer.removal(couple)
        assert child is None or child.size < couple.base.size


def steps(task, program):
    """From which city to which a program goes; None where it fails, as some do."""
    namespace = {}
    exec(Writer(GRAMMARS[type(task)], task.template, task.entry_point).write(program), namespace)
    try:
        with np.errstate(all="ignore"):
            tour = task.solve(namespace[task.entry_point], task.instances("search")[0])
    except IndexError:
        return None
    return set(pairwise(tour.tolist()))


def test_children_behave_more_like_their_parents_than_like_other_programs():
    task = TASKS[0]
    found = [
        couple for couple in couples(task, 20) if None not in (steps(task, couple.base), steps(task, couple.other))
    ]
    behaviours = [[steps(task, couple.base), steps(task, couple.other)] for couple in found]
    to_parents, to_others = [], []
    for index, couple in enumerate(found):
        for child in filter(None, (move(couple) for move in MOVES)):
            taken = steps(task, child)
            if taken is not None:
                to_parents.append(max(len(taken & parent) / len(taken) for parent in behaviours[index]))
                to_others.append(max(len(taken & other) / len(taken) for other in behaviours[index - 1]))
    assert len(to_parents) > 100
    assert np.mean(to_parents) > np.mean(to_others) + 0.1


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_an_expression_without_room_to_grow_is_as_flat_as_its_type_allows(task):
    grammar = GRAMMARS[type(task)]
    for kind in grammar.roots.values():
        for seed in range(8):
            term = grown(grammar, kind, -1, np.random.default_rng(seed))
            assert depth_of(term) == grammar.depths[kind]


def depth_of(term: Term) -> int:
    return max((1 + depth_of(child) for child in term.children), default=0)
