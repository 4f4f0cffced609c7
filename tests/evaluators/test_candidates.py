"""The conventions of GEPA, AlgoTune, HeuriGym and GigaEvo: found by their shape, scored as there, with errors told."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.base.errors import UsageError
from behavesim.evaluators.detection import convention_of
from behavesim.task.verdict import Failure, Verdict
from tests.cli.command import Command
from tests.evaluators.judging import file_of, results, verdicts

GEPA = """
def evaluator(candidate, example=None):
    names = {}
    exec(candidate, names)
    off = abs(names["root"](example) - example ** 0.5)
    return -off, {"off": off, "note": f"asked for the root of {example}"}
"""
SINGLE = """
def evaluate(candidate: str):
    try:
        return len(candidate) * eval(candidate), {"size": len(candidate)}
    except Exception as error:
        return 0.0, {"error": f"no number: {error}"}
"""
ALGOTUNE = """
from AlgoTuneTasks.base import Task, register_task

@register_task("sorting")
class Sorting(Task):
    def generate_problem(self, n, random_seed=1):
        import random
        return random.Random(random_seed).sample(range(10 * n), n)

    def solve(self, problem):
        problem = list(problem)
        for end in range(len(problem)):
            for place in range(len(problem) - 1 - end):
                if problem[place] > problem[place + 1]:
                    problem[place], problem[place + 1] = problem[place + 1], problem[place]
        return problem

    def is_solution(self, problem, solution):
        return list(solution) == sorted(problem)
"""


def written(tmp_path: Path, text: str, name: str = "evaluator.py") -> str:
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "convention"),
    [
        (GEPA, "gepa"),
        (SINGLE, "gepa"),
        (ALGOTUNE, "algotune"),
        ("def evaluate(program_path): pass\n", "openevolve"),
        ("def fitness(candidate, *, opt_state=None): return 1.0\n", "gepa"),
    ],
)
def test_a_convention_is_found_by_its_shape(tmp_path: Path, text: str, convention: str) -> None:
    place = written(tmp_path, text)
    assert convention_of(place) == (convention, place)


def test_a_class_of_algotune_may_be_named(tmp_path: Path) -> None:
    place = written(tmp_path, ALGOTUNE)
    assert convention_of(f"{place}:Sorting") == ("algotune", f"{place}:Sorting")
    with pytest.raises(UsageError, match="has no class 'Other'"):
        convention_of(f"{place}:Other")


def test_a_candidate_gets_the_mean_over_the_examples_and_its_infos_are_feedback(tmp_path: Path) -> None:
    file = file_of("gepa", written(tmp_path, f"dataset = [1.0, 4.0, 9.0]\n{GEPA}"))
    good, bad, broken = results(
        file, "def root(x): return x ** 0.5\n", "def root(x): return 1.0\n", "def root(x): return 1 / 0\n"
    )
    assert good.score == 0.0 and bad.score == -1.0
    assert bad.metrics == {"example 1": 0.0, "example 2": -1.0, "example 3": -2.0}
    assert "example 2: note: asked for the root of 4.0" in bad.feedback
    assert broken.failure == "ZeroDivisionError: division by zero"


def test_a_candidate_without_examples_is_evaluated_once_and_an_error_in_its_info_counts(tmp_path: Path) -> None:
    place = written(tmp_path, SINGLE)
    good, bad = results(file_of("gepa", place), "2 + 3", "2 +")
    assert (good.score, good.metrics) == (25.0, {"size": 5.0})
    assert bad.is_stated and bad.failure.startswith("no number: invalid syntax")
    (found,) = results(file_of("gepa", place, metric="size"), "2 + 3")
    assert found.score == 5.0


def test_a_seed_of_one_named_text_makes_candidates_of_that_name(tmp_path: Path) -> None:
    text = 'seed_candidate = {"code": ""}\ndef evaluate(candidate): return float(candidate["code"])\n'
    assert results(file_of("gepa", written(tmp_path, text)), "2.5")[0].score == 2.5


def test_a_faster_solver_scores_higher_and_a_wrong_one_is_an_error_that_the_task_states(tmp_path: Path) -> None:
    slowly = "def solve(problem):\n    for _ in range(600_000): pass\n    return sorted(problem)\n"
    fast, slow, late, wrong, none = verdicts(
        file_of("algotune", f"{written(tmp_path, ALGOTUNE)}:Sorting"),
        "class Solver:\n    def solve(self, problem): return sorted(problem)\n",
        slowly,
        FORGERY + slowly,  # what it makes of its own process changes no score
        "def solve(problem): return list(problem)\n",
        "x = 1\n",
    )
    assert isinstance(fast, Verdict) and isinstance(slow, Verdict) and fast.score > 2 * slow.score
    assert isinstance(late, Verdict) and late.score < 1.5 * slow.score
    assert refusal(wrong) == ("evaluator-error", "the answer to problem 0 is no solution")
    assert "neither a class `Solver`" in refusal(none)[1]


def refusal(found: Verdict | Failure) -> tuple[str, str]:
    assert isinstance(found, Failure), found
    return found.reason, found.message


def test_the_first_program_of_a_task_of_algotune_is_its_own_solver(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, ALGOTUNE)
    monkeypatch.chdir(tmp_path)
    found = behavesim("run", "--evaluator", "evaluator.py", "--dry-run", "--json")
    assert found.code == 0, found.err
    assert 0.2 < found.document["template_score"] < 5, "it is timed against itself"
    assert "class Solver:" in found.out and "is_solution" not in found.out


FORGERY = """import sys, time
time.process_time = time.perf_counter = lambda: 0.0
for module in list(sys.modules.values()):
    for name, value in list(vars(module).items()):
        if name in ("is_solution", "validate", "verify", "evaluate"):
            setattr(module, name, lambda *_: {"fitness": 1e9, "is_valid": 1})
        if isinstance(value, type) and hasattr(value, "is_solution"):
            value.is_solution = lambda *_: True
