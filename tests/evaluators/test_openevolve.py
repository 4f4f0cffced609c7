"""OpenEvolve's convention: the same scores as the evaluators' own functions, and failures with their reasons."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from behavesim.base.errors import UsageError
from behavesim.evaluators.configuration import read_configuration
from behavesim.evaluators.conventions.openevolve import EvaluationResult
from behavesim.evaluators.evaluation import verdict_of
from behavesim.task.evaluated import join_files
from behavesim.task.verdict import Failure, Verdict
from tests.evaluators.judging import HERE, file_of, results

PACKED = "def pack(count):\n    return [(0.2, 0.2), (0.2, 0.8), (0.8, 0.2), (0.8, 0.8), (0.5, 0.5)], [{}] * count\n"
GIVEN = "import sys\ndef evaluate(program_path):\n    return eval(open(program_path).read())\n"


def given(tmp_path, *programs: str, evaluator: str = GIVEN, **others):
    """Results of an evaluator in a folder of its own, on programs that are mostly Python values."""
    (tmp_path / "evaluator.py").write_text(evaluator)
    return results(file_of("openevolve", str(tmp_path / "evaluator.py"), **others), *programs)


def test_circles_get_the_scores_that_geometry_says():
    file = file_of("openevolve", "circles/evaluator.py")
    first = (HERE / "circles/initial.py").read_text()
    found = results(file, first, PACKED.format(0.2), PACKED.format(0.25), "def pack(count): return 1 / 0", "pack = (")
    scores = [each.score for each in found]
    # four circles of 0.2 in the corners leave one of √0.18 - 0.2 = 0.2242… between them
    assert scores == [pytest.approx(0.25), pytest.approx(0.5), None, None, None]
    assert found[1].metrics == {"validity": 1.0, "sum_of_radii": pytest.approx(1.0), "combined_score": scores[1]}
    assert "a circle leaves the square" in found[2].feedback and "circles" in found[2].feedback
    assert found[2].failure == "the evaluator says validity 0.0" and found[2].metrics["combined_score"] == 0.0
    assert found[3].failure == "ZeroDivisionError: division by zero"
    assert "line 1, in pack" in found[3].feedback and "behavesim" not in found[3].feedback
    assert found[4].failure.startswith("SyntaxError") and "pack = (" in found[4].feedback
    assert isinstance(verdict_of(found[0], 0.0), Verdict)
    failed = verdict_of(found[3], 0.5)
    assert isinstance(failed, Failure) and (failed.reason, failed.cpu_s) == ("evaluator", 0.5)


def expected(x: float, looks: int) -> float:
    noise = random.Random(7)
    return sum(1 - (x - 0.3) ** 2 + noise.gauss(0, 0.01) for _ in range(looks)) / looks


def test_random_numbers_without_a_seed_come_out_the_same_each_time(tmp_path):
    source = "{'a': __import__('random').random(), 'b': __import__('numpy').random.rand()}"
    first, *others = [each.metrics for _ in range(2) for each in given(tmp_path, source, source)]
    assert first and others == [first] * 3


def test_a_program_below_the_first_threshold_keeps_that_stages_score_without_the_second_stage():
    file = file_of("openevolve", "noisy/evaluator.py", thresholds=(0.5, 0.75, 0.9))
    programs = [f"def choose(): return {x}" for x in (0.5, 9.0)]
    good, bad = results(file, *programs)
    assert good.score == pytest.approx(expected(0.5, 400), abs=1e-12) and good.stage == 0
    assert good.metrics["rough"] == pytest.approx(expected(0.5, 4)) and good.metrics["looks"] == 400.0
    assert good.feedback.splitlines() == ["note: a rough look", f"stderr: {expected(0.5, 400):.3f} of 1"]
    assert bad.stage == 1 and bad.score == pytest.approx((expected(9.0, 4) + 4) / 2)
    said, _, rest = bad.feedback.partition("\n")
    assert said.startswith("stopped at stage 1 of 2: its score ") and said.endswith(" is below 0.5")
    assert not bad.failure and "rough look" in rest and bad.metrics["looks"] == 4.0
    assert verdict_of(bad, 0.0).score == bad.score


def test_where_a_lower_score_is_better_a_program_above_the_threshold_stops(tmp_path):
    found = given(
        tmp_path, '{"a": 0.8}', '{"a": 0.9}', evaluator=STAGES, thresholds=(1.0, 0.8), direction="minimise", metric=""
    )
    assert [(each.score, each.stage) for each in found] == [(2.9, 0), (0.9, 2)]
    assert found[1].feedback.startswith("stopped at stage 2 of 3: its score 0.9 is above 0.8")


def test_thresholds_that_nobody_stated_stop_no_cost(tmp_path):
    (tmp_path / "config.yaml").write_text("max_iterations: 4\n")
    assert read_configuration(tmp_path / "config.yaml", 2).values["thresholds"] == (0.5, 0.75)
    assert read_configuration(tmp_path / "config.yaml", 2, True).values["thresholds"] == (math.inf, math.inf)
    (tmp_path / "config.yaml").write_text("evaluator: {cascade_thresholds: [7]}\n")
    assert read_configuration(tmp_path / "config.yaml", 2, True).values["thresholds"] == (7.0,)


def test_without_thresholds_the_whole_evaluation_is_called():
    (found,) = results(file_of("openevolve", "noisy/evaluator.py"), "def choose(): return 0.5")
    assert found.failure == "RuntimeError: the stages are called, not this"


STAGES = """
from pathlib import Path
def evaluate(path): return {"combined_score": -1.0}
def evaluate_stage1(path): return {"a": 1.0, "error": 9.0}
def evaluate_stage2(path): return eval(Path(path).read_text())
def evaluate_stage3(path): return {"b": 5.0}
"""


def test_later_stages_need_thresholds_and_keep_what_earlier_ones_found(tmp_path):
    found = given(tmp_path, '{"a": 0.8}', '{"a": 0.1}', "1 / 0", evaluator=STAGES, thresholds=(0.5, 0.75))
    assert [(each.score, each.stage) for each in found] == [(2.9, 0), (0.1, 2), (None, 2)]
    assert (
        found[2].metrics["a"] == 1.0 and found[2].failure == "stage 2 of 3 raised ZeroDivisionError: division by zero"
    )
    assert verdict_of(found[1], 0.0).score == 0.1
    assert verdict_of(found[2], 0.0).reason == "evaluator", "an exception is no low score"
    (found,) = given(tmp_path, '{"a": 0.8}', evaluator=STAGES, thresholds=(0.5,))
    assert found.score == 0.8 and "b" not in found.metrics


def test_an_artifact_may_state_the_error_and_a_metric_may_be_named(tmp_path):
    text = """from openevolve.evaluation_result import EvaluationResult
