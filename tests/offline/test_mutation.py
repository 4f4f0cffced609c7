"""The offline proposer on programs that an evaluator runs: it changes their text in place."""

from __future__ import annotations

import ast
import math
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from behavesim_offline import GeneticProposer, moves
from behavesim_offline.moves import PythonText, another, kind_of
from behavesim_offline.mutator import MUTATION_MOVES, Tokens, change_tokens

from behavesim.programs.answer import add_fence
from behavesim.programs.extract import extract, form_of
from behavesim.programs.reading import Program, Request
from behavesim.state.events import Prompt
from behavesim.task.evaluated import EvaluatorFile, EvaluatorTask, join_files, separate_files

RINGS = '''"""Twelve circles, ünïcode before the block."""
import math\t# a tab, and trailing blanks \t

# EVOLVE-BLOCK-START
def centres():
    """One in the middle, two rings around it."""
    points = [(0.5, 0.5)]
    for i in range(4):
        angle = 2 * math.pi * i / 4
        points.append((0.5 + 0.3 * math.cos(angle), 0.5 + 0.3 * math.sin(angle)))
    for i in range(7):
        angle = 2 * math.pi * i / 7
        points.append((0.5 + 0.35 * math.cos(angle), 0.5 + 0.35 * math.sin(angle)))
    return points
# EVOLVE-BLOCK-END

NAME = f"{7:>3} circles"
def run():
    return centres()
'''
BEFORE, BEHIND = RINGS.split("# EVOLVE-BLOCK-START")[0], RINGS.split("# EVOLVE-BLOCK-END")[1]
CPP = """#include <cstdio>
// at most 9 rounds
int main() {
    double rate = 0.25; int rounds = 10;
    printf("17 %f\\n", rate * rounds - 3);
}
"""
OPERATORS = ["template", "improve", "i1", "e1", "e2", "m1", "m2", "m3", "s1", "crossover", "mutation", "repair"]


def task_of(folder: Path, text: str, name: str = "program.py", **values: Any) -> EvaluatorTask:
    (folder / name).write_text(text)
    evaluator = str(folder / "evaluator.py")
    return EvaluatorTask(EvaluatorFile("openevolve", evaluator, str(folder / name), **values), "toy")


def prompt(operator: str, *programs: str) -> Prompt:
    return Prompt("\n\n".join(["Improve this.", *map(add_fence, programs)]), operator)


async def child(task: EvaluatorTask, number: int, operator: str, *shown: str, seed: int = 0) -> str:
    """Return the program in a reply, as a run reads it."""
    reply = await GeneticProposer(task, seed).propose(prompt(operator, *shown), number)
    found = extract(form_of(task), Request(reply.text, shown[0] if shown else task.template))
    assert isinstance(found, Program), (found, reply.text)
    return found.source


@pytest.mark.parametrize(("operator", "edits"), [*zip(OPERATORS, cycle(["full", "diff"]), strict=False)])
async def test_every_operator_gives_a_program_that_is_changed_within_its_blocks_alone(tmp_path, operator, edits):
    task = task_of(tmp_path, RINGS, edits=edits)
    other = RINGS.replace("range(7)", "range(math.floor(7.5))")
    found = {await child(task, number, operator, other, RINGS) for number in range(12)}
    for program in found:
        assert program.startswith(BEFORE) and program.endswith(BEHIND)
        ast.parse(program)
    assert len(found) > 6
    assert not found & {RINGS}


async def test_the_seed_and_the_number_alone_decide(tmp_path):
    task = task_of(tmp_path, RINGS)
    first = [await child(task, number, "improve", RINGS) for number in range(20)]
    assert first == [await child(task, number, "improve", RINGS) for number in range(19, -1, -1)][::-1]
    assert first != [await child(task, number, "improve", RINGS, seed=1) for number in range(20)]