from behavesim.evaluators.tracing import Result
honest = Result.encoded
Result.encoded = lambda self: honest(Result(1e9, {"score": 1e9, "fitness": 1e9}, answer=self.answer))
"""


def test_a_program_that_patches_the_judge_in_its_process_does_not_change_its_score(tmp_path: Path) -> None:
    place = written(tmp_path, VALIDATE, "validate.py")
    written(tmp_path, "def build_context():\n    return {'least': 3}\n", "context.py")
    answer = "def entrypoint(context):\n    context['least'] = -9\n    return {}\n"
    small, fair = verdicts(file_of("gigaevo", place), FORGERY + answer.format(0), FORGERY + answer.format(4))
    assert refusal(small)[1] == "ValueError: too small"
    assert isinstance(fair, Verdict) and (fair.score, fair.metrics["fitness"]) == (-4.0, -4.0)


EVALUATE = "def evaluate(input_file, output_file):\n    return abs(float(open(output_file).read()))\n"
VERIFY = """def verify(input_file, output_file):
    total = sum(map(float, open(input_file)))
    return float(open(output_file).read()) >= total, f"the total is {total}"
"""
SOLVE = "def solve(source, target):\n    open(target, 'w').write(str(sum(map(float, open(source))) + {}))\n"


@pytest.mark.parametrize("data", ["problem/program/dataset", "problem/dataset/demo"])
def test_a_solver_writes_files_that_are_verified_and_cost_something(
    behavesim: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    files = {
        "problem/program/evaluator.py": EVALUATE,
        "problem/program/verifier.py": VERIFY,
        "problem/program/first.py": SOLVE.format(2),
        f"{data}/a.in": "1\n2\n",
        f"{data}/b.in": "5\n",
        f"{data}/README.md": "what it is",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path / "problem/program")
    options = ("--evaluator", "evaluator.py", "--program", "first.py", "--dry-run", "--json")
    found = behavesim("run", *options)
    assert found.code == 0, found.err
    assert found.document["template_score"] == (3 + 5) / 2 + 2
    assert found.document["understood"]["score"].endswith("lower is better")
    assert "its scores are trusted" in found.err
    (tmp_path / "problem/program/first.py").write_text(SOLVE.format(-1))
    assert "(evaluator-error): a.in: the total is 3.0" in behavesim("run", *options).err


VALIDATE = """def validate(payload):
    context, answer = payload
    if answer < context["least"]:
        raise ValueError("too small")
    return {"fitness": "-9" if answer == 9 else -answer, "is_valid": int(answer != 7), "other": 1.0}
