"""The offline proposer through its front door: prompts in, replies out."""

import ast
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from behavesim_offline import GeneticProposer
from behavesim_tasks.asp import AdmissibleSet
from behavesim_tasks.bin_packing import Items, OnlineBinPacking
from behavesim_tasks.cpp import CirclePacking, Circles
from behavesim_tasks.tsp import TravellingSalesman

from behavesim.programs.answer import fenced_blocks
from behavesim.programs.extract import extract
from behavesim.programs.parsing import missing_names
from behavesim.programs.reading import FunctionForm, Program, Request
from behavesim.proposers.proposer import takes_notes
from behavesim.state.events import Prompt
from tests.engine.toys import fitting

TASKS = [TravellingSalesman(), AdmissibleSet()]


def prompt(operator, *sources):
    return Prompt("Improve this.\n\n" + "\n\n".join(f"```python\n{source}\n```" for source in sources), operator)


async def program(proposer, number, operator="template", *sources):
    reply = await proposer.propose(prompt(operator, *sources), number)
    return fenced_blocks(reply.text)[0]


@pytest.fixture(params=TASKS, ids=lambda task: type(task).__name__)
def task(request):
    return request.param


@pytest.mark.parametrize("operator", ["template", "improve", "i1", "e1", "e2", "m1", "m2", "m3", "crossover", "repair"])
async def test_every_operator_is_answered_with_one_program_for_the_entry_point(task, operator):
    proposer = GeneticProposer(task, seed=1)
    examples = [await program(proposer, number) for number in (1, 2)]
    for number in range(8):
        reply = await proposer.propose(prompt(operator, *examples), number)
        found = extract(FunctionForm(task.template, task.entry_point), Request(reply.text))
        assert isinstance(found, Program), found
        assert reply.calls == ()


async def test_the_same_programs_seed_and_candidate_give_the_same_reply_whatever_was_asked_before(task):
    first, second = GeneticProposer(task, seed=7), GeneticProposer(task, seed=7)
    examples = [await program(first, number) for number in (1, 2)]
    asked = prompt("improve", *examples)
    replies = [(await first.propose(asked, number)).text for number in range(30)]
    assert replies == [(await second.propose(asked, number)).text for number in range(29, -1, -1)][::-1]
    assert len(set(replies)) > 20
    assert replies[0] != (await GeneticProposer(task, seed=8).propose(asked, 0)).text


@pytest.mark.parametrize("operator", ["i1", "e1", "e2", "m1", "m2", "m3"])
async def test_replies_begin_with_the_thought_in_braces_on_one_line_where_it_is_asked_for(task, operator):
    proposer = GeneticProposer(task, seed=1)
    examples = [await program(proposer, number) for number in (1, 2)]
    for number in range(5):
        asked = replace(prompt(operator, *examples), asks_thought=True)
        text = (await proposer.propose(asked, number)).text
        assert re.match(r"\{[A-Z][^{}\n]*\.\}\n\n```python\n", text)


async def test_a_program_it_cannot_read_gets_a_fresh_one(task):
    proposer = GeneticProposer(task, seed=3)
    deep = task.template.replace("return", "return " + 20_000 * "-", 1)
    for source in (task.template, "def broken(:", "import os\nos.abort()", "", deep):
        assert ast.parse(await program(proposer, 5, "improve", source))


async def test_a_number_that_no_float_holds_is_none_it_can_change():
    task = TravellingSalesman()
    proposer = GeneticProposer(task, seed=3)
    sources = [await program(proposer, number) for number in range(20)]
    huge = [re.sub(r"\b\d+\.\d+\b", "1" + 400 * "0", source) for source in sources]
    assert huge != sources
    for number, source in enumerate(huge):
        assert ast.parse(await program(proposer, number, "m2", source))


async def test_without_a_grammar_programs_bring_the_library_they_use():
    class Plain(TravellingSalesman):
        template = "def priority(weight: float, value: float) -> float:\n    return value\n"
        grammar = ""

    proposer = GeneticProposer(Plain(), seed=0)
    sources = [await program(proposer, number) for number in range(30)]
    assert any("np." in source for source in sources)
    assert not set().union(*(missing_names(source) for source in sources))


async def test_a_library_that_the_template_imports_is_imported_once():
    class Plain(TravellingSalesman):
        template = "import numpy as np\n\n\ndef priority(weight: float) -> float:\n    return np.abs(weight)\n"
        grammar = ""

    assert (await program(GeneticProposer(Plain(), seed=0), 0)).count("import numpy as np") == 1


async def test_a_timid_proposer_mostly_says_the_same_in_other_words(task):
    plain, timid = GeneticProposer(task, seed=1), GeneticProposer(task, seed=1, habit="timid")
    parents = [await program(plain, number) for number in range(2)]
    done = [outcome(task, source) for source in parents]

    async def shares(proposer):
        """Of 30 improvements: how many do exactly what a parent does, and how many of those are no copies."""
        same = [s for t in range(30) if outcome(task, s := await program(proposer, t, "improve", *parents)) in done]
        return len(same), len([source for source in same if source not in parents])

    same, reworded = await shares(timid)
    assert same > (await shares(plain))[0] + 5
    assert reworded > 2


async def test_a_biased_proposer_comes_back_to_the_same_ideas(task):
    async def ideas(habit):
        proposer = GeneticProposer(task, seed=1, habit=habit)
        rules = Counter()
        for number in range(60):
            rules.update(proposer._writer._read(await program(proposer, number)).rules())
        return sum(sorted(rules.values())[-3:]) / sum(rules.values())

    assert await ideas("biased") > await ideas("none")


def outcome(task, source):
    namespace = {}
    exec(source, namespace)
    instance = task.instances("validation")[0]  # the smaller ones
    with np.errstate(all="ignore"):
        return task.score(instance, task.solve(namespace[task.entry_point], instance))


@pytest.mark.parametrize(
    ("task", "instance"),
    [(CirclePacking(), Circles(8)), (OnlineBinPacking(), Items(np.arange(1, 100, 2)))],
    ids=["CirclePacking", "OnlineBinPacking"],
)
async def test_fresh_programs_solve_circle_and_bin_packing(task, instance):
    proposer = GeneticProposer(task, seed=1)
    scores = []
    for number in range(20):
        namespace = {}
        exec(await program(proposer, number), namespace)
        with np.errstate(all="ignore"):
            scores.append(task.score(instance, task.solve(namespace[task.entry_point], instance)))
    assert len(set(scores)) > 3


async def test_at_least_95_per_cent_of_proposals_are_feasible(task):
    proposer = GeneticProposer(task, seed=4)
    pool, failed = [], 0
    for number in range(60):
        random = np.random.default_rng(number)
        examples = [pool[int(index)] for index in random.permutation(len(pool))[:2]]
        source = await program(proposer, number, "improve" if len(pool) > 5 else "template", *examples)
        try:
            assert np.isfinite(outcome(task, source))
            pool.append(source)
        except (IndexError, ValueError, ArithmeticError):
            failed += 1
    assert failed <= 3


def test_it_is_not_asked_for_notes():
    assert not takes_notes(fitting({"proposer": "genetic"}))
