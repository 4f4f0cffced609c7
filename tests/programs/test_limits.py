"""What it costs to read a reply is bounded, whatever stands in it."""

from __future__ import annotations

import ast
import errno
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from behavesim.base.errors import BehavesimError, TaskError
from behavesim.programs import extract as extracting
from behavesim.programs import parsing
from behavesim.programs.extract import extract
from behavesim.programs.parsing import (
    PLAIN_BRACKETS,
    PLAIN_CHARACTERS,
    NeedsLimits,
    Parser,
    TooComplex,
    compiled_size,
    is_plain,
)
from behavesim.programs.reading import FunctionForm, Program, Request
from behavesim.task.verdict import Failure
from tests.programs.replies import ACCEPTED, BODY, PICK, REJECTED, TEMPLATE, fenced

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _processes_that_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here they begin as they do for people."""
    monkeypatch.setattr(extracting, "subprocess", subprocess)


def finally_within_finally(depth: int) -> str:
    tries = "".join(f"{' ' * k}try:\n{' ' * k} pass\n{' ' * k}finally:\n" for k in range(depth))
    return f"{tries}{' ' * depth}pass"


def exits(count: int, last: int) -> str:
    inner = " try:\n  try:\n" + "   if a: return\n" * count + "  finally:\n   a\n"
    return f"def f(a):\n{inner} finally:\n" + "  a\n" * last


def captures(names: int, ways: int) -> str:
    row = [f"a{k}" for k in range(names)]
    ways_ = " | ".join(f"[{', '.join(row[::step])}]" for step in (1, -1) * ways)
    return f"match x:\n case {ways_}: pass"


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes(each)


MULTIPLIED = {
    **{f"finally nested {depth} deep": finally_within_finally(depth) for depth in (1, 5, 10)},
    **{f"{count} exits over {last} statements": exits(count, last) for count, last in ((1, 300), (300, 1), (50, 100))},
    **{f"{names} captures, {2 * ways} ways": captures(names, ways) for names, ways in ((3, 2), (100, 2), (20, 30))},
}


@pytest.mark.parametrize("code", MULTIPLIED.values(), ids=MULTIPLIED)
def test_the_size_of_what_is_compiled_is_known_before(code: str) -> None:
    size = sum(len(each.co_code) for each in codes(compile(code, "<program>", "exec")))
    known = compiled_size(compile(code, "<program>", "exec", 1 << 10))[0]  # a tree
    assert size <= 12 * known


def test_the_size_of_nested_finally_clauses_is_found_in_one_pass() -> None:
    assert compiled_size(ast.parse(finally_within_finally(40)))[0] > 2**40


@pytest.mark.parametrize("code", [finally_within_finally(1), exits(1, 1), captures(2, 1)])
def test_statements_that_can_be_multiplied_are_not_plain(code: str) -> None:
    assert not is_plain(code)


@pytest.mark.parametrize(
    ("code", "plain"),
    [
        ("x = 1  # in this case, finally", True),
        ("'''\nIn case\n'''", True),
        ("case = finally_ = 1", False),  # it begins as the statement does
        ("x" * PLAIN_CHARACTERS, True),
        ("x" * (PLAIN_CHARACTERS + 1), False),
        ("(" * PLAIN_BRACKETS + ")" * PLAIN_BRACKETS, True),
        ("([" * PLAIN_BRACKETS, False),
        ("()" * 1000 + ")" * 50, True),
    ],
)
def test_a_plain_program_is_short_and_flat(code: str, plain: bool) -> None:
    assert is_plain(code) is plain


def test_what_is_not_plain_is_parsed_only_where_there_are_limits() -> None:
    code = finally_within_finally(2)
    with pytest.raises(NeedsLimits):
        Parser(has_limits=False).parse(code)
    assert Parser(has_limits=True).parse(code).source == code


def test_no_more_is_parsed_for_a_reply_than_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "PARSED_AT_MOST", 25)
    parser = Parser(has_limits=False)
    parser.parse("x = 1234567890")
    with pytest.raises(TooComplex, match="more than 25 characters"):
        parser.parse("y = 1234567890")


@pytest.mark.parametrize("code", [finally_within_finally(19), exits(900, 2000), captures(200, 7)])
def test_a_program_that_python_would_multiply_is_too_complex(code: str) -> None:
    failure = extract(PICK, Request(fenced(f"{BODY}\n{code}")))
    assert isinstance(failure, Failure)
    assert failure.reason == "too-complex"


def test_another_block_still_counts() -> None:
    program = extract(PICK, Request(f"{fenced(BODY)}\nor\n{fenced(finally_within_finally(19))}"))
    assert isinstance(program, Program)
    assert program.source == BODY


def test_the_process_with_limits_reads_as_this_one_does() -> None:
    for case in [*ACCEPTED.values(), *REJECTED.values()][::20]:
        request = Request(case.text, finish_reason=case.finish_reason, thought=True)
        assert extracting.read_within_limits(PICK, request) == extract(PICK, request)


def test_a_template_without_the_entry_point_is_named_from_there() -> None:
    with pytest.raises(TaskError, match="does not define the entry point 'other'"):
        extract(FunctionForm(TEMPLATE, "other"), Request("so " * extracting.READ_HERE))


def in_place_of_reading(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let the process with limits run this code where it would read the reply."""
    run = subprocess.run
    read = f"from behavesim.programs import extract as extracting\ndef read(*_, **__):\n    {code}\n"
    script = f"{read}extracting.FunctionForm.read, extracting.CPU_S = read, 1\nextracting.main()"

    def instead(command: list[str], **options: Any) -> Any:
        return run([sys.executable, "-sP", "-c", script], **options)

    monkeypatch.setattr(extracting.subprocess, "run", instead)


