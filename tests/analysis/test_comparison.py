"""Runs compared: what is pooled, what is told apart, what is tested."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from behavesim.analysis.comparison import Pairs, comparison
from behavesim.analysis.run import Run
from behavesim.config import resolve
from behavesim.errors import UsageError
from behavesim.reports.comparison import comparison_tables, write_csv


def run(method: str, seed: int, gap: float | None, task: str = "tsp", **settings: Any) -> tuple[Run, dict[str, Any]]:
    """A run as a comparison sees it: settings, how far it came, and its document."""
    resolved = resolve({"task": task, "method": method, "seed": seed, **settings})
    started = SimpleNamespace(fingerprint={"task": "1", "instances": "2", "template": "3"})
    state = SimpleNamespace(asked=resolved.budget, started=started, digest=lambda: f"{gap}")
    name = f"{method}-{seed}-{'-'.join(map(str, settings.values()))}"
    document = {
        "run": name,
        "method": method,
        "seed": seed,
        "asked": resolved.budget,
        "best": None if gap is None else {"candidate": 1, "score": 1.0 + gap, "gap": gap},
        "recommended": None,
        "top10_gap": gap,
        "diversity": {"intra": [0.2, None, 0.4], "inter": 0.6},
        "distinct": {"feasible": 100, "programs": 90, "behaviours": 60, "top": 4},
        "rejected": {},
        "tokens": {"prompt": 5},
        "convergence": [{"asked": 10, "score": 1.0, "gap": 0.1, "top10_gap": 0.2}],
        "diversity_over_time": [
            {"told": 10, "intra": [0.1, None], "inter": None},
            {"told": 20, "intra": [0.2 + 0.1 * seed], "inter": 0.6},
        ],
    }
    return cast(Run, SimpleNamespace(settings=resolved, state=state)), document


def compared(*given: tuple[Run, dict[str, Any]], pairs: Pairs | None = None) -> list[dict[str, Any]]:
    return comparison([each[0] for each in given], [each[1] for each in given], pairs)


def labels(entry: dict[str, Any]) -> list[str]:
    return [group["label"] for group in entry["groups"]]


def test_one_run_is_compared_with_nothing() -> None:
    assert compared(run("eoh", 0, 0.1)) == []


def test_seeds_of_equal_settings_are_pooled() -> None:
    (entry,) = compared(*(run(method, seed, 0.1 * seed) for method in ("eoh", "niche") for seed in (1, 2, 3)))
    assert labels(entry) == ["eoh", "niche"]
    assert [group["seeds"] for group in entry["groups"]] == [[1, 2, 3]] * 2
    assert entry["groups"][0]["metrics"]["best_gap"]["mean"] == pytest.approx(0.2)
    assert entry["groups"][0]["metrics"]["separation"]["mean"] == pytest.approx((0.6 / 0.3 + 0.6 / 0.4 + 0.6 / 0.5) / 3)


def test_settings_that_change_nothing_do_not_part_runs() -> None:
    (entry,) = compared(run("eoh", 0, 0.1, workers=1), run("eoh", 1, 0.1, workers=8, max_cost_usd=3.0))
    assert len(entry["groups"]) == 1


def test_a_run_made_twice_counts_once_unless_a_model_answered_anew() -> None:
    first, other = run("eoh", 0, 0.1), run("eoh", 1, 0.3)
    (entry,) = compared(first, run("eoh", 0, 0.2, label="the same"), other)
    assert entry["groups"][0]["metrics"]["best_gap"]["values"] == (0.1, 0.3)
    assert compared(first, first) == []
    asked = [run("eoh", 0, gap, proposer="openai") for gap in (0.1, 0.2, 0.2)]
    (entry,) = compared(*asked)
    assert entry["groups"][0]["metrics"]["best_gap"]["values"] == (0.1, 0.2)


def test_a_label_names_the_settings_that_set_a_group_apart() -> None:
    plain, none = run("funsearch+behavesim", 0, 0.1), run("funsearch+behavesim", 0, 0.1, p_s1=0.0)
    (entry,) = compared(plain, none, run("eoh", 0, 0.1))
    assert labels(entry) == ["funsearch+behavesim p_s1=0.5", "funsearch+behavesim p_s1=0.0", "eoh"]
    (named,) = compared(run("eoh", 0, 0.1, label="mine"), run("eoh", 0, 0.1, population=10, label="yours"))
    assert labels(named) == ["mine", "yours"]


def test_runs_of_different_length_are_not_pooled() -> None:
    (entry,) = compared(run("eoh", 0, 0.1, budget=100), run("eoh", 1, 0.1, budget=200))
    assert labels(entry) == ["eoh budget=100", "eoh budget=200"]


def test_tasks_are_compared_apart() -> None:
    entries = compared(run("eoh", 0, 0.1), run("eoh", 0, 0.1, task="asp"), run("niche", 0, 0.1))
    assert [(entry["task"], labels(entry)) for entry in entries] == [("tsp", ["eoh", "niche"]), ("asp", ["eoh"])]


def grid(seeds: int = 6) -> list[tuple[Run, dict[str, Any]]]:
    shift = {"eoh": 0.0, "niche": 1.0, "best-of-n": 2.0}
    return [
        run(method, seed, shift[method] + seed / 10, task)
        for task in ("tsp", "asp")
        for method in shift
        for seed in range(seeds)
    ]


def test_all_pairs_are_tested_unless_some_were_chosen() -> None:
    everything, chosen = compared(*grid()), compared(*grid(), pairs=[("eoh", "niche"), ("eoh", "absent")])
    gaps = [[t for t in entry["tests"] if t["metric"] == "best_gap"] for entry in (*everything, *chosen)]
    assert [len(tests) for tests in gaps] == [3, 3, 1, 1]
    assert (gaps[2][0]["a"], gaps[2][0]["b"]) == ("eoh", "niche")
    assert gaps[2][0]["difference"] == pytest.approx(-1.0)


def test_the_correction_holds_for_all_tests_of_a_metric_on_all_tasks() -> None:
    tests = [t for entry in compared(*grid()) for t in entry["tests"] if t["metric"] == "best_gap"]
    assert len({t["p"] for t in tests}) == 1
    assert all(t["p_holm"] == pytest.approx(6 * t["p"]) for t in tests)


def test_a_run_without_a_feasible_program_counts_where_it_has_values() -> None:
    (entry,) = compared(run("eoh", 0, None), run("eoh", 1, 0.3), run("niche", 0, 0.1))
    assert entry["groups"][0]["metrics"]["best_gap"]["values"] == (0.3,)
    assert len(entry["groups"][0]["runs"]) == 2


def test_what_choosing_on_validation_instances_was_worth_is_counted_over_all_runs() -> None:
    given = [run(method, seed, 0.1) for method in ("eoh", "niche") for seed in range(4)]
    for number, (_, document) in enumerate(given):
        unknown = {"gap": None, "improvement": None}
        document["held_out"] = {name: dict(unknown) for name in ("best", "top10", "recommended")}
        if number:  # the first is unknown
            document["held_out"]["best"]["improvement"] = 0.5
            document["held_out"]["recommended"]["improvement"] = 0.5 + 0.1 * (number - 2)
    (entry,) = compared(*given)
    (choice,) = entry["choice"]
    assert (choice["metric"], choice["runs"], choice["unknown"]) == ("held_out_choice", 7, 1)
    assert (choice["better"], choice["equal"], choice["worse"]) == (5, 1, 1)
    assert choice["seeds"] == 4
    assert choice["mean"] == pytest.approx((0.2 + (-0.1 + 0.3) / 2 + (0.0 + 0.4) / 2 + (0.1 + 0.5) / 2) / 4)
    assert choice["p"] == choice["p_holm"] == pytest.approx(2 / 2**4)
    assert entry["groups"][0]["metrics"]["held_out_choice"]["mean"] == pytest.approx(0.0)
    assert compared(*grid())[0]["choice"] == []


def test_diversity_over_time_is_the_mean_of_the_runs_that_know_it() -> None:
    (entry,) = compared(run("eoh", 0, 0.1), run("eoh", 2, 0.1))
    first, second = entry["groups"][0]["diversity_over_time"]
    assert first == {"told": 10, "intra": pytest.approx(0.1), "inter": None, "separation": None}
    assert second == {
        "told": 20, "intra": pytest.approx(0.3), "inter": 0.6, "separation": pytest.approx((3.0 + 1.5) / 2),
    }  # fmt: skip


def test_moments_are_put_together_by_how_many_were_told() -> None:
    longer = run("eoh", 2, 0.1)
    longer[1]["diversity_over_time"] = [{"told": told, "intra": [0.5], "inter": None} for told in (20, 40)]
    (entry,) = compared(run("eoh", 0, 0.1), longer)
    found = {point["told"]: point["intra"] for point in entry["groups"][0]["diversity_over_time"]}
    assert found == {10: pytest.approx(0.1), 20: pytest.approx(0.35), 40: pytest.approx(0.5)}


def test_a_value_that_some_runs_lack_says_of_how_many_it_is() -> None:
    console = Console(file=io.StringIO(), width=100)
    for table in comparison_tables(compared(run("eoh", 0, None), run("eoh", 1, 0.3), run("niche", 0, 0.1))):
        console.print(table)
    assert "of 1: 30.00" in cast(io.StringIO, console.file).getvalue()


def test_where_no_best_is_known_scores_are_tested() -> None:
    given = [run(method, seed, seed / 10) for method in ("eoh", "niche") for seed in range(3)]
    for _, document in given:
        document["best"]["gap"] = document["top10_gap"] = None
    console = Console(file=io.StringIO(), width=100)
    for table in comparison_tables(compared(*given)):
        console.print(table)
    rows = [line for line in cast(io.StringIO, console.file).getvalue().splitlines() if "best score" in line]
    assert "0.00 [-0.13, 0.13]" in rows[-1]


def test_repetitions_are_shares_of_what_could_repeat() -> None:
    metrics = compared(run("eoh", 0, 0.1), run("eoh", 1, 0.1))[0]["groups"][0]["metrics"]
    assert metrics["repeated_programs"]["mean"] == pytest.approx(0.1)
    assert metrics["repeated_behaviours"]["mean"] == pytest.approx(1 / 3)
    assert metrics["top10_behaviours"]["mean"] == 4


def test_the_tables_can_be_read_on_a_narrow_terminal() -> None:
    console = Console(file=io.StringIO(), width=100)
    for table in comparison_tables(compared(*grid())):
        console.print(table)
    text = cast(io.StringIO, console.file).getvalue()
    assert "comparison on asp" in text
    assert "25.00 ± 18.71" in text
    assert "Holm" in text
    assert "…" not in text


def test_csv_files_hold_every_row(tmp_path: Path) -> None:
    given = grid()
    document = {"runs": [each[1] for each in given], "comparison": compared(*given)}
    write_csv(document, tmp_path / "tables")
    rows = {path.stem: list(csv.DictReader(path.open())) for path in (tmp_path / "tables").iterdir()}
    assert len(rows["runs"]) == len(rows["convergence"]) == len(rows["diversity"]) / 2 == 36
    assert rows["runs"][1]["best_gap"] == "0.1"
    assert {row["group"] for row in rows["groups"]} == {"eoh", "niche", "best-of-n"}
    assert {row["p_holm"] for row in rows["tests"] if row["metric"] == "best_gap"} != {""}


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--csv"):
        write_csv({"runs": [], "comparison": []}, tmp_path / "file")
