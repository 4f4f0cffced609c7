"""From replies to programs: every fixture, what comes with it, and whatever else hypothesis thinks of."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from behavesim.programs import answer
from behavesim.programs.answer import fenced_blocks
from behavesim.programs.extract import WholeForm, extract
from behavesim.programs.parsing import LONGEST_PROGRAM, program_hash
from behavesim.programs.reading import REASONS, FunctionForm, Program, Request
from behavesim.task.verdict import Failure
from tests.programs.forms import REFUSED, TAKEN
from tests.programs.replies import ACCEPTED, HOSTILE, PICK, REJECTED, Case, fenced

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning")


def run(source: str) -> Any:
    scope: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(source, "<program>", "exec", dont_inherit=True), scope)
    return scope["pick"](0, [1, 2], None)


@pytest.mark.parametrize("accepted", [*ACCEPTED.values(), *TAKEN.values()], ids=[*ACCEPTED, *TAKEN])
def test_a_reply_with_a_program_gives_one_that_runs(accepted: Case) -> None:
    program = extract(PICK, Request(accepted.text, finish_reason=accepted.finish_reason))
    assert isinstance(program, Program), program
    assert run(program.source) == accepted.gives
    assert program.thought == ""


@pytest.mark.parametrize("rejected", [*REJECTED.values(), *REFUSED.values()], ids=[*REJECTED, *REFUSED])
def test_a_reply_without_a_program_gives_the_reason(rejected: Case) -> None:
    failure = extract(PICK, Request(rejected.text, finish_reason=rejected.finish_reason))
    assert isinstance(failure, Failure), failure
    assert failure.reason == rejected.reason
    assert rejected.says in failure.message
    assert 0 < len(failure.message) <= 500


def test_there_are_fixtures_enough_and_every_reason_has_one() -> None:
    assert len(ACCEPTED) + len(REJECTED) >= 60
    assert {case.reason for case in REJECTED.values()} == set(REASONS)


def test_a_program_is_returned_as_it_was_written() -> None:
    code = '# why\ndef pick(a, b, c):  # odd   spacing\n    """doc"""\n    return b [ -1 ]'
    program = extract(PICK, Request(fenced(code)))
    assert program == Program(code, "", program_hash(code))


def test_an_import_that_is_lacking_stands_before_the_program_and_nothing_more_does() -> None:
    code = "def pick(a, b: Sequence, c):\n    math = 1\n    return np.max(weigh(a))"
    program = extract(PICK, Request(fenced(code)))
    assert isinstance(program, Program)
    assert program.source == f"import numpy as np\nfrom typing import Sequence\n\n{code}"


@pytest.mark.parametrize(("value", "reason"), [("nodes[-1]", ""), ("math.pi", "too-long")])
def test_a_program_that_is_too_long_with_the_import_that_it_lacks_is_refused(value: str, reason: str) -> None:
    program = f"def pick(current, nodes, distances):\n    return {value}\n"
    found = extract(PICK, Request(fenced(program + "#" * (LONGEST_PROGRAM - len(program) - 5))))
    assert (found.reason if isinstance(found, Failure) else "") == reason


@pytest.mark.parametrize("form", [PICK, WholeForm("x = 1\n")], ids=["function", "whole"])
def test_a_reply_too_long_to_be_read_is_told(form: FunctionForm | WholeForm) -> None:
    found = form.read(Request("so " * 200_000), has_limits=True)
    assert found == Failure("too-long", "the reply has 600000 characters; at most 500000 are read")


def test_a_syntax_error_is_named_with_its_line() -> None:
    failure = extract(PICK, Request(fenced("def pick(a, b, c):\n    x = 1\n    return x +")))
    assert isinstance(failure, Failure)
    assert failure.message.startswith("line 3: invalid syntax: return x +")


def test_extraction_prints_no_warning() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        extract(PICK, Request(fenced("def pick(a, b, c):\n    return a is 1 and '\\d'")))
    assert caught == []


def test_of_many_blocks_the_last_hundred_are_read() -> None:
    others = fenced("x = 1")
    assert isinstance(extract(PICK, Request("\n".join([CODE, *[others] * 99]))), Program)
    assert isinstance(extract(PICK, Request("\n".join([CODE, *[others] * 100]))), Failure)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I cannot do that. " * 99, "refusal"),
        ("It is so. " * 99, "no-function"),
        (fenced("def pick(a, b, c, *, " + ", ".join(f"parameter_{n}" for n in range(99)) + "): ..."), "signature"),
        (fenced("x = 1 " + "y" * 999), "syntax"),
    ],
)
def test_a_long_message_is_cut_at_500_characters(text: str, reason: str) -> None:
    failure = extract(PICK, Request(text))
    assert isinstance(failure, Failure)
    assert (failure.reason, len(failure.message)) == (reason, 500)


CODE = "```python\ndef pick(a, b, c):\n    return b\n```"


@pytest.mark.parametrize(
    ("text", "thought"),
    [
        (f"{{Go to the node that\nothers are far from.}}\n\n{CODE}", "Go to the node that others are far from."),
        (f"Thought: {{Prefer dense regions, O(n^2).}}\n{CODE}", "Prefer dense regions, O(n^2)."),
        (f"Go to the nearest node first.\n\n{CODE}", "Go to the nearest node first."),
        (f"<think>{{not this one}}</think>{{but this one}}\n{CODE}", "but this one"),
        (f"{CODE}\n{{The sentence came after it.}}", "The sentence came after it."),
        ("{Nearest node first.}\ndef pick(a, b, c):\n    return b", "Nearest node first."),
        (CODE, ""),
    ],
)
def test_a_thought_is_found_in_braces_or_before_the_code(text: str, thought: str) -> None:
    program = extract(PICK, Request(text, thought=True))
    assert isinstance(program, Program)
    assert program.thought == thought


def test_a_thought_has_an_end() -> None:
    program = extract(PICK, Request(f"{'very long ' * 500}\n{CODE}", thought=True))
    assert isinstance(program, Program)
    assert 500 < len(program.thought) <= 1000


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", []),
        ("no ```inline``` fence", []),
        ("```\na\n```\n~~~\nb\n~~~", ["a", "b"]),
        ("```py\na\n  b\n\n```", ["a\n  b\n"]),
        ("````\n```\na\n```\n````", ["```\na\n```"]),
        ("```python\na", ["a"]),
        ("  ```\n  a\n    b\n  ```", ["a\n  b"]),
        ("```\n```", [""]),
    ],
)
def test_fenced_blocks_are_found_whatever_their_label(text: str, blocks: list[str]) -> None:
    assert fenced_blocks(text) == blocks


PIECES = [
    *(
        "```",
        "```python",
        "~~~",
        "\n",
        "\n\n",
        "    ",
        "\t",
        "\r\n",
        "\ufeff",
        "\0",
        "<think>",
        "</think>",
        "It's prose.",
    ),
    *(
        "def pick(",
        "a, b, c",
        "nodes",
        "):",
        "return",
        " b",
        "pick",
        "=",
        "lambda",
        "'",
        '"""',
        "#",
        "{",
        "}",
        "(",
        ")",
    ),
    *("import math", "class A:", "@", "async ", "global x", "nonlocal y", "yield", "try:\n", "except:\n", ":=", "*"),
    *("if __name__ == '__main__':", "from __future__ import annotations\n"),
    *(f"def {name}(a, b, c):\n    return b\n" for name in ("pick", "other")),
]
WORDS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=40).map("".join)
FINISHED = st.sampled_from(["stop", "length", "content_filter", "tool_calls", None])


