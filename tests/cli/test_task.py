"""A task of one's own: written to start from, and examined before any money is spent on it."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from behavesim_offline import GeneticProposer

import behavesim as bs
from behavesim.base.errors import PROVOKED
from behavesim.programs.answer import add_fence, fenced_blocks
from behavesim.state.events import Prompt
from behavesim.task import TaskReference, calls
from tests.cli.command import Command


@pytest.fixture
def example(behavesim: Command, tmp_path: Path) -> Path:
    """The file that `task init` writes."""
    assert behavesim("task", "init", "mine").code == 0
    return tmp_path / "mine.py"


def test_the_file_to_start_from_is_in_order_and_can_be_searched(behavesim: Command, example: Path) -> None:
    ended = behavesim("task", "check", "mine.py")
    assert ended.code == 0
    plain, answers, programs, asked = re.split(r"\n\n(?=answers of|two programs|what a model)", ended.out)
    assert {line.split()[0] for line in plain.splitlines()} == {"ok"}
    assert "trusted scoring" in plain
    assert re.search(r"\nok    None +refused \(exception\): TypeError.*\nok    a text +taken: scores \S+, the", answers)
    assert re.search(
        r"and then part: the template chooses item \d+, weight .*; they score .* there\n\n    -  ", programs
    )
    assert re.search(
        r"\nok    noise +a difference below \S+ may be chance on 5 instances .* take \d+ instances", programs
    )
    for said in ("Fill a knapsack", "- There are 40 items", "```python", "def priority("):
        assert f"\n    {said}" in asked
    run = behavesim("run", "mine.py", "--budget", 2, "--set", "recommend=false", "--json").document
    assert run["asked"] == 2


@pytest.mark.parametrize("kind", ["constructive", "improvement", "black-box", "packing", "evaluator"])
def test_every_kind_of_task_to_start_from_is_in_order_as_written(behavesim: Command, kind: str) -> None:
    assert behavesim("task", "init", "mine", "--like", kind).code == 0
    ended = behavesim("task", "check", "mine.py", "--json")
    assert ended.code == 0
    assert {finding["result"] for finding in ended.document} == {"ok"}
    task = TaskReference("mine.py").load()
    assert (task.kind, task.rules[:2], "timeout_s" in vars(type(task))) == (kind, "- ", True)
    assert task.rules in ended.document[-1]["text"]


@pytest.mark.parametrize(("name", "class_name"), [("jobshop", "Jobshop"), ("job_shop", "JobShop"), ("none", "none")])
def test_the_class_is_named_after_the_task(behavesim: Command, name: str, class_name: str) -> None:
    assert behavesim("task", "init", name).code == 0
    text = Path(f"{name}.py").read_text()
    assert f"class {class_name}(bs.Task):" in text
    assert f"task = {class_name}()" in text


def test_a_name_that_is_taken_or_is_none_is_refused(behavesim: Command, example: Path) -> None:
    assert behavesim("task", "init", "mine").code == 2
    assert "Python name" in behavesim("task", "init", "my-task").err


def change(file: Path, *changes: tuple[str, str]) -> None:
    """Put something else for the one place of each text in a file."""
    text = file.read_text()
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    file.write_text(text)


def found_wrong(behavesim: Command) -> dict[str, str]:
    """What is not in order in the file, by the names of the findings."""
    ended = behavesim("task", "check", "mine.py", "--json")
    assert ended.code == 1
    return {each["name"]: f"{each['result']}: {each['message']}" for each in ended.document if each["result"] != "ok"}


def test_what_fails_or_differs_at_once_is_named_with_what_to_mend(behavesim: Command, example: Path) -> None:
    change(example, ("    return value\n'''", "    return value / 0\n'''"))
    assert re.match("fail: .*ZeroDivisionError", found_wrong(behavesim)["template"])
    change(example, ("[seed, number]", "None"))
    assert re.match("fail: .*different instances", found_wrong(behavesim)["search instances"])


def test_all_that_is_wrong_with_solutions_is_named_with_what_to_mend(behavesim: Command, example: Path) -> None:
    change(
        example,
        ("from collections.abc", "import time\nfrom collections.abc"),
        ("return np.array(packed)", "return np.random.default_rng(time.time_ns()).permutation(packed)"),
        ('bs.Objective("maximise")', 'bs.Objective("maximise", best_known=10.0)'),
        ("normaliser = ITEMS", "normaliser = 2"),
        ("if len(np.unique(packed)) != len(packed):", "if False:"),
        ("sum() > CAPACITY", "sum() > 1e9"),
    )
    wrong = found_wrong(behavesim)
    assert set(wrong) == {"determinism", "direction", "trusted scoring", "normaliser"}
    assert re.match("fail: .*on a second run", wrong["determinism"])
    assert re.match("fail: .*direction or that value", wrong["direction"])
    assert re.match("fail: .*everything twice", wrong["trusted scoring"])
    assert re.match("fail: .*2", wrong["normaliser"])


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"maximise"', '"upwards"', "to 'minimise' or to 'maximise'"),
        ("bs.Trajectory.prefixes(solution)", "solution.tolist()", "must return a behavesim.Trajectory"),
        ('bs.Objective("maximise")', '"maximise"', "such as behavesim.Objective('minimise'), not 'maximise'"),
        ("def priority(weight", "deff priority(weight", "is no Python: invalid syntax in its line 5, deff priority("),
        ("task = Mine()", "task = Mine", "write `task = Mine()`"),
        ("return [self.instance", "yield [self.instance", "must return a list, not generator"),
        ("return [self.instance", "[self.instance", "must return a list, not None"),
        ("for number in range(5)", "for number in range(0)", "gives none"),
        ("default_rng([seed, number])", "default_rng()", "`instances('search')` of task 'mine' gives other instances"),
        ("        seed = ", "        seed = 1 / 0  # ", "raised ZeroDivisionError: division by zero, in line "),
        (
            "        seed = ",
            '        if split == "validation":\n            raise KeyError("no such file")\n        seed = ',
            "`instances('validation')` of task 'mine' raised KeyError: 'no such file', in line ",
        ),
        ("return float(", "float(", "`score` of task 'mine' must return a number, not None"),
        (
            "return float(",
            "return 'of worth ' + str(",
            "must return a number, not str ('of worth ",
        ),
        (
            "        packed = np.asarray(solution)",
            "        packed = solution.pack",
            "has no attribute 'pack', in line ",
        ),
        ("return np.array(packed)", "np.array(packed)", "must be an array of numbers, not None"),
    ],
)
def test_a_run_of_a_task_that_cannot_be_right_ends_in_a_line_and_leaves_nothing(
    behavesim: Command, example: Path, before: str, after: str, said: str
) -> None:
    change(example, (before, after))
    ended = behavesim("run", "mine.py", "--proposer", "genetic")
    assert ended.code == 2
    (complaint,) = (line for line in ended.err.splitlines() if "trying the template" not in line)
    assert said in complaint
    assert not (example.parent / "runs").exists()


def test_instances_may_be_an_array(behavesim: Command, example: Path) -> None:
    text = example.read_text().replace("return [self.instance", "return np.array([self.instance")
    example.write_text(text.replace("for number in range(5)]", "for number in range(5)])"))
    assert behavesim("task", "check", "mine.py").code == 0
    assert (
        behavesim(
            "run", "mine.py", "--proposer", "genetic", "--budget", 2, "--set", "recommend=false", "--name", "array"
        ).code
        == 0
    )
    for command in ("verify", "report"):
        ended = behavesim(command, "array")
        assert (ended.code, "Traceback" in ended.err) == (0, False)
    assert behavesim("recommend", "array", "--portfolio", "2").code == 0


def test_instances_without_end_end_in_a_line(
    behavesim: Command, example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = example.read_text()
    example.write_text(text.replace("        seed = ", "        while True:\n            pass\n        seed = "))
    monkeypatch.setattr(calls, "INSTANCES_S", 0.1)
    for command in (("run", "mine.py", "--proposer", "genetic"), ("evaluate", "mine.py", "template")):
        ended = behavesim(*command)
        assert (ended.code, "`instances('search')` of task 'mine' is not done after 0.1 s" in ended.err) == (2, True)
    found = {each["name"]: each for each in behavesim("task", "check", "mine.py", "--json").document}
    assert "look for a loop without end" in found["search instances"]["message"]


def test_the_limit_of_a_template_is_said_before_it_is_tried_and_one_that_fails_is_tried_once(
    behavesim: Command, example: Path, tried: list[str]
) -> None:
    text = example.read_text()
    example.write_text(text.replace("        room, packed = ", "        1 / 0\n        room, packed = "))
    (*_, said, _, failed) = behavesim("task", "check", "mine.py", "--set", "timeout_s=20", "--json").document
    limit = "at most 20 s of CPU time (timeout_s) and 42 s by the clock"
    assert (said["name"], said["message"]) == ("time limit", f"{limit}, for the template too, which is tried now")
    assert (failed["name"], failed["result"], len(tried)) == ("template", "fail", 1)
    for dry in ((), ("--dry-run",)):
        ended = behavesim("run", "mine.py", "--proposer", "genetic", "--set", "timeout_s=20", *dry)
        waiting, complaint = ended.err.splitlines()
        assert re.fullmatch(rf"behavesim: \d\d:\d\d:\d\d trying the template, {re.escape(limit)}", waiting)
        assert "ZeroDivisionError" in complaint


def test_what_only_a_run_would_stumble_over_is_found_before_it(behavesim: Command, example: Path) -> None:
    head, _, rest = example.read_text().partition('    """Fill a knapsack')
    tail = rest[rest.index("    # CHANGE: the docstring above") :]
    grammar = '    grammar = "scalar = weight | valu\\nresult: scalar\\nreturn result"\n'
    example.write_text(head + grammar + tail)
    change(
        example,
        ("CAPACITY = 50.0", "CAPACITY = 50.0\nKEPT = {}"),
        ("        packed = np.asarray(solution)", "        items[:, 1] += 1\n        packed = np.asarray(solution)"),
        (
            "        return [self.instance",
            '        if split == "validation":\n            return ["no items"]\n'
            "        if split in KEPT:\n            return KEPT[split]\n        KEPT[split] = [self.instance",
        ),
        (
            "in range(5)]",
            "in range(5)] + [list(set('abcdefghijklmnop'))][5 * (split == 'search'):]\n        return KEPT[split]",
        ),
    )
    wrong = found_wrong(behavesim)
    assert wrong["description"].startswith("warning: ")
    assert re.match("fail: .*held-out", wrong["another process"])
    assert re.match("fail: .*could be resumed", wrong["use"])
    assert wrong["on validation"].startswith("fail: ")
    assert re.match("fail: .*valu,", wrong["building blocks"])


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        (
            [("bs.Trajectory.prefixes(solution)", "solution.tolist()")],
            {"scoring": "`trajectory` of task 'mine' must return a behavesim.Trajectory"},
        ),
        (
            [
                ("(ITEMS, 2)", '(ITEMS - (split == "validation"), 2)'),
                ("items[packed, 1].sum())", "items[packed, 1].sum()) if len(items) == ITEMS else 'much'"),
                ("normaliser = ITEMS", 'grammar = "nothing"\n    normaliser = ITEMS'),
            ],
            {
                "on validation": "`score` of task 'mine' must return a number, not str",
                "building blocks": "the task's grammar has no root",
            },
        ),
        (
            [('return f"item {decision}', 'return items.name + f"item {decision}')],
            {"words": "of task 'mine' raised AttributeError: 'numpy.ndarray' object has no attribute 'name', in line"},
        ),
    ],
    ids=["scoring", "splits and blocks", "words"],
)
def test_methods_that_fail_late_are_named_with_what_depends_on_them(
    behavesim: Command, example: Path, changes: list[tuple[str, str]], found: dict[str, str]
) -> None:
    change(example, *changes)
    wrong = found_wrong(behavesim)
    assert wrong.keys() == found.keys()
    assert all(wrong[name].startswith("fail: ") and said in wrong[name] for name, said in found.items()), wrong


