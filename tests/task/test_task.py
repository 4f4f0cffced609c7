"""What every task has unless it says otherwise, and how a task is loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from behavesim.base.errors import TaskError
from behavesim.sandbox.referee import verdict_on
from behavesim.state.settings import value_hash
from behavesim.task import Objective, Task, TaskReference, as_arrays, installed_tasks
from behavesim.task.reference import task_from
from behavesim.task.verdict import Solved, Verdict
from tests.engine.toys import Toy

FILE = '''
import behavesim as bs


class Mine(bs.Task):
    """The words of every prompt."""

    {template}
    {objective}

    def instances(self, split):
        return [1]

    def solve(self, function, instance):
        return function()

    def score(self, instance, solution):
        return 1.0

    def trajectory(self, instance, solution):
        return bs.Trajectory.prefixes([0])


task = {task}
'''
TEMPLATE = "template = 'def helper(): pass\\ndef wanted(): pass\\nLIMIT = 3'"
OBJECTIVE = "objective = bs.Objective('minimise')"


def written(folder: Path, template: str = TEMPLATE, objective: str = OBJECTIVE, task: str = "Mine()") -> TaskReference:
    (folder / "mine.py").write_text(FILE.format(template=template, objective=objective, task=task))
    return TaskReference(str(folder / "mine.py"))


def test_a_task_without_name_and_description_is_named_after_its_file_and_described_by_its_class(tmp_path: Path) -> None:
    reference = written(tmp_path)
    for task in (reference.load(), task_from(reference.place())):
        assert (task.name, task.description) == ("mine", "The words of every prompt.")
        assert task.entry_point == "wanted"
    named = written(tmp_path, f"{TEMPLATE}\n    name, description = 'own', 'words'").load()
    assert (named.name, named.description) == ("own", "words")


def test_an_installed_task_is_found_by_its_name() -> None:
    assert TaskReference("tsp").load().name == "tsp"
    assert type(task_from(TaskReference("tsp").place())) is type(TaskReference("tsp").load())
    assert "tsp" in installed_tasks()
    with pytest.raises(TaskError, match="no task 'tps'"):
        TaskReference("tps").load()


def test_a_size_is_the_task_with_other_instances_and_a_name_of_its_own() -> None:
    task, large = TaskReference("tsp").load(), TaskReference("tsp:large").load()
    assert isinstance(large, type(task))
    assert (task.name, large.name) == ("tsp", "tsp_large")
    assert large.search_size != task.search_size
    assert value_hash(large.instances("search")) != value_hash(task.instances("search"))


def test_a_number_is_the_task_with_so_many_search_instances_its_own_first_and_compared_alone() -> None:
    task, larger = TaskReference("tsp").load(), TaskReference("tsp:8").load()
    assert (larger.name, larger.compared, larger.objective.best_known) == ("tsp_8", 5, None)
    more = "1 of 20 cities, uniform; 1 of 100 cities, uniform; 1 of 200 cities, uniform"
    assert larger.rules.endswith(f"- The score is over 8 instances: those 5, and 3 more ({more}).")
    for split, count in (("search", 8), ("validation", 6), ("held-out", 14)):
        assert len(larger.instances(split)) == count
        known = None if split == "search" else task.objective_on(split).best_known
        assert larger.objective_on(split).best_known == known
    numbered = [task.instance("search", number) for number in range(10)]
    assert value_hash(larger.instances("search")) == value_hash(numbered[:8])
    assert value_hash(larger.instance("search", 9)) == value_hash(numbered[9])  # where a race goes on
    assert value_hash(larger.instances("held-out")) == value_hash(task.instances("held-out"))
    elsewhere = task_from(TaskReference("tsp:8").place())
    assert value_hash(elsewhere.instances("search")) == value_hash(numbered[:8])
    solved = Solved(tuple(np.arange(len(each.distances)) for each in numbered[:8]), 0.0)
    verdict = verdict_on(larger, numbered[:8], solved)
    assert isinstance(verdict, Verdict)
    assert (len(verdict.scores), len(verdict.trajectories)) == (8, 5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tsp:5", "task 'tsp' has 5 search instances; ask for more, such as tsp:20"),
        ("asp:8", "task 'asp' has its own search instances only"),
        ("tsp:huge", "task 'tsp' has no size 'huge'; it has .*large"),
        ("{file}:huge", r"task '.*mine\.py' has no size 'huge'; it has large$"),
        ("{plain}:huge", r"task '.*plain\.py' has no size 'huge'; it has one size only$"),
        ("{file}:8", r"a number is for installed tasks; let `instances` of .*mine\.py return more for 'search'$"),
        ("{file}:large", r"a size is chosen of an installed task; let the file .*mine\.py end with `task = large`$"),
    ],
)
def test_a_size_that_a_task_has_not_is_refused_with_those_that_it_has(tmp_path: Path, text: str, said: str) -> None:
    plain = Path(written(tmp_path).text).rename(tmp_path / "plain.py")
    file = written(tmp_path, f"{TEMPLATE}\n    sizes = ('large',)").text
    with pytest.raises(TaskError, match=said):
        TaskReference(text.format(file=file, plain=plain)).load()


def test_a_reference_to_a_file_holds_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert TaskReference("mine.py").absolute() == TaskReference(str(tmp_path / "mine.py"))
    assert TaskReference("tsp").absolute() == TaskReference("tsp")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"task": "Mine"}, r"must be an instance of its class; write `task = Mine\(\)`"),
        ({"task": "3"}, "must be an instance of behavesim.Task, not int"),
        ({"template": f"{TEMPLATE}\n    data_files = 'a.npz'"}, "the data_files of task Mine must be a tuple of paths"),
        ({"template": f"{TEMPLATE}\n    grammar = 3"}, "the grammar of task Mine must be a text, not 3"),
        (
            {"template": f"{TEMPLATE}\n    compared = 'all'"},
            "the `compared` of task Mine must be a number of instances",
        ),
        ({"template": f"{TEMPLATE}\n    compared = 0"}, "must be a number of instances, or None for all, not 0"),
        ({"template": ""}, "task Mine has no `template`"),
        ({"template": "template = 3"}, "the template of task Mine must be a program's text, not 3"),
        ({"objective": ""}, "task Mine has no `objective`"),
        ({"objective": "objective = bs.Objective('minimise', '3')"}, "best_known .* is a finite number, or None"),
        ({"objective": "objective = 'minimise'"}, "the objective of task Mine must be such as behavesim.Objective"),
        ({"template": "template = 'x = 1'"}, "the template of task 'mine' defines no function"),
        ({"template": "template = 'def f(:'"}, r"is no Python: invalid syntax in its line 1, def f\(:"),
    ],
)
def test_what_is_no_task_is_refused(tmp_path: Path, parts: dict[str, str], said: str) -> None:
    reference = written(tmp_path, **parts)
    with pytest.raises(TaskError, match=said):
        reference.load()


@pytest.mark.parametrize("method", ["instances", "solve", "score", "trajectory"])
def test_a_task_that_lacks_one_of_its_methods_is_refused_with_its_name(tmp_path: Path, method: str) -> None:
    reference = written(tmp_path)
    file = Path(reference.text)
    file.write_text(file.read_text().replace(f"def {method}(", "def other("))
    with pytest.raises(TaskError, match=f"raised TypeError: .*abstract method '?{method}'?"):
        reference.load()


def test_a_line_of_a_template_that_is_no_python_is_cut(tmp_path: Path) -> None:
    reference = written(tmp_path, f"template = 'def f(:{'x' * 100}'")
    with pytest.raises(TaskError, match=rf"in its line 1, def f\(:{'x' * 73}$"):
        reference.load()


def test_a_task_knows_its_instances_in_advance_unless_it_says_otherwise() -> None:
    assert not Toy().online
    assert not Toy().runs_apart


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("normaliser", "pair"), ("score_scale", 1.0), ("budget", 2000), ("timeout_s", 50.0), ("first_call_s", 0.0)),
        *(("stateless", False), ("online", False), ("apart", False), ("kind", "other"), ("suffix", ".py")),
        ("data_files", ()),
        *((name, "") for name in ("name", "description", "rules", "shifted", "grammar", "used_by", "search_size")),
    ],
)
def test_what_a_task_does_not_say_is_as_the_guides_and_the_settings_of_a_run_say(name: str, value: object) -> None:
    assert getattr(Task, name) == value


def test_the_best_known_score_holds_for_the_search_alone() -> None:
    class Known(Toy):
        objective = Objective("maximise", 7.0)

    assert Known().objective_on("search") == Objective("maximise", 7.0)
    assert Known().objective_on("validation") == Known().objective_on("held-out") == Objective("maximise")


def test_the_mean_score_does_not_depend_on_the_order_of_the_instances() -> None:
    scores = [1e16, 1.0, -1e16, 3.0]
    assert Toy().mean_score(scores) == Toy().mean_score(scores[::-1]) == 1.0


def test_a_task_that_says_no_more_draws_no_picture_and_names_a_decision_by_its_number() -> None:
    assert Toy().picture(0) is None
    assert Toy().in_words(0, 17) == "17"
    assert Toy().score_source == "trusted"


def test_a_solution_is_arrays_by_name() -> None:
    (name,) = as_arrays([1, 2])
    assert (name, as_arrays([1, 2])[""].tolist()) == ("", [1, 2])
    several = as_arrays({"a": [1], "b": np.zeros(2)})
    assert {name: array.tolist() for name, array in several.items()} == {"a": [1], "b": [0.0, 0.0]}