async def test_an_operator_for_numbers_changes_numbers_alone(tmp_path):
    task = task_of(tmp_path, RINGS)
    for number in range(20):
        program = await child(task, number, "m2", RINGS)
        kinds = [[type(node) for node in ast.walk(ast.parse(text))] for text in (program, RINGS)]
        assert len(kinds[0]) - len(kinds[1]) in (0, 2, 4, 6)  # a negative number is an operation on one
        assert program != RINGS


async def test_parts_of_another_shown_program_are_taken_over(tmp_path):
    task = task_of(tmp_path, RINGS)
    other = RINGS.replace("math.pi * i / 7", "math.tau * math.sqrt(i) / 7")
    found = [await child(task, number, "crossover", other, RINGS) for number in range(30)]
    assert any("sqrt" in program for program in found)


async def test_of_other_languages_numbers_operators_and_names_change_and_not_those_in_text(tmp_path):
    task = task_of(tmp_path, CPP, "program.cpp")
    other = CPP.replace("int rounds = 10;", "int rounds = 12; // more")
    found = {await child(task, number, "improve", other, CPP) for number in range(60)}
    assert len(found) > 20
    joined_up = "".join(found)
    for part in ("rate + rounds", "rate * (rounds * ", "rate - 3", "// more"):
        assert part in joined_up
    for program in found:
        assert "// at most 9 rounds" in program and '"17 %f\\n"' in program
        assert "int main() {\n    double rate = " in program


async def test_files_without_markers_stay_if_another_has_them(tmp_path):
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "main.py").write_text(RINGS)
    (tmp_path / "program" / "data.py").write_text("limit = 3\n")
    task = EvaluatorTask(EvaluatorFile("openevolve", str(tmp_path / "e.py"), str(tmp_path / "program")), "toy")
    shown = join_files({"data.py": "limit = 3\n", "main.py": RINGS})
    for number in range(20):
        files = separate_files(await child(task, number, "improve", shown))
        assert files["data.py"].strip() == "limit = 3"
        assert files["main.py"].strip() != RINGS.strip()


@pytest.mark.parametrize(
    "text", ["print('hello')\n", "# EVOLVE-BLOCK-START\n# EVOLVE-BLOCK-END\nx = 3\n", "λ\n", "def (\n"]
)
async def test_a_program_in_which_nothing_can_change_is_returned(tmp_path, text):
    task = task_of(tmp_path, text, "program.txt" if "(" in text and "print" not in text else "program.py")
    reply = await GeneticProposer(task, 0).propose(prompt("improve", text), 0)
    assert text.strip() in reply.text


async def test_words_in_a_fenced_block_are_not_taken_for_a_program(tmp_path):
    task = task_of(tmp_path, "x = 1\n")
    reply = await GeneticProposer(task, 0).propose(prompt("improve", "x = 1\n", "stage 1: 17 of 20 passed"), 0)
    assert "passed" not in reply.text


@pytest.mark.parametrize("literal", ["9" * 308, "1e308", "9" * 400])
def test_a_number_that_is_too_large_to_change_stays(literal):
    assert {another(literal, np.random.default_rng(seed)) for seed in range(20)} == {literal}


@pytest.mark.parametrize("literal", ["0", "7", "0.0", "123456.5", "900000000000000", "9e14"])
def test_another_number_is_of_the_kind_of_the_first_and_no_larger_than_said(literal):
    found = {another(literal, np.random.default_rng(seed)).strip("()") for seed in range(60)}
    assert len(found - {literal}) > 1
    for number in found:
        assert abs(float(number)) <= 1e15
        assert number.removeprefix("-").isdigit() == literal.isdigit()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a and b and c\n", {"x = a or b and c\n", "x = a and b or c\n"}),
        ("x += 1\n", {"x -= 1\n", "x *= 1\n", "x /= 1\n"}),
        ("x //= (2)\n", {"x += (2)\n", "x -= (2)\n", "x *= (2)\n", "x /= (2)\n"}),
        ("x = (a) >= (b)\n", {"x = (a) > (b)\n", "x = (a) < (b)\n", "x = (a) <= (b)\n"}),
        ("x = a < b < c\n", {None}),
    ],
)
def test_an_operator_becomes_another_of_its_group(text, expected):
    program = PythonText.of(text, [(0, len(text))])
    assert program is not None
    found = {moves.operator(moves.Material(program, (), np.random.default_rng(seed))) for seed in range(60)}
    assert found == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *[(text, "truth") for text in ("not a", "a < b", "a or b", "True")],
        *[(text, "number") for text in ("1", "2.5", "-a", "a + b", "f(a)", "a.b", "a[0]", "a if b else c")],
        *[(text, "container") for text in ("[1]", "(1, 2)", "{}")],
        *[(text, "") for text in ("'text'", "None", "lambda: 1")],
    ],
)
def test_what_an_expression_counts_as_is_told_by_its_form(text, kind):
    assert kind_of(ast.parse(text, mode="eval").body) == kind


