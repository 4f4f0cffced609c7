from pathlib import Path

import numpy as np
import pytest

from behavesim.base.errors import UsageError
from behavesim.reports.figures import check_figure, heatmap

USUAL = np.eye(3) * 0.5 + 0.5
BEGINNINGS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("suffix", "matrix"),
    [*((suffix, USUAL) for suffix in BEGINNINGS), (".png", np.ones((2, 2))), (".svg", np.eye(20) * 3 - 2)],
    ids=[*(f"usual in {suffix}" for suffix in BEGINNINGS), "copies", "raw"],
)
def test_draws_any_matrix_in_the_format_of_the_name(tmp_path: Path, suffix: str, matrix: np.ndarray):
    path = tmp_path / f"figure{suffix}"
    heatmap([f"program {k}" for k in range(len(matrix))], matrix, title="tsp").savefig(path)
    assert path.read_bytes().startswith(BEGINNINGS[suffix])


@pytest.mark.parametrize(("name", "message"), [("figure.gif", "ending in .png"), ("nowhere/figure.png", "no folder")])
def test_refuses_what_it_cannot_write(tmp_path: Path, name: str, message: str):
    with pytest.raises(UsageError, match=message):
        check_figure(tmp_path / name)


PAIRS = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.4], [0.9, 0.4, 1.0]])


def test_the_cells_stand_in_the_order_of_the_dendrogram() -> None:
    tree, cells, _ = heatmap(["a", "b", "c"], PAIRS, "a title").axes
    order = [label.get_text() for label in cells.get_xticklabels()]
    assert order == [label.get_text() for label in cells.get_yticklabels()]
    assert order in (["b", "a", "c"], ["b", "c", "a"])
    rows = ["abc".index(name) for name in order]
    (image,) = cells.get_images()
    assert np.array_equal(image.get_array(), PAIRS[np.ix_(rows, rows)])  # type: ignore[arg-type]
    assert tree.get_title() == "a title"
    numbers = {tuple(text.get_position()): text.get_text() for text in cells.texts}
    assert numbers[5.0, 15.0] == f"{PAIRS[rows[1], rows[0]]:.2f}"
    assert numbers[25.0, 5.0] == f"{PAIRS[rows[0], rows[2]]:.2f}"


def test_the_dendrogram_joins_at_mean_distances_above_its_cells() -> None:
    tree, cells, _ = heatmap(["a", "b", "c"], PAIRS, "").axes
    heights = sorted(max(line.get_ydata()) for line in tree.lines)  # type: ignore[type-var]
    assert heights == pytest.approx([1 - 0.9, (0.8 + 0.6) / 2])
    assert tree.get_xlim() == cells.get_xlim() == (0.0, 30.0)
    low, high = tree.get_ylim()
    assert -0.05 < low < 0 < 0.7 < high < 0.8
    assert list(cells.get_xticks()) == [5, 15, 25]


def test_copies_are_drawn_with_some_height() -> None:
    tree = heatmap(["a", "b"], np.ones((2, 2)), "").axes[0]
    assert tree.get_ylim()[1] > 0.01


def test_colours_begin_at_zero_or_below_and_end_at_one() -> None:
    for lowest, begins in ((0.2, 0.0), (-2.0, -2.0)):
        (image,) = heatmap(["a", "b"], np.array([[1.0, lowest], [lowest, 1.0]]), "").axes[1].get_images()
        assert image.get_clim() == (begins, 1.0)


def test_numbers_stand_where_there_is_room_in_a_colour_that_can_be_read() -> None:
    many, few = (heatmap(["x"] * size, np.eye(size), "").axes[1].texts for size in (16, 15))
    assert (len(many), len(few)) == (0, 15 * 15)
    assert {(text.get_text(), text.get_color()) for text in few} == {("1.00", "black"), ("0.00", "white")}


def test_a_figure_grows_with_what_it_shows_up_to_a_page() -> None:
    small, large, huge = (heatmap(["x"] * size, np.eye(size), "").get_size_inches() for size in (2, 10, 200))
    assert tuple(small) < tuple(large) < tuple(huge) < (13.0, 13.0)
    longer = heatmap(["a name of some length"] * 2, np.eye(2), "").get_size_inches()
    assert tuple(small) < tuple(longer)
    assert tuple(heatmap(["x" * 500] * 2, np.eye(2), "").get_size_inches()) < (13.0, 13.0)