@pytest.mark.parametrize("code", ["bytearray(2 << 30)", "while True: pass", "import os; os.abort()", "1 / 0"])
def test_what_exceeds_the_limits_is_too_complex(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    in_place_of_reading(monkeypatch, code)
    failure = extracting.read_within_limits(PICK, Request(""))
    assert isinstance(failure, Failure)
    assert failure.reason == "too-complex"


@pytest.mark.parametrize(
    ("code", "wall_s", "said"),
    [
        ("import os; os.kill(os.getpid(), 9)", extracting.WALL_S, "no memory left"),
        ("import time; time.sleep(60)", 2.0, "did not end in 2 s"),
    ],
)
def test_what_the_machine_does_is_no_fault_of_the_reply(
    monkeypatch: pytest.MonkeyPatch, code: str, wall_s: float, said: str
) -> None:
    in_place_of_reading(monkeypatch, code)
    monkeypatch.setattr(extracting, "WALL_S", wall_s)
    with pytest.raises(BehavesimError, match=said):
        extracting.read_within_limits(PICK, Request(""))


def test_the_process_with_limits_knows_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    in_place_of_reading(monkeypatch, "import os; return extracting.Program(repr([*os.environ]), '', '')")
    found = extracting.read_within_limits(PICK, Request(""))
    assert isinstance(found, Program)
    assert "PYTHONPATH" in found.source
    assert "OPENAI_API_KEY" not in found.source


def test_a_machine_without_room_for_a_process_is_no_fault_of_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(extracting.subprocess, "run", full)
    with pytest.raises(
        BehavesimError, match="no process to read a reply in: Resource temporarily unavailable; raise u"
    ):
        extracting.read_within_limits(PICK, Request(""))


def test_a_process_that_does_not_start_is_no_fault_of_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, b"", b"ImportError: no module")
    monkeypatch.setattr(extracting.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(BehavesimError, match="did not start: ImportError: no module"):
        extracting.read_within_limits(PICK, Request(""))


def test_replies_made_to_be_costly_are_read_within_600_megabytes() -> None:
    command = [sys.executable, "-m", "tests.complex_replies", "--replies", "8", "--seed", "2", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert sum(outcomes.values()) == 8
    assert {"program", "syntax", "too-complex"} <= outcomes.keys()