"""


def test_an_answer_is_validated_with_its_context(tmp_path: Path) -> None:
    place = written(tmp_path, VALIDATE, "validate.py")
    assert convention_of(place) == ("gigaevo", place)
    written(tmp_path, "def build_context():\n    return {'least': 3}\n", "context.py")
    good, plain, small, invalid, none, odd, text = verdicts(
        file_of("gigaevo", place),
        "def entrypoint(context): return context['least'] + 1\n",
        "def entrypoint(): return 5\n",
        "def entrypoint(context): return 0\n",
        "def entrypoint(context): return 7\n",
        "x = 1\n",
        "def entrypoint(): return {1}\n",
        "def entrypoint(): return 9\n",
    )
    assert isinstance(good, Verdict) and isinstance(plain, Verdict)
    assert (good.score, plain.score, good.metrics["other"]) == (-4.0, -5.0, 1.0)
    assert refusal(small) == ("evaluator", "ValueError: too small")
    assert refusal(invalid) == ("evaluator-error", "the evaluator says is_valid 0")
    assert "no function `entrypoint`" in refusal(none)[1]
    assert "returned set" in refusal(odd)[1]
    assert "it gave no number called fitness" in refusal(text)[1]


def sorting_task(folder: Path) -> str:
    return written(folder, ALGOTUNE)


def validator(folder: Path) -> str:
    written(folder, "def build_context():\n    return {'least': 3}\n", "context.py")
    return written(folder, VALIDATE, "validate.py")


def verified_solver(folder: Path) -> str:
    (folder / "dataset").mkdir()
    written(folder / "dataset", "1\n2\n", "a.in")
    written(folder, VERIFY, "verifier.py")
    return written(folder, EVALUATE)


# Programs of each trusted convention that give an ANSWER; `ATTACK` stands before it.
ANSWERING = {
    "algotune": (sorting_task, "def solve(problem):\n    return ANSWER\n", "sorted(problem)", "problem"),
    "gigaevo": (validator, "def entrypoint(context):\n    return ANSWER\n", "4", "0"),
    "heurigym": (verified_solver, "def solve(source, target):\n    open(target, 'w').write(str(ANSWER))\n", "3", "0"),
}
ATTACKS = {
    "writes into the evaluator's folder": """import pathlib
for path in pathlib.Path(".").rglob("*.*"):
    try:
        path.write_text("def verify(*_): return True, ''")
    except OSError:
        pass
""",
    "patches the judge": FORGERY,
    "ends its process early": "import os\nos._exit(0)\n",
    "prints and answers without measure": "print('x' * 3_000_000)\nANSWER = 'x' * 3_000_000\n",
    "leaves a process behind": "import os, time\nif not os.fork():\n    while True: time.sleep(1)\n",
    "sends results to every descriptor": """import os
from behavesim.evaluators.tracing import Result
sent = Result(1e9, {"score": 1e9, "fitness": 1e9}).encoded()
for descriptor in range(3, 40):
    try:
        os.write(descriptor, len(sent).to_bytes(8, "little") + sent)
    except OSError:
        pass
""",
    "changes its callers": """import sys
frame = sys._getframe()
while frame := frame.f_back:
    for name in ("Result", "verify", "evaluate", "numbers"):
        if name in frame.f_globals:
            frame.f_globals[name] = lambda *given, **named: 1e9
""",
    "answers with an object of its own": """class Own(float):
    def __lt__(self, other): return False
    def __ge__(self, other): return True
    def __eq__(self, other): return True
    def __str__(self): return "inf"
    def __iter__(self): raise SystemExit(0)
ANSWER = Own(0)
""",
}


@pytest.mark.parametrize("convention", ANSWERING)
def test_no_attack_makes_a_wrong_answer_count_where_scores_are_trusted(tmp_path: Path, convention: str) -> None:
    make, program, right, wrong = ANSWERING[convention]
    place = make(tmp_path)
    was = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    # an attack that binds ANSWER gives that answer
    programs = [
        each + (program if "ANSWER =" in each else program.replace("ANSWER", wrong)) for each in ATTACKS.values()
    ]
    *found, honest = verdicts(file_of(convention, place), *programs, program.replace("ANSWER", right))
    assert [name for name, each in zip(ATTACKS, found, strict=True) if not isinstance(each, Failure)] == []
    assert isinstance(honest, Verdict), honest
    assert {
        path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file() and "__" not in str(path)
    } == was
