"""LLM4AD's and EoH's convention: classes that are handed a program's text and its function."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from behavesim.base.errors import TaskError
from behavesim.evaluators import rescore_class
from behavesim.evaluators.conventions import Description, classes, convention_named
from behavesim.evaluators.detection import convention_of
from behavesim.evaluators.needs import root_of
from behavesim.task.evaluated import EvaluatorFile
from tests.evaluators.judging import HERE, file_of, results


def described(place: str, root: str = "") -> Description:
    convention = convention_of(place)[0]
    return convention_named(convention).describe(EvaluatorFile(convention, place, "", root=root), True)


GREEDY = "def choose(capacity, weights, values):\n    return int(np.argmax(values / weights))\n"
GREATEST = "def choose(capacity, weights, values):\n    return int(np.argmax(values))\n"


def test_a_knapsack_is_scored_as_filled_by_hand():
    file = file_of("llm4ad", "judged/knapsack.py:Knapsack", entry_point="choose")
    first = "def choose(capacity: float, weights: np.ndarray, values: np.ndarray) -> int:\n    return 0\n"
    found = results(file, first, GREEDY, GREATEST, GREEDY.replace("return ", "return -1 * "), "x = 1", "def choose(:")
    # first: 3 + 4 + 4; greedy: the ratios are 1, 1, 0.8, 1.11, 1, so 9 goes first and nothing fits any more
    assert [each.score for each in found] == [11.0, 10.0, 10.0, None, None, None]
    assert found[3].failure == "the evaluator found the program invalid (it returned None)"
    assert found[4].failure == "the program defines no 'choose'"
    assert found[5].failure.startswith("SyntaxError")
    assert [each.steps for each in found[:3]] == [(0, 0, 0), (3,), (3,)] and found[0].traced == "calls"


def test_what_an_evaluator_asks_for_is_done_to_the_program():
    changed, compiled, unread = (
        results(file_of("llm4ad", f"judged/knapsack.py:{name}"), program)[0]
        for name, program in (
            ("Changed", "def f(x: float) -> float:\n    return np.random.rand() + x / 0.5\n"),
            ("Compiled", "def f(x: float) -> float:\n    return x / 3\n"),
            ("Unread", "no Python"),
        )
    )
    np.random.seed(3)
    assert changed.score == changed.metrics["again"] == np.random.rand() + 1.0
    assert compiled.score == 2.0 and compiled.metrics["goal 1"] == 1.0
    assert compiled.traced == "answers" and len(set(compiled.steps)) == 5  # one float: a step for each rounding
    assert unread.score == 9.0 and unread.metrics["goal 1"] == -1.0


def test_eohs_problems_take_classes_and_processes_find_functions_by_name():
    halving = """
