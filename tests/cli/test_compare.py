from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Command

NEAREST = """
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    distances = [distance_matrix[current_node][node] for node in unvisited_nodes]
    return unvisited_nodes[distances.index(min(distances))]
"""
FARTHEST = """
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return unvisited_nodes[-1]
"""
FAILING = """
def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    raise KeyError("lost")
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    for name, source in (("nearest", NEAREST), ("farthest", FARTHEST), ("failing", FAILING)):
        (tmp_path / f"{name}.py").write_text(source)
    return tmp_path


def test_programs_that_do_the_same_are_exactly_alike_whatever_their_text(behavesim: Command, programs: Path) -> None:
    ended = behavesim("compare", "tsp", "template", "nearest.py", "farthest.py", "--json", "--figure", "map.svg")
    assert (ended.code, ended.err) == (0, "")
    document = ended.document
    assert document["labels"] == ["template", "nearest.py", "farthest.py"]
    assert document["metric"] == "dtw"
    assert document["settings"] == {"normaliser": 50, "truncate": 0.0, "skip": 0, "clip": True}
    assert document["matrix"][0] == document["matrix"][1]
    assert document["matrix"][0][1] == 1.0
    assert document["matrix"][0][2] == document["matrix"][2][0] == pytest.approx(0.51, abs=0.005)
    assert len(document["per_instance"]) == 5
    mean = sum(instance[0][2] for instance in document["per_instance"]) / 5
    assert document["matrix"][0][2] == pytest.approx(mean, abs=1e-12)
    assert (programs / "map.svg").stat().st_size > 0


def test_the_pairwise_normaliser_and_other_metrics_are_options(behavesim: Command, programs: Path) -> None:
    options = ("--normaliser", "pair", "--metric", "mean", "--truncate", "0.1", "--skip", "1", "--raw", "--json")
    document = behavesim("compare", "tsp", "template", "farthest.py", *options).document
    assert document["metric"] == "mean"
    assert document["settings"] == {"normaliser": "pair", "truncate": 0.1, "skip": 1, "clip": False}
    assert document["matrix"][0][1] < 0.2


def test_people_get_a_table(behavesim: Command, programs: Path) -> None:
    ended = behavesim("compare", "tsp", "template", "farthest.py")
    assert ended.code == 0
    assert "all instances" in ended.out
    assert "instance 5" in ended.out
    assert "0.513" in ended.out


def test_a_program_that_is_rejected_ends_the_comparison_and_is_named(behavesim: Command, programs: Path) -> None:
    ended = behavesim("compare", "tsp", "template", "failing.py", "--json")
    assert (ended.code, ended.out) == (3, "")
    assert "failing.py was rejected" in ended.err
    assert "KeyError" in ended.err


def test_where_the_tasks_normaliser_does_not_fit_another_is_named_that_does(behavesim: Command, programs: Path) -> None:
    refused = behavesim("compare", "tsp", "template", "farthest.py", "--held-out")
    assert refused.code == 2
    assert refused.err.rstrip().endswith("give --normaliser pair")
    assert refused.err.count("\n") == 1
    assert behavesim("compare", "tsp", "template", "farthest.py", "--held-out", "--normaliser", "pair").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("template",), "two programs or more"),
        (("template", "missing.py"), "cannot read the program"),
        (("template", "template", "--figure", "map.gif"), "ending in .png"),
        (("template", "template", "--normaliser", "long"), "a number or 'pair'"),
        (("template", "template", "--metric", "likeness"), "rouge, bleu, crystalbleu, ast, codebleu"),
        (("template", "farthest.py", "--normaliser", "10"), "two states are 49 apart"),
        (("template", "farthest.py", "--metric", "cosine"), "needs vectors; got prefixes"),
    ],
)
def test_what_cannot_be_compared_is_a_matter_of_usage(
    behavesim: Command, programs: Path, arguments: tuple[str, ...], message: str
) -> None:
    ended = behavesim("compare", "tsp", *arguments)
    assert ended.code == 2
    assert message in ended.err


def test_programs_are_compared_by_their_text_without_being_run(behavesim: Command, programs: Path) -> None:
    document = behavesim(
        "compare", "tsp", "nearest.py", "farthest.py", "failing.py", "--metric", "ast", "--json"
    ).document
    assert (document["metric"], document["settings"], document["per_instance"]) == ("ast", {}, [])
    assert all(document["matrix"][k][k] == 1.0 for k in range(3))
    assert 0 < document["matrix"][0][1] == document["matrix"][1][0] < 1
    (programs / "prose.py").write_text("no program at all")
    ended = behavesim("compare", "tsp", "nearest.py", "prose.py", "--metric", "ast")
    assert ended.code == 2
    assert "one is none" in ended.err or "no Python" in ended.err
