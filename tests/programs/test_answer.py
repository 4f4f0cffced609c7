"""What a model answers, apart from what it thinks and how it is wrapped."""

from __future__ import annotations

import json

import pytest

from behavesim.programs.answer import answer, clean, interruption


def test_a_text_is_cleaned_of_what_python_refuses_and_nobody_sees() -> None:
    assert clean("\ufeffa\r\nb\rc\u200b\u00a0=\u2028\f1") == "a\nb\nc = 1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>a</think>b<thought>c</thought>d", "bd"),
        ("a</THINK>b", "b"),
        ("a<think>b", "a"),
        ("<seed:think>a</seed:think>b", "b"),
        ("a<|im_end|>", "a"),
        ("a</s>", "a"),
        ("```\n<think>\u00a0</s>\n```</s>\n<think>a</think>", "```\n<think>\u00a0</s>\n```"),
        ("```\nx</s>", "```\nx"),
        (
            "<<<<<<< SEARCH\n</s>\n=======\n\u00a0\n>>>>>>> REPLACE\u00a0",
            "<<<<<<< SEARCH\n</s>\n=======\n\u00a0\n>>>>>>> REPLACE",
        ),
        ("if a <b and c|d> 0", "if a <b and c|d> 0"),
    ],
)
def test_thoughts_are_set_aside_and_special_tokens_are_gone(text: str, said: str) -> None:
    assert answer(text).strip() == said


def test_a_model_that_only_thinks_says_that_unless_it_was_cut_off() -> None:
    assert answer("<think>a</think>").strip() == "<think>a</think>"
    assert answer("<think>a", is_whole=False) == ""


F = "def f(a):\n    return a"
FENCED = f"```python\n{F}\n```"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps({"thought": "Why.", "code": F}), ["Why.", FENCED]),
        (f"So:\n```json\n{json.dumps([F])}\n```\nDone.", ["So:", FENCED, "Done."]),
        (f"So:\n~~~\n{json.dumps([F])}\n~~~", ["So:", FENCED]),
        (f"So:\n```\n{json.dumps([F])}", ["So:", FENCED]),
        (f"{{not JSON}}\n[nor this]\n{json.dumps([F])}", ["{not JSON}", "[nor this]", FENCED]),
        (f"  {json.dumps([F])} and {json.dumps([F])}", [FENCED, f"and {json.dumps([F])}"]),
        (json.dumps([["f = lambda a: a"]]), ["```python", "f = lambda a: a", "```"]),
        (json.dumps([f"Here:\n{FENCED}"]), ["Here:", FENCED]),
        (json.dumps({"name": "write", "arguments": json.dumps({"code": F, "k": 3})}), [FENCED]),
        (json.dumps({"name": "write", "parameters": {"code": F}}), [FENCED]),
        (json.dumps([{"type": "tool_use", "input": {"code": F}}]), [FENCED]),
        ("[" * 500 + json.dumps(F) + "]" * 500, [FENCED]),
        (json.dumps({"code": F.replace("\n", "\r\n")}), [FENCED]),
        ('{"code": "' + F + '"}', [FENCED]),
    ],
)
def test_code_in_json_stands_in_fenced_blocks_instead(text: str, said: list[str]) -> None:
    assert [line.strip(" ") for line in answer(text).split("\n") if line.strip()] == [
        line.strip(" ") for line in "\n".join(said).split("\n")
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"thought": "def is no function here"}',
        '{"code": "' + F,
        "{Go to the node that is nearest.}\n" + FENCED,
        f"{F}\nx = {{\n  'a': 1}}\n[2]",
        "[" * 100_000 + F,
        f"x = {json.dumps({'code': F})}",
        f"```python\nx = [\n{json.dumps([F])}\n]\n```",
    ],
)
def test_all_else_stays_as_it_is(text: str) -> None:
    assert answer(text) == text


@pytest.mark.parametrize(
    ("finish_reason", "meant"),
    [
        *((name, "truncated") for name in ("length", "max_tokens", "MAX_TOKENS", "model_length")),
        ("content_filter", "refusal"),
        ("CONTENT_FILTER", "refusal"),
        ("stop", None),
        ("tool_calls", None),
        (None, None),
    ],
)
def test_an_interruption_is_known_by_the_names_that_endpoints_give_it(
    finish_reason: str | None, meant: str | None
) -> None:
    assert interruption(finish_reason) == meant