class Searcher:
    def __init__(self, low, high):
        self.low, self.high, self.asked = low, high, deque()
    def ask(self, answer):
        if self.asked:
            if answer > 0:
                self.low = self.asked[-1] + 1
            else:
                self.high = self.asked[-1] - 1
        self.asked.append((self.low + self.high) // 2)
        return self.asked[-1]
"""
    counted = [0, 0]
    for place, wanted in enumerate((17, 64)):
        low, high, guess = 0, 100, -1
        while guess != wanted:
            guess, counted[place] = (low + high) // 2, counted[place] + 1
            low, high = (guess + 1, high) if guess < wanted else (low, guess - 1)
    stuck = "class Searcher:\n    def __init__(self, low, high): pass\n    def ask(self, answer): return 0\n"
    found, never = results(file_of("eoh", "judged/prob.py:Search", direction="minimise"), halving, stuck)
    assert found.score == sum(counted) / 2 and len(found.steps) == sum(counted) and found.steps[0] == 50
    assert never.score is None and "returned None" in never.failure
    (apart,) = results(file_of("eoh", "judged/prob.py:Apart", direction="minimise"), "def square(x): return x + 1")
    assert apart.score == 1.0 + 1.0 + 5.0


HALVING = (
    "def middle(low, high):\n    return (low + high) // 2\n\ndef guess(low, high):\n    return middle(low, high)\n"
)


def test_eohs_older_problems_execute_a_program_and_their_calls_are_recorded():
    file = file_of("eoh", "judged/older.py:Search", direction="minimise")
    found, stuck = results(file, HALVING, "def guess(low, high):\n    return 101\n")
    low, high, numbers = 0, 100, [50]  # by hand: halving finds 17 and 64
    while numbers[-1] != 17:
        low, high = (numbers[-1] + 1, high) if numbers[-1] < 17 else (low, numbers[-1] - 1)
        numbers.append((low + high) // 2)
    assert found.traced == "calls" and found.steps[: len(numbers)] == tuple(numbers)
    assert found.score == len(found.steps) / 2
    assert stuck.score is None and "returned None" in stuck.failure


def test_an_older_problem_is_detected_and_described_by_its_prompts():
    place = f"{HERE}/judged/older.py:Search"
    assert convention_of(place) == ("eoh", place)
    found = described(place)
    assert found.entry_point == "guess" and not found.template.strip()
    assert found.description.splitlines()[0] == "Find a number between 0 and 100." and "interval" in found.description
    with pytest.raises(TaskError, match="neither `evaluate_program` nor, as EoH's older problems, `prompts`"):
        described(f"{HERE}/judged/older.py:Mute")


def test_an_older_problem_judges_replies_again_without_the_program():
    problem = rescore_class.evaluation_of("judged/older.py:Search", HERE)
    names: dict = {}
    exec(HALVING, names)
    replies = rescore_class.collect_replies(problem, HALVING, names["guess"])
    assert float(rescore_class.judge_replies(problem, HALVING, replies)) == problem.evaluate_program(
        HALVING, names["guess"]
    )


def test_classes_are_described_with_their_template():
    found = described(f"{HERE}/judged/knapsack.py:Knapsack")
    assert found.entry_point == "choose" and found.description == "Fill a knapsack."
    assert found.template.startswith("import numpy as np\ndef choose(")
    found = described(f"{HERE}/judged/prob.py:Search")
    assert found.entry_point == "Searcher" and "from collections import deque" in found.template


DIVIDES = (
    "from __future__ import annotations\ndef g(a):\n    return a / 2\n\ndef f(a, b):\n    return g(a) / (b / a) // 1\n"
)


@pytest.mark.parametrize("delta", [0.5, 1e-5])
def test_protected_division_adds_delta_to_each_divisor(delta):
    names: dict = {}
    exec(classes.without_zero_division(DIVIDES, delta, False), names)
    drawn = random.Random(0)
    for a, b in ((drawn.uniform(1, 2), drawn.uniform(1, 2)) for _ in range(20)):
        assert names["f"](a, b) == (a / (2 + delta)) / (b / (a + delta) + delta) // 1
    assert names["g"](1.0) == 1.0 / (2 + delta)


def test_a_compiled_program_imports_numba_behind_future_imports():
    text = classes.remove_acceleration(DIVIDES, "f")
    assert text.splitlines()[:2] == ["from __future__ import annotations", "import numba"]
    assert "@numba.jit(nopython=True)\ndef f(a, b):" in text and "@numba.jit(nopython=True)\ndef g" not in text
    compile(classes.remove_acceleration(f'"""Divides."""\n{DIVIDES}', "f"), "program", "exec")


EVALUATION = """import numba
from llm4ad.base import Evaluation
from llm4ad.task.up.numbers import START
from .helper import rise

def evaluate(instance, function):
    return function(instance)

@numba.njit(cache=True)
def twice(x):
    return 2 * x

class Up(Evaluation):
    def __init__(self):
        super().__init__("def step(x: float) -> float:\\n    return x\\n")

    def evaluate_program(self, program_str, callable_func):
        return twice(rise(evaluate(START, callable_func)))
"""


def test_an_evaluation_inside_llm4ads_own_repository_runs_without_the_packages_that_it_imports(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": "",
        "llm4ad/__init__.py": "import nosuchpackage\n",
        "llm4ad/base/__init__.py": "import nosuchpackage\n",
        "llm4ad/task/__init__.py": "import nosuchpackage\n",
        "llm4ad/task/up/__init__.py": "",
        "llm4ad/task/up/numbers.py": "START = 3.0\n",
        "llm4ad/task/up/helper.py": "def rise(x):\n    return x + 1\n",
        "llm4ad/task/up/evaluation.py": EVALUATION,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    convention, place = convention_of(str(tmp_path / "llm4ad/task/up/evaluation.py"))
    assert (convention, place.rpartition(":")[2]) == ("llm4ad", "Up"), "its function `evaluate` is a helper"
    script = tmp_path / "llm4ad/task/up/evaluation.py"
    assert root_of(script.parent, [script]) == tmp_path
    said = described(place, str(tmp_path))
    assert said.entry_point == "step"
    (found,) = results(file_of("llm4ad", place, entry_point="step", root=str(tmp_path)), said.template)
    assert found.score == 8.0, found.failure
