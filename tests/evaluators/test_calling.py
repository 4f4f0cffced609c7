"""What is read from an evaluator's text about its calls of a program."""

from __future__ import annotations

import pytest

from behavesim.evaluators.calls import Called, call_evaluator

PROGRAM = "def pack(n):\n    pass\n\n\ndef evaluate(n):\n    pass\n"
SHINKA = "run_shinka_eval(experiment_fn_name='pack', {})"
SEEDED = '[(lambda run: {"seed": run + 1})(run) for run in range(%s)]'


@pytest.mark.parametrize(
    ("evaluator", "expected"),
    [
        ("program.pack(5)", Called("pack", "[(5,)]")),
        ("N = 5 * 5 + 1\ndef evaluate(path): load(path).pack(N, -1)", Called("pack", "[(26, -1)]")),
        ("def evaluate(path): evaluate(3); names['pack']([1, 2])", Called("pack", "[([1, 2],)]")),
        ("from gpt import pack\npack(x)", Called("pack", "[('CHANGE',)]", is_known=False)),
        (
            "for i in range(19): p.pack(i, 3)",
            Called("pack", "[('CHANGE', 3)]", is_known=False),
        ),
        ("program.pack(5, k=2)", Called("pack", "[(5,)]", is_known=False)),
        ("call(program.pack)", Called("pack", "[()]", is_known=False)),
        ("def evaluate(path): pass", None),
        (SHINKA.format("num_runs=2"), Called("pack", SEEDED % 2, True)),
        ("R = 4\n" + SHINKA.format("num_runs=R"), Called("pack", SEEDED % 4, True)),
        (SHINKA.format("num_runs=r()"), Called("pack", SEEDED % 1, True, False)),
        (
            SHINKA.format("num_runs=2, get_experiment_kwargs=lambda i: {'n': i}"),
            Called("pack", "[(lambda i: {'n': i})(run) for run in range(2)]", True),
        ),
        (SHINKA.format("num_runs=2, get_experiment_kwargs=lambda i: x[i]"), Called("pack", SEEDED % 2, True, False)),
        (
            "def given(i): return {}\n" + SHINKA.format("num_runs=2, get_experiment_kwargs=given"),
            Called("pack", "[here.given(run) for run in range(2)]", True),
        ),
        ("run_shinka_eval(experiment_fn_name='other', num_runs=1)", None),
    ],
)
def test_the_function_and_its_arguments_are_found(evaluator: str, expected: Called | None) -> None:
    assert call_evaluator(evaluator, PROGRAM, "here") == expected