def holds(text: str, finish_reason: str | None) -> None:
    """What must be true of every reply."""
    outcome = extract(PICK, Request(text, finish_reason=finish_reason, thought=True))
    if isinstance(outcome, Failure):
        assert outcome.reason in REASONS
        assert len(outcome.message) <= 500
    else:
        assert len(outcome.source) <= LONGEST_PROGRAM
        assert len(outcome.thought) <= 1000
        assert outcome.hash == program_hash(outcome.source)
        compile(outcome.source, "<program>", "exec", dont_inherit=True)
        names = {getattr(node, "name", None) for node in ast.walk(ast.parse(outcome.source))}
        assert "pick" in names or "pick =" in outcome.source or "pick:" in outcome.source.replace(" ", "")


@settings(max_examples=70)
@given(text=WORDS, finish_reason=FINISHED)
def test_no_reply_raises_and_no_accepted_program_lacks_the_entry_point(text: str, finish_reason: str | None) -> None:
    holds(text, finish_reason)


@settings(max_examples=40)
@given(data=st.data(), finish_reason=FINISHED)
def test_damaged_replies_do_not_raise_either(data: st.DataObject, finish_reason: str | None) -> None:
    text = data.draw(st.sampled_from([case.text for case in [*ACCEPTED.values(), *REJECTED.values()]]))
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    holds(text[:start] + data.draw(WORDS) + text[end:], finish_reason)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_long_and_hostile_reply_is_read_before_the_test_is_over(text: str) -> None:
    holds(text, "stop")


