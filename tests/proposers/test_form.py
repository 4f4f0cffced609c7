"""What replies are held to: a grammar that allows nothing but programs of the task, or a JSON schema."""

from __future__ import annotations

import json
import keyword
import random
import re
import string

import pytest

from behavesim.programs.extract import extract
from behavesim.programs.reading import Program
from behavesim.proposers.grammar import program_grammar
from behavesim.proposers.keywords import name_rules
from behavesim.proposers.openai_dialect import Dialect
from behavesim.proposers.openai_form import form_fields
from behavesim.proposers.openai_settings import OpenAISettings
from behavesim.task import TaskReference
from tests.engine.toys import Toy
from tests.proposers.gbnf import drawn, rules_of


@pytest.mark.parametrize("name", ["tsp", "asp", "cpp", "bin_packing"])
def test_whatever_the_grammar_allows_is_a_program_of_the_task(name: str) -> None:
    task = TaskReference(name).load()
    rules, rng = rules_of(program_grammar(task.template, task.entry_point)), random.Random(0)
    for _ in range(20):
        reply = drawn(rules, rng)
        found = extract(reply, task.template, task.entry_point, "stop")
        assert isinstance(found, Program), (found, reply)


def test_a_reply_held_to_the_schema_is_read_with_its_program() -> None:
    reply = json.dumps({"idea": "Count up.", "program": "def number() -> int:\n    return 4\n"})
    found = extract(reply, Toy.template, "number", "stop")
    assert isinstance(found, Program) and "return 4" in found.source


@pytest.mark.parametrize(
    ("wanted", "field"),
    [("json_schema", "response_format"), ("json_object", "response_format"), ("grammar", "grammar")],
)
def test_candidates_are_held_to_the_form_and_notes_are_not_until_the_model_refuses_it(wanted, field):
    dialect = Dialect(OpenAISettings(response_format=wanted), False, form_fields(wanted, Toy()))
    body = dialect.body("m", "prompt", 0)
    assert field in body and field in dialect.optional(body)
    assert field not in dialect.body("m", "prompt", -2)
    assert dialect.refuse("m", field)
    assert field not in dialect.body("m", "prompt", 1)
    assert field in dialect.body("another", "prompt", 1)


def test_no_name_of_the_grammar_is_a_keyword_and_every_other_one_is_allowed() -> None:
    name, rest = (rule.split(" ::= ")[1] for rule in name_rules())
    pattern = re.compile(name.replace("rest", rest).replace('"', "").replace(" ", ""))
    assert not [each for each in keyword.kwlist if pattern.fullmatch(each)]
    letters = string.ascii_lowercase + string.digits + "_"
    near = {each[:end] + letter for each in keyword.kwlist for end in range(1, len(each) + 1) for letter in letters}
    near |= {each[:end] for each in keyword.kwlist for end in range(1, len(each))}
    for each in {each for each in near if each.islower() and each[0].isalpha()} - set(keyword.kwlist):
        assert pattern.fullmatch(each), each