def evaluate(path): return EvaluationResult(*eval(open(path).read()))
"""
    programs = '({"a": 1.0, "b": 2.0}, {"error": "no tour"})', '({"a": 1.0, "b": 2.0}, {"note": "fine"})'
    bad, good = given(tmp_path, *programs, evaluator=text, metric="b")
    assert (bad.score, bad.failure, bad.is_stated) == (None, "no tour", True)
    assert (good.score, good.metrics) == (2.0, {"a": 1.0, "b": 2.0})
    # artifacts in a plain dict too: with line breaks, and never as a dict's text
    programs = '{"b": 2.0, "artifacts": {"note": "one\\ntwo"}}', '{"b": 2.0, "artifacts": {"error": "no tour"}}'
    good, bad = given(tmp_path, *programs, metric="b")
    assert (good.score, good.feedback, bad.failure) == (2.0, "note: one\ntwo", "no tour")


def test_a_stage_without_the_named_metric_is_passed_by_the_usual_score_and_gives_none(tmp_path):
    found = given(tmp_path, '{"b": 7}', "{}", evaluator=STAGES, thresholds=(0.5, -1.0), metric="b")
    assert [each.score for each in found] == [5.0, 5.0]
    (found,) = given(tmp_path, '{"b": 7}', evaluator=STAGES, thresholds=(1.5,), metric="b")
    assert found.score is None and found.failure.endswith("is below 1.5, and it gives no b")


@pytest.mark.parametrize(
    ("returned", "score", "failure"),
    [
        ('{"combined_score": 0.25, "speed": 7}', 0.25, ""),
        ('{"a": 1, "b": 2.0, "c": True, "name": "x", "bad": float("nan")}', 3 / 2, ""),
        ('{"value": 2.0, "error": 0.5}', 2.0, ""),
        ('{"combined_score": 0.0, "error": "it timed out"}', None, "it timed out"),
        ('{"valid": 0.0, "error": "it crashed"}', None, "it crashed"),
        ('{"error": 0.0}', None, "the evaluator gave no number"),
        ('{"combined_score": float("nan"), "a": 1.0}', None, "the evaluator gave no finite score"),
        ('{"a": float("inf"), "b": 1.0}', None, "the evaluator gave no finite score"),
        ('{"combined_score": 10 ** 400}', None, "the evaluator gave no finite score"),
        ("{}", None, "the evaluator gave no number"),
        ('{"combined_score": "0.7"}', None, "combined_score must be a number, not '0.7'"),
        ('{"combined_score": "0.7", "value": 2.0}', None, "combined_score must be a number, not '0.7'"),
        ('{"score": "0.7", "value": 2.0}', None, "score must be a number, not '0.7'"),
        ('{"combined_score": "0.7", "error": "it crashed"}', None, "it crashed"),
        ('{"combined_score": None, "value": 2.0}', 2.0, ""),
        ("0.5", 0.5, ""),
        (
            "True",
            None,
            "TypeError: `evaluate` must return a number, a dict of metrics or an EvaluationResult, not bool",
        ),
        ("sys.exit(3)", None, "SystemExit: 3"),
        ('__import__("numpy").float32(0.5)', 0.5, ""),
        ('{"combined_score": __import__("numpy").float32(0.5), "text": __import__("numpy").str_("x")}', 0.5, ""),
    ],
)
@pytest.mark.xdist_group("openevolve")
def test_a_score_is_the_combined_one_else_the_mean_without_errors(answers, returned, score, failure):
    found = answers[returned]
    assert found.score == (score if score is None else pytest.approx(score))
    assert found.failure.startswith(failure) and bool(found.failure) == bool(failure)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    mark = next(each for each in test_a_score_is_the_combined_one_else_the_mean_without_errors.pytestmark
                if each.name == "parametrize")  # fmt: skip
    programs = [row[0] for row in mark.args[1]]
    return dict(zip(programs, given(tmp_path_factory.mktemp("given"), *programs), strict=True))


def test_numbers_that_are_not_finite_are_told_as_text(answers):
    assert answers['{"a": float("inf"), "b": 1.0}'].metrics == {"a": "inf", "b": 1.0}


def test_feedback_has_what_was_printed_if_nothing_else_is_told(tmp_path):
    (found,) = given(tmp_path, 'print("a hint") or {"error": 0.0}')
    assert found.feedback == "a hint\n"


def test_where_a_persons_files_lie_is_not_told(tmp_path):
    (found,) = given(tmp_path, "1 / 0", evaluator="def evaluate(path): raise ValueError(__file__)\n")
    assert found.failure == "ValueError: evaluator.py" and "evaluator.py" in found.feedback
    assert str(tmp_path) not in found.feedback
    # nor where this tool lies, in a traceback that the evaluator caught itself
    caught = """import importlib.util, traceback