PRIORITY = FunctionForm("def priority(item, bins):\n    return bins\n", "priority")
UNSEEN = ("\u00a0", "\ufeff", "\u200b", "\u2028", "\f")
TAGS = ("<think>", "</think>", "<seed:think>", "</reasoning>", "</s>", "<|im_end|>", "<|start|>assistant")
HELD = ("\n", " ", "x", '["def f(a): return a"]', '{"code": "f = lambda a: a"}', "<<<<<<< SEARCH", "```", "~~~", "````")
TEXTS = st.lists(st.sampled_from((*UNSEEN, *TAGS, *HELD)), max_size=12).map("".join)


@settings(max_examples=80)
@given(inside=TEXTS, before=st.sampled_from(("", "So, 1\u00a0+ 1:", "<think>no ```python\nx</think>", "no</think>")))
def test_every_character_of_a_models_program_stays(inside: str, before: str) -> None:
    source = f'def priority(item, bins):\n    """\n{inside}\n    """\n    return bins'
    program = extract(PRIORITY, Request(f"{before}\n{answer.add_fence(source)}\nDone.</s>"))
    assert isinstance(program, Program), program
    assert program.source == source


@settings(max_examples=50)
@given(inside=st.lists(st.sampled_from((*UNSEEN, *TAGS, *HELD, "```python")), max_size=12).map("".join))
def test_every_character_of_a_persons_program_stays(inside: str) -> None:
    source = f'def priority(item, bins):\n    """\n{inside}\n    """\n    return bins'
    program = extract(PRIORITY, Request(answer.add_fence(source), is_own=True))
    assert isinstance(program, Program), program
    assert program.source == source
    whole = extract(WholeForm("x = 1\n"), Request(answer.add_fence(source), is_own=True))
    assert isinstance(whole, Program), whole
    assert whole.source == source + "\n"


@pytest.mark.parametrize("form", [PRIORITY, WholeForm("x = 1\n")], ids=["function", "whole"])
def test_spaces_that_python_refuses_are_made_plain_in_a_models_program_and_named_in_a_persons(form: Any) -> None:
    text = answer.add_fence("def priority(item, bins):\n\u00a0\u00a0return bins")
    program = extract(form, Request(text))
    assert isinstance(program, Program), program
    assert program.source.strip() == "def priority(item, bins):\n  return bins"
    refused = extract(form, Request(text, is_own=True))
    assert isinstance(refused, Failure), refused
    assert "U+00A0" in refused.message


@pytest.mark.parametrize("inside", ["", "```", "```python", "````", "~~~"])
def test_a_program_in_its_own_fence_is_found_whole_whatever_its_text_holds(inside: str) -> None:
    source = f'def priority(item, bins):\n    """\n{inside}\n    """\n    return bins'
    program = extract(PRIORITY, Request(answer.add_fence(source)))
    assert isinstance(program, Program)
    assert program.source.strip() == source
