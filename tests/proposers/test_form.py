"""What replies are held to: a grammar that allows nothing but programs of the task, or a JSON schema."""

from __future__ import annotations

import json
import keyword
import math
import random
from bisect import bisect

import numpy as np
import pytest

from behavesim.base.errors import UsageError
from behavesim.programs.extract import extract
from behavesim.programs.reading import FunctionForm, Program, Request
from behavesim.proposers.openai_settings import OpenAISettings, RequestBuilder, program_grammar
from behavesim.task import TaskReference
from behavesim.task.evaluated import EvaluatorFile, EvaluatorTask
from tests.engine.toys import Toy
from tests.proposers.gbnf import drawn, rules_of


@pytest.mark.parametrize("name", ["tsp", "asp", "cpp", "bin_packing"])
def test_whatever_the_grammar_allows_is_a_program_of_the_task(name: str) -> None:
    task = TaskReference(name).load()
    rules, rng = rules_of(program_grammar(task.template, task.entry_point)), random.Random(0)
    for _ in range(20):
        reply = drawn(rules, rng)
        found = extract(FunctionForm(task.template, task.entry_point), Request(reply, finish_reason="stop"))
        assert isinstance(found, Program), (found, reply)


def test_a_reply_held_to_the_schema_is_read_with_its_program() -> None:
    reply = json.dumps({"idea": "Count up.", "program": "def number() -> int:\n    return 4\n"})
    found = extract(FunctionForm(Toy.template, "number"), Request(reply, finish_reason="stop"))
    assert isinstance(found, Program) and "return 4" in found.source


@pytest.mark.parametrize(
    ("wanted", "field"),
    [("json_schema", "response_format"), ("json_object", "response_format"), ("grammar", "grammar")],
)
def test_candidates_are_held_to_the_form_and_notes_are_not_until_the_model_refuses_it(wanted, field):
    builder = RequestBuilder(OpenAISettings(response_format=wanted), Toy(), "127.0.0.1")
    body = builder.body("m", "prompt", 0)
    assert field in body and field in builder.terms(body).optional
    assert field not in builder.body("m", "prompt", -2)
    assert builder.refuse("m", field)
    assert field not in builder.body("m", "prompt", 1)
    assert field in builder.body("another", "prompt", 1)


def test_the_grammar_knows_parameters_its_own_names_and_functions_of_what_is_imported() -> None:
    imports = "import math\nimport numpy as xp\nimport other\nfrom bisect import bisect as find\n"
    template = f"{imports}\n\ndef f(a_b, /, c_d=1, *, e):\n    pass\n"
    rules = rules_of(program_grammar(template, "f"))
    own = {json.loads(each) for each in rules["own"] if each != "|"}
    functions = {json.loads(each) for each in rules["function"] if each != "|"}
    assert {json.loads(each) for each in rules["name"] if each != "|"} == own | {"a_b", "c_d", "e"}
    assert {"len", "math.sqrt", "xp.argmin", "find"} <= functions
    assert not [each for each in functions if each.startswith("other") or keyword.iskeyword(each)]
    for each in functions:  # all of them exist
        assert callable(eval(each, {"math": math, "xp": np, "find": bisect}))


def test_attributes_of_the_grammar_are_those_of_arrays_or_lists() -> None:
    rules = rules_of(program_grammar(Toy.template, "number"))
    known = {*dir(np.zeros(1)), *dir([])}
    assert {json.loads(each) for each in rules["attribute"] if each != "|"} <= known


@pytest.mark.parametrize("wanted", ["grammar", "json_object", "json_schema"])
def test_a_program_that_is_no_function_is_held_to_no_form(wanted, tmp_path) -> None:
    (tmp_path / "first.txt").write_text("1\n")
    task = EvaluatorTask(EvaluatorFile("command", "judge {program}", str(tmp_path / "first.txt")), "judged")
    with pytest.raises(UsageError, match=f"response_format={wanted} needs a task that asks for a Python function"):
        RequestBuilder(OpenAISettings(response_format=wanted), task, "127.0.0.1")
    assert RequestBuilder(OpenAISettings(), task, "127.0.0.1").body("m", "prompt", 0).keys() >= {"model", "messages"}