def test_the_offline_proposer_writes_programs_that_run_for_the_file_to_start_from(
    behavesim: Command, example: Path
) -> None:
    example.write_text(example.read_text().replace("import numpy as np\n\n\ndef priority", "def priority"))
    run = behavesim(
        "run", "mine.py", "--budget", 20, "--method", "best-of-n", "--set", "recommend=false", "--json"
    ).document
    assert run["feasible"] == 20


@pytest.mark.parametrize("kind", ["constructive", "improvement", "black-box", "packing"])
async def test_the_offline_proposer_changes_programs_whose_value_no_grammar_makes(
    behavesim: Command, kind: str
) -> None:
    assert behavesim("task", "init", "mine", "--like", kind).code == 0
    task = TaskReference("mine.py").load()
    proposer, asked = GeneticProposer(task, seed=0), Prompt(f"Start here.\n\n{add_fence(task.template)}", "template")
    programs = {fenced_blocks((await proposer.propose(asked, number)).text)[0] for number in range(12)}
    assert len(programs) > 6
    assert any(map(partial(is_feasible, task), programs))


def is_feasible(task: bs.Task, source: str) -> bool:
    """Whether a program solves the first instance of a task."""
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    instance = task.instances("search")[0]
    try:
        return math.isfinite(float(task.score(instance, task.solve(namespace[task.entry_point], instance))))
    except PROVOKED:  # a refusal is a ValueError
        return False


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("template = TEMPLATE", "template = 3", "the template of task Mine must be a program's text, not 3"),
        (
            "room, packed = CAPACITY, []",
            "room, packed = 1 / 0, []",
            "division by zero (mine.py, line ",
        ),
        ("room, packed = CAPACITY, []", "while True:\n            pass", "look for a loop without end in `solve`"),
    ],
    ids=["no text", "an error in solve", "a solve without end"],
)
def test_a_fault_of_a_tasks_file_is_named_with_its_place_before_a_run_begins(
    behavesim: Command, example: Path, before: str, after: str, said: str
) -> None:
    change(example, (before, after))
    ended = behavesim("run", "mine.py", "--budget", 2, "--set", "timeout_s=0.1")
    assert (ended.code, ended.out, said in ended.err) == (2, "", True), ended.err
    assert not Path("runs").exists()


def test_the_direction_may_be_spelt_as_in_america() -> None:
    assert [bs.Objective(word).direction for word in ("maximize", "minimize")] == ["maximise", "minimise"]  # type: ignore[arg-type]


def test_a_process_makes_the_instances_of_a_split_once_and_those_of_the_search_twice_to_compare_them(
    behavesim: Command, example: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    change(
        example,
        (
            "        return [self",
            f"        import os\n        with open({str(made)!r}, 'a') as file:\n"
            "            print(os.getpid(), split, file=file)\n        return [self",
        ),
    )
    assert behavesim("run", "mine.py", "--proposer", "genetic", "--budget", 4, "--name", "one").code == 0
    found = Counter(tuple(line.split()) for line in made.read_text().splitlines())
    here = str(os.getpid())
    assert found.pop((here, "search")) == 2
    assert found.pop((here, "validation")) == 2  # the end reads the run anew, and its task with it
    assert set(found.values()) == {1}