def test_equal_numbers_change_together_on_lines_next_to_each_other_alone():
    text = "a = 1\nb = 1\nx = 2\nc = 1\n"
    program = PythonText.of(text, [(0, len(text))])
    assert program is not None
    before, changed_lines = text.splitlines(), set()
    for seed in range(60):
        found = moves.number(moves.Material(program, (), np.random.default_rng(seed)))
        assert found is not None
        changed_lines.add("".join(old[0] for old, new in zip(before, found.splitlines(), strict=True) if old != new))
    assert {"a", "b", "ab", "c", "x"} <= changed_lines <= {"", "a", "b", "ab", "c", "x"}


def test_a_place_knows_what_its_function_binds_on_earlier_lines():
    text = "def f(a):\n    b = len(a)\n    c = b\n    return c\n"
    program = PythonText.of(text, [(0, len(text))])
    assert program is not None
    places = {program.text(place): place for place in program.places}
    known = {
        place: [n for n in ("a", "b", "c", "sum") if program.knows(frozenset({n}), places[place])] for place in "abc"
    }
    assert known == {"a": ["a", "sum"], "b": ["a", "b", "sum"], "c": ["a", "b", "c", "sum"]}


def test_no_lines_are_taken_from_a_program_that_is_the_same():
    def taken(*others):
        tokens = Tokens(CPP, ((0, len(CPP)),), others, np.random.default_rng(0))
        return change_tokens(tokens, moves.crossover)

    assert taken(CPP.replace("10;", "12;")) == (CPP.replace("10;", "12;"), moves.crossover)
    assert taken(CPP)[1] == taken()[1] == moves.number


def test_no_decorator_is_a_place_to_change():
    text = "@first(1)\nclass A:\n    @second(2)\n    def f(self):\n        return 3\n"
    program = PythonText.of(text, [(0, len(text))])
    assert program is not None
    places = {program.text(place) for place in program.places}
    assert "3" in places and not places & {"first(1)", "first", "1", "second(2)", "second", "2"}


def packed(program: str) -> float:
    """Return the sum of the radii of 12 circles in the unit square, 0 if the program fails."""
    names: dict[str, Any] = {}
    try:
        exec(compile(program, "program", "exec"), names)
        points = [(float(x), float(y)) for x, y in names["run"]()]
    except (ArithmeticError, LookupError, NameError, TypeError, ValueError, AttributeError):
        return 0.0
    if len(points) != 12 or not all(map(math.isfinite, (each for point in points for each in point))):
        return 0.0
    radii = [
        min([x, y, 1 - x, 1 - y] + [math.dist((x, y), other) / 2 for j, other in enumerate(points) if i != j])
        for i, (x, y) in enumerate(points)
    ]
    return sum(max(radius, 0.0) for radius in radii)


async def test_a_hundred_candidates_improve_a_packing(tmp_path):
    task = task_of(tmp_path, RINGS)
    kept = [(packed(RINGS), RINGS)]
    for number in range(100):
        shown = [program for _, program in sorted(kept)[-2:]]
        program = await child(task, number, "improve", *shown)
        kept.append((packed(program), program))
    assert max(kept)[0] > 1.1 * packed(RINGS)


def test_the_operators_with_moves_of_their_own_are_known():
    assert set(MUTATION_MOVES) <= set(OPERATORS)
