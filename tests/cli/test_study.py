"""`behavesim study`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Command


def test_a_study_is_a_table_for_people_and_a_document_for_machines(behavesim: Command, tmp_path: Path) -> None:
    shown = behavesim("study", "visualise", "--figures", tmp_path / "figures")
    assert shown.code == 0, shown.err
    assert "nearest and farthest city" in shown.out
    assert (tmp_path / "figures/routes.svg").exists()
    document = behavesim("study", "visualise", "--json").document
    assert set(document) == {"cities", "routes", "behavesim", "rouge"}


def test_programs_of_a_run_are_held_against_their_text_and_its_islands_against_each_other(
    finished: Command, tmp_path: Path
) -> None:
    found = finished("study", "clustering", "first", "--metric", "ast", "--json").document
    size = len(found["candidates"])
    assert 2 <= size <= 12
    assert [len(found["behavesim"]), len(found["ast"])] == [size, size]
    worst = found["disagreements"][0]
    assert worst["candidates"][0] != worst["candidates"][1]
    a, b = (found["candidates"].index(candidate) for candidate in worst["candidates"])
    assert worst["behavesim"] == found["behavesim"][a][b]
    assert worst["ast"] == found["ast"][a][b]
    drawn = finished("study", "clustering", "first", "--metric", "ast", "--figures", "figures")
    assert "where behaviour and ast disagree" in drawn.out
    diversity = finished("study", "diversity", "first", "first", "--figures", "figures", "--json")
    (one, other) = diversity.document["runs"]
    assert one == other
    assert "between / inside" in finished("study", "diversity", "first").out
    assert [at["registered"] for at in one["diversity"]] == [2, 3, 4, 5, 6, 8, 9, 10, 11, 12]
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {
        "clustering.pdf", "clustering.svg", "diversity.pdf", "diversity.svg"
    }  # fmt: skip
    assert finished("study", "clustering", "first", "--metric", "words").code == 2


@pytest.mark.parametrize("name", ["main", "ablation"])
def test_what_needs_a_model_points_to_its_experiment(behavesim: Command, name: str) -> None:
    shown = behavesim("study", name)
    assert shown.code == 0
    assert f"behavesim experiment experiments/{name}" in shown.out


def test_figures_that_cannot_be_written_are_a_usage_error(behavesim: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = behavesim("study", "visualise", "--figures", tmp_path / "file")
    assert ended.code == 2
    assert "cannot write figures" in ended.err


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("results", "results.csv"),
        ("prediction", "prediction.json"),
        ("portfolio", "portfolio"),
        ("sets", "sets"),
    ],
)
def test_where_kept_data_was_looked_for_is_said_with_how_to_give_it(
    behavesim: Command, tmp_path: Path, name: str, place: str
) -> None:
    ended = behavesim("study", name)
    assert (ended.code, ended.out) == (2, "")
    assert (
        f"there is no {tmp_path}/experiments/{place}; go to a clone of the project, which has it, or name" in ended.err
    )


def test_an_unknown_study_is_a_usage_error(behavesim: Command) -> None:
    ended = behavesim("study", "nothing")
    assert ended.code == 2
    assert "Traceback" not in ended.err


def test_the_questions_that_the_same_replies_lead_to_are_counted(finished: Command) -> None:
    rows = finished("study", "prompts", "first", "--set", "window=1", "--json").document["rows"]
    assert [row["settings"] for row in rows] == ["as recorded", "window=1"]
    assert all(row["repeats"] == 0 and row["shows_best"] in (None, 1.0) and row["tokens"] > 100 for row in rows)
    assert set(rows[0]) == {
        *("run", "settings", "prompts", "shows_best", "distance", "parent_sets", "same_parent", "repeats", "tokens")
    }
    assert rows[0]["prompts"] == rows[1]["prompts"]
    assert finished("study", "prompts", "first", "--set", "method=eoh", "--json").document["rows"][1]["prompts"] > 0
    assert "show the best" in finished("study", "prompts", "first").out
    assert finished("study", "prompts", "first", "--set", "windows=1").code == 2