def evaluate(path):
    spec = importlib.util.spec_from_file_location("program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    try:
        return {"combined_score": program.f()}
    except Exception:
        return {"combined_score": 0.0, "trace": traceback.format_exc()}
"""
    (found,) = given(tmp_path, "def f():\n    return 1 / 0\n", evaluator=caught)
    frames = [line.strip() for line in found.feedback.splitlines() if line.startswith("  File")]
    assert [frame.partition(", line")[0] for frame in frames] == [
        'File "evaluator.py"',
        'File "/tmp/program/program.py"',
    ]
    assert found.feedback.startswith("trace: Traceback") and "ZeroDivisionError" in found.feedback


def test_functions_of_a_program_of_several_files_are_recorded(tmp_path):
    text = """import sys

def evaluate(path):
    sys.path.insert(0, path)
    import first
    return {"score": first.choose(2)}
"""
    (tmp_path / "evaluator.py").write_text(text)
    (tmp_path / "program").mkdir()
    (tmp_path / "program/first.py").touch()
    file = file_of("openevolve", str(tmp_path / "evaluator.py"), str(tmp_path / "program"))
    (found,) = results(file, join_files({"first.py": "from second import choose\n", "second.py": "choose = abs\n"}))
    assert (found.score, found.traced) == (2.0, "metrics")
    program = {"first.py": "from second import choose\n", "second.py": "def choose(x): return x + 1\n"}
    (found,) = results(file, join_files(program))
    assert (found.score, found.steps, found.traced) == (3.0, (3,), "calls")


def test_the_stand_in_has_the_methods_of_the_original():
    found = EvaluationResult.from_dict({"a": 1.0})
    full = replace(found, artifacts={"text": "é", "raw": b"123", "other": 12345})
    assert found.to_dict() == {"a": 1.0} and not found.has_artifacts() and found.get_total_artifact_size() == 0
    assert full.has_artifacts() and full.get_artifact_keys() == ["text", "raw", "other"]
    assert full.get_total_artifact_size() == 2 + 3 + 5 and full.get_artifact_size("none") == 0


def test_an_installed_package_is_used_rather_than_the_stand_in(tmp_path):
    package = tmp_path / "openevolve"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "evaluation_result.py").write_text("class EvaluationResult:\n    metrics = {'combined_score': 42.0}\n")
    text = "from openevolve.evaluation_result import EvaluationResult\ndef evaluate(path): return EvaluationResult()\n"
    assert given(tmp_path, "", evaluator=text)[0].score == 42.0


ALLOWED = "in the sandbox, only files below /tmp can be written, and there is no network"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("open('out.txt', 'w')", f"OSError: [Errno 30] Read-only file system: 'out.txt'; {ALLOWED}"),
        ("__import__('socket').socket()", f"PermissionError: [Errno 1] Operation not permitted; {ALLOWED}"),
        ("open('/tmp/out.txt', 'w').name and {'a': 1.0}", ""),
        ("bytes(10**13)", "MemoryError: it asked for more memory than `memory_mb` allows"),
        ("[].pop()", "IndexError: pop from empty list"),
    ],
)
def test_what_the_sandbox_refuses_an_evaluator_is_said_in_its_failure(tmp_path, program, said):
    (found,) = given(tmp_path, program)
    assert found.failure == said


def test_a_key_of_a_configuration_that_is_left_blank_is_as_if_it_were_missing(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("evaluator:\n  cascade_evaluation:\n  cascade_thresholds:\n  timeout: 7\n")
    assert read_configuration(tmp_path / "config.yaml", 2).values == {"thresholds": (0.5, 0.75), "timeout_s": 7.0}


def test_a_configuration_that_is_no_yaml_is_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("evaluator:\n  timeout: [1,\n")
    with pytest.raises(UsageError, match=r"config\.yaml is no YAML: while parsing .*line 3, column \d+") as refused:
        read_configuration(tmp_path / "config.yaml", 1)
    assert "\n" not in str(refused.value)
