"""`behavesim study known`: copies in other words are found, others part at a step, and what does not fit is named."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from behavesim_studies.known_tables import labels

from tests.cli.command import Command

PROGRAMS = {
    "early/nearest": """
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return min(unvisited_nodes, key=lambda node: distance_matrix[current_node][node])
""",
    "later/closest": """
import numpy as np

def closest(here, home, left, distances):
    return left[np.argmin(distances[here, left])]
""",
    "later/farthest": """
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return max(unvisited_nodes, key=lambda node: distance_matrix[current_node][node])
""",
    "later/broken": """
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return unvisited_nodes.pop()
""",
    "later/other_form": """
def select_next_node(current_node, unvisited_nodes):
    return unvisited_nodes[0]
""",
}


def write(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PROGRAMS[name])


def test_copies_in_other_words_are_found_and_others_part_at_a_step(finished: Command, tmp_path: Path) -> None:
    write(tmp_path / "known", *PROGRAMS)
    ended = finished(
        *("study", "known", "known", "tsp", "--run", "first", "--best", "2"),
        *("--csv", "tables", "--figures", "drawn", "--json"),
    )
    assert ended.code == 0, ended.err
    found = ended.document
    programs = {each["name"]: each for each in found["programs"]}
    assert [each["whose"] for each in found["programs"]] == ["early", "later", "later", "first", "first", "template"]
    nearest, closest, farthest = (programs[name] for name in ("early/nearest", "later/closest", "later/farthest"))
    assert nearest["copy_of"] is None
    assert closest["copy_of"] == closest["nearest"] == programs["template"]["copy_of"] == "early/nearest"
    assert (closest["similarity"], closest["first_difference"]) == (1.0, None)
    assert farthest["behaviour"] != nearest["behaviour"] == closest["behaviour"]
    assert farthest["similarity"] < 1
    assert farthest["first_difference"]["step"] == 2  # all begin in city 0
    assert "the 49th nearest of 49 left" in farthest["first_difference"]["does"]
    assert found["behaviours"] == len({each["behaviour"] for each in found["programs"]}) >= found["far"] >= 1
    assert {each["name"]: each["reason"] for each in found["refused"]} == {
        "later/broken": "exception", "later/other_form": "signature"
    }  # fmt: skip
    assert found["same_behaviour"][0]["behavesim"] == 1.0
    assert found["similar_text"][0]["one"] != found["similar_text"][0]["other"]
    early, later = found["parties"][:2]
    assert (early["programs"], early["behaviours"], early["alone"]) == (1, 1, 0)
    assert (later["programs"], later["behaviours"], later["alone"]) == (2, 2, 1)
    size = len(found["programs"])
    assert [len(row) for row in found["similarities"]["rouge"]] == [size] * size
    assert (tmp_path / "drawn/known.svg").stat().st_size > 0
    with (tmp_path / "tables/again.csv").open() as file:
        (again,) = csv.DictReader(file)
    assert again["first"] == "early/nearest"
    assert again["again"].startswith("later/closest, ")
    assert again["again"].endswith(", template")


def test_where_no_program_fits_each_is_named_and_the_code_says_so(behavesim: Command, tmp_path: Path) -> None:
    write(tmp_path / "known", "later/broken", "later/other_form")
    ended = behavesim("study", "known", "known", "tsp")
    assert ended.code == 3
    assert "no program in known could be run on task tsp" in ended.err
    assert "No behaviour was found by two of them." in ended.out
    assert "AttributeError" in ended.out
    assert "extraction: signature" in ended.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing", "tsp"), "there is no folder missing"),
        (("empty", "tsp"), "there is no program in empty: no file ends in .py"),
        (("empty", "tsp", "--metric", "words"), "--metric takes one of rouge"),
    ],
)
def test_what_cannot_be_studied_is_a_matter_of_usage(
    behavesim: Command, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    ended = behavesim("study", "known", *arguments)
    assert ended.code == 2
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_points_of_the_map_that_lie_together_share_a_label() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.01, 0.02], [0.5, 0.9]])
    found = [text for _, text in labels([1, 2, 7, 9], points)]
    assert found == ["1, 7", "2", "9"]
