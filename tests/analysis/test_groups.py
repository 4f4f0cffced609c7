"""Which runs belong together, and what their group is called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from behavesim.analysis.groups import group_runs, repeats
from behavesim.analysis.report import RunReport, report
from tests.analysis.examples import made, made_elsewhere, unfinished
from tests.analysis.journals import feasible, journalled, started, tuned


def labels(*runs: RunReport) -> list[str]:
    return [group.label for group in group_runs(runs)]


def test_a_label_names_the_settings_that_set_a_group_apart() -> None:
    plain, none = made("funsearch+behavesim", 0, 0.1), made("funsearch+behavesim", 0, 0.1, p_s1=0.0)
    found = ["funsearch+behavesim p_s1=0.5", "funsearch+behavesim p_s1=0.0", "eoh"]
    assert labels(plain, none, made("eoh", 0, 0.1)) == found


def test_a_label_that_was_given_stands() -> None:
    assert labels(made("eoh", 0, 0.1, label="mine"), made("eoh", 0, 0.1, population=10, label="yours")) == [
        "mine", "yours",
    ]  # fmt: skip


def test_two_groups_of_one_label_are_numbered_on_each_task() -> None:
    same = [made("eoh", 0, 0.1, population=size, label="mine") for size in (10, 11, 12)]
    assert labels(*same, made("eoh", 0, 0.1, task="asp", label="mine")) == ["mine", "mine (2)", "mine (3)", "mine"]


def test_settings_are_written_as_a_person_would() -> None:
    operators = [made("eoh", 0, 0.1, operators=names) for names in (["e1", "m1"], ["e2"])]
    assert labels(*operators) == ["eoh operators=e1+m1", "eoh operators=e2"]
    recommended = [made("funsearch", 0, 0.1, keep_worse_than_template=keep) for keep in (True, False)]
    assert labels(*recommended) == [
        "funsearch keep_worse_than_template=true",
        "funsearch keep_worse_than_template=false",
    ]


def test_models_name_a_group_where_a_model_was_asked_and_else_the_proposer() -> None:
    asked = [made("eoh", 0, 0.1, proposer="openai", models=models) for models in ({"a": 1.0, "b": 2.0}, {"c": 1.0})]
    assert labels(*asked) == ["eoh models=a+b", "eoh models=c"]
    assert labels(asked[1], made("eoh", 0, 0.1)) == ["eoh models=c", "eoh proposer=genetic"]


def test_settings_of_another_task_or_method_do_not_name_a_group() -> None:
    assert labels(made("eoh", 0, 0.1, budget=10), made("eoh", 0, 0.1, "asp", budget=20)) == ["eoh", "eoh"]
    assert labels(made("eoh", 0, 0.1, budget=10), made("niche", 0, 0.1, budget=20)) == ["eoh", "niche"]


def test_a_run_by_itself_that_differs_in_much_is_called_by_its_name() -> None:
    of_each = {"budget": 100, "population": 10, "timeout_s": 5}, {"budget": 200, "population": 20, "timeout_s": 9}
    first, second, another_seed = (made("eoh", seed, 0.1, **of_each[which]) for which, seed in ((0, 0), (1, 0), (1, 1)))
    assert labels(first, second) == ["eoh-0-100-10-5", "eoh-0-200-20-9"]
    assert labels(first, second, another_seed) == ["eoh-0-100-10-5", "eoh budget=200 timeout_s=9.0 population=20"]


def test_runs_of_different_length_are_not_pooled() -> None:
    assert labels(made("eoh", 0, 0.1, budget=100), made("eoh", 1, 0.1, budget=200)) == [
        "eoh budget=100", "eoh budget=200",
    ]  # fmt: skip
    longer = made("eoh", 1, 0.1, budget=100)
    longer = replace(longer, summary=replace(longer.summary, asked=150))  # as a run that was made longer and is again
    assert labels(made("eoh", 0, 0.1, budget=100), longer) == ["eoh budget=100", "eoh budget=150"]


def test_runs_on_two_versions_of_a_task_are_not_pooled() -> None:
    other = made("eoh", 1, 0.1)
    other = replace(other, origin=replace(other.origin, versions={**other.origin.versions, "task": "changed"}))
    assert labels(made("eoh", 0, 0.1), other) == ["eoh", "eoh (2)"]


def test_runs_on_different_instances_are_of_two_families_and_labelled_apart() -> None:
    ours, theirs = made("eoh", 0, 0.1), made_elsewhere("eoh", 1, 0.1, population=11)
    groups = group_runs([ours, theirs])
    assert [(group.family, group.label) for group in groups] == [
        (("tsp", "2", "trusted"), "eoh"),
        (("tsp", "9", "trusted"), "eoh"),
    ]


def test_of_runs_that_repeat_one_another_the_finished_one_counts_and_then_the_furthest() -> None:
    done = made("eoh", 0, 0.1, budget=100)
    cut, shorter = (unfinished(made("eoh", 0, 0.2, budget=100), asked) for asked in (60, 29))
    for runs, kept in (([cut, done], 1), ([done, cut], 0), ([shorter, cut], 1), ([cut, shorter, done], 2)):
        assert repeats(runs) == [place for place in range(len(runs)) if place != kept]


def test_runs_that_repeat_an_earlier_one_are_known_by_their_places() -> None:
    first, other = made("eoh", 0, 0.1), made("eoh", 1, 0.1)
    assert repeats([first, other, first, made("eoh", 0, 0.2, workers=9)]) == [2, 3]
    asked = [made("eoh", 0, gap, proposer="openai") for gap in (0.1, 0.2, 0.2)]
    assert repeats(asked) == [2]


def test_runs_of_one_seed_whose_proposer_need_not_repeat_itself_are_known_by_their_digests(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import behavesim as bs\nclass Mine(bs.Proposer[bs.ProposerSettings]): pass\nproposer = Mine\n")
    runs = [made("eoh", 0, gap, proposer=str(path)) for gap in (0.1, 0.2, 0.3, 0.3)]
    assert repeats(runs) == [3]


def test_the_curve_of_runs_that_tune_goes_on_to_their_last_candidate(tmp_path: Path) -> None:
    runs = [
        journalled(tmp_path / f"{seed}", started(budget=1, seed=seed), feasible(0, 5.0), tuned(0, feasible(1, 4.0)))
        for seed in range(2)
    ]
    (group,) = group_runs([report(run) for run in runs])
    assert [(at.at, at.best.mean) for at in group.mean_convergence(by_gap=False)] == [(1, 5.0), (2, 4.0)]


def test_forks_of_one_run_count_once_in_their_group() -> None:
    asked = [made("eoh", 0, gap, proposer="openai") for gap in (0.1, 0.2, 0.3)] + [made("niche", 0, 0.4)]
    ours, another = ("base", 5.5), ("base", 7.5)
    beginnings = zip(asked, (ours, another, ours, ours), strict=True)
    assert repeats([replace(run, origin=replace(run.origin, beginning=begun)) for run, begun in beginnings]) == [2]


def test_a_method_in_a_file_is_called_as_the_file_is() -> None:
    own = made("eoh", 0, 0.1)
    own = replace(own, summary=replace(own.summary, method="/home/me/mine.py"))
    assert labels(own) == ["mine"]
