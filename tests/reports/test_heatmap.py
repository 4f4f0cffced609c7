"""The figure of similarities: a tree, and below it the cells in its order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from behavesim.base.errors import UsageError
from behavesim.reports.chart import check_figure
from behavesim.reports.figures import heatmap
from behavesim.reports.maps import leaves_of
from behavesim.similarity.clustering import Join

USUAL = (np.eye(3) * 0.5 + 0.5).tolist()
BEGINNINGS = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF"}


@pytest.mark.parametrize(
    ("suffix", "matrix"),
    [*((suffix, USUAL) for suffix in BEGINNINGS), (".png", np.ones((2, 2))), (".svg", np.eye(20) * 3 - 2)],
    ids=[*(f"usual in {suffix}" for suffix in BEGINNINGS), "copies", "raw"],
)
def test_draws_any_matrix_in_the_format_of_the_name(tmp_path: Path, suffix: str, matrix: Any) -> None:
    path = tmp_path / f"figure{suffix}"
    heatmap([f"program {k}" for k in range(len(matrix))], np.asarray(matrix).tolist(), title="tsp").write(path)
    assert path.read_bytes().startswith(BEGINNINGS[suffix])


@pytest.mark.parametrize(("name", "message"), [("figure.gif", "ending in .png"), ("nowhere/figure.png", "no folder")])
def test_refuses_what_it_cannot_write(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_figure(tmp_path / name)


PAIRS = [[1.0, 0.2, 0.9], [0.2, 1.0, 0.4], [0.9, 0.4, 1.0]]


def test_the_cells_stand_in_the_order_of_the_tree_which_joins_at_mean_distances() -> None:
    tree, cells = heatmap(["a", "b", "c"], PAIRS, "a title").spec["vconcat"]
    leaves = [each["leaf"] for each in tree["layer"][1]["data"]["values"]]
    assert leaves in (["a", "c", "b"], ["c", "a", "b"], ["b", "a", "c"], ["b", "c", "a"])
    assert cells["encoding"]["x"]["sort"] == cells["encoding"]["y"]["sort"] == leaves
    shown = {(each["a"], each["b"]): each["similarity"] for each in cells["data"]["values"]}
    assert shown == {("abc"[i], "abc"[j]): PAIRS[i][j] for i in range(3) for j in range(3)}
    heights = {each["distance"] for each in tree["layer"][0]["data"]["values"]}
    assert sorted(heights) == pytest.approx([0, 1 - 0.9, (0.8 + 0.6) / 2])


def test_colours_begin_at_zero_or_below_and_numbers_stand_where_there_is_room() -> None:
    for lowest, begins in ((0.2, 0.0), (-2.0, -2.0)):
        cells = heatmap(["a", "b"], [[1.0, lowest], [lowest, 1.0]], "").spec["vconcat"][1]
        assert cells["layer"][0]["encoding"]["color"]["scale"]["domain"] == [begins, 1]
    many, few = (heatmap(list(map(str, range(n))), np.eye(n).tolist(), "").spec["vconcat"][1] for n in (16, 15))
    assert (len(many["layer"]), len(few["layer"])) == (1, 2)


def test_a_tree_draws_each_join_between_its_branches() -> None:
    order, corners = leaves_of([Join(0, 2, 0.1), Join(1, 3, 0.5)], 3)
    assert order == [1, 0, 2]
    assert corners == [[(1, 0), (1, 0.1), (2, 0.1), (2, 0)], [(0, 0), (0, 0.5), (1.5, 0.5), (1.5, 0.1)]]
