"""Evaluators that cannot be loaded are told in one clear line."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest

from behavesim.base.errors import UsageError
from behavesim.evaluators.detection import convention_of
from behavesim.evaluators.modules import StandIns
from tests.evaluators.judging import HERE, file_of, results

LLM4AD = "from llm4ad.base import Evaluation\nclass Own(Evaluation):\n"


@pytest.mark.parametrize(
    ("convention", "text", "said"),
    [
        ("openevolve", "x = (", r"line 1 is no Python"),
        (
            "openevolve",
            "import nowhere.at_all\n",
            r"imports 'nowhere', which is not installed: python -m pip install nowhere",
        ),
        ("openevolve", "x = 1\n", r"has no function `evaluate\(program_path\)`; write it"),
        ("openevolve", "1 / 0\n", r"ZeroDivisionError: division by zero"),
        ("openevolve", "open('/none/such')\n", r"FileNotFoundError: .*/none/such"),
        ("openevolve", "import sys\nsys.exit(2)\n", r"it ends when it is imported; put .* below `if __name__"),
        ("openevolve", "import helper_of_mine\n", r"'helper_of_mine', which is not installed"),
        ("shinka", "--program_path = --results_dir", r"line 1 is no Python"),
        ("shinka", "from nowhere import x\n", r"'nowhere', which is not installed"),
        ("shinka", "from shinka.core import EvolutionConfig\n", r"cannot import name 'EvolutionConfig'"),
        ("llm4ad:Own", LLM4AD + "    pass\n", r"abstract method.*evaluate_program"),
        ("llm4ad:Other", LLM4AD + "    pass\n", r"there is no 'Other' in .*; write the evaluator as module:Class"),
        ("llm4ad:Own", "class Own: pass\n", r"has no method `evaluate_program\(program_str, callable_func\)`"),
        (
            "llm4ad:Own",
            LLM4AD + "    def __init__(self, size): pass\n    def evaluate_program(self, s, f): pass\n",
            r"cannot be made without arguments: .*size.*; import Own in a file beside it, write `evaluation = Own",
        ),
        (
            "eoh:Own",
            "class Own:\n    template_program = 'def f(:'\n    def evaluate_program(self, s, f): pass\n",
            r"template_program is no Python: line 1",
        ),
        (
            "eoh:Own",
            "class Own:\n    def evaluate_program(self, s, f): pass\n",
            r"template_program defines no function and no class",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, convention, text, said):
    place = tmp_path / "evaluator.py"
    place.write_text(text)
    name, _, cls = convention.partition(":")
    with pytest.raises(Exception, match=said) as raised:
        results(file_of(name, f"{place}:{cls}" if cls else str(place)), "")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("place", "convention"),
    [
        ("circles/evaluator.py", "openevolve"),
        ("noisy/evaluator.py", "openevolve"),
        ("sorting/evaluate.py", "shinka"),
        ("judged/knapsack.py:Knapsack", "llm4ad"),
        ("judged/prob.py:Search", "eoh"),
    ],
)
def test_each_evaluator_is_recognised(place, convention):
    assert convention_of(str(HERE / place)) == (convention, str(HERE / place))


def test_commands_and_modules_are_recognised():
    assert convention_of("command: ./judge {program}") == ("command", "./judge {program}")
    assert convention_of("llm4ad.task.optimization.tsp_construct:TSPEvaluation")[0] == "llm4ad"
    assert convention_of("eoh.own:Problem")[0] == "eoh"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:", "no Python"),
        ("def other(path): pass", "has neither a function `evaluate"),
        ("from elsewhere import evaluate", ""),
        ("from elsewhere import judge as evaluate", ""),
        ("async def evaluate(path): pass", ""),
        ("evaluate = print", ""),
        ("def evaluate_stage1(path): pass", ""),
    ],
)
def test_a_file_needs_a_function_of_one_of_the_names(tmp_path, text, said):
    place = tmp_path / "e.py"
    place.write_text(text)
    if not said:
        assert convention_of(str(place)) == ("openevolve", str(place))
        return
    with pytest.raises(UsageError, match=re.escape(said)):
        convention_of(str(place))
    with pytest.raises(UsageError, match=r"no Python|has no class 'None'"):
        convention_of(f"{place}:None")


def test_in_place_of_a_folder_or_another_file_the_evaluators_there_are_named(tmp_path):
    (tmp_path / "evaluator").mkdir()
    place = tmp_path / "evaluator/evaluator.py"
    place.write_text("def evaluate(path): pass\n")
    (tmp_path / "helpers.py").write_text("def other(): pass\n")
    for wrong in (tmp_path, tmp_path / "evaluate.py", tmp_path / "helpers.py"):
        with pytest.raises(UsageError, match=re.escape(f"; perhaps {place} is meant; name a")):
            convention_of(str(wrong))
    with pytest.raises(UsageError, match=r"there is no evaluator 'nowhere/evaluator.py'; name a"):
        convention_of("nowhere/evaluator.py")


def test_an_object_that_a_file_makes_of_a_class_with_arguments_is_an_evaluator(tmp_path):
    text = "    template_program = 'def f(): return 1'\n    def __init__(self, size): self.size = size\n"
    (tmp_path / "sized.py").write_text(LLM4AD + text + "    def evaluate_program(self, s, f): return self.size * f()\n")
    place = tmp_path / "mine.py"
    place.write_text("from sized import Own\n\nevaluation = Own(3)\n")
    assert convention_of(f"{place}:evaluation") == ("llm4ad", f"{place}:evaluation")
    (found,) = results(file_of("llm4ad", f"{place}:evaluation"), "def f():\n    return 2\n")
    assert found.score == 6
    with pytest.raises(UsageError, match="no class 'other'"):
        convention_of(f"{place}:other")


def test_a_stand_in_is_found_though_a_module_without_a_name_is_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "", ModuleType(""))
    finder = StandIns({"no_such.package": {}})
    assert finder.find_spec("no_such", None).loader is finder
    assert finder.find_spec("no_such_either", None) is None
    monkeypatch.setitem(sys.modules, "no_such", ModuleType("no_such"))  # as if it were installed
    assert finder.find_spec("no_such.package", None) is None
