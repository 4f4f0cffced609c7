from pathlib import Path

import numpy as np
import pytest

from behavesim.errors import UsageError
from behavesim.reports.heatmap import draw_heatmap

BEGINNINGS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "matrix", [np.eye(3) * 0.5 + 0.5, np.ones((2, 2)), np.eye(20) * 3 - 2], ids=["usual", "copies", "raw"]
)
@pytest.mark.parametrize("suffix", BEGINNINGS)
def test_draws_any_matrix_in_the_format_of_the_name(tmp_path: Path, suffix: str, matrix: np.ndarray):
    path = tmp_path / f"figure{suffix}"
    draw_heatmap([f"program {k}" for k in range(len(matrix))], matrix, path, title="tsp")
    assert path.read_bytes().startswith(BEGINNINGS[suffix])


@pytest.mark.parametrize(("name", "message"), [("figure.gif", "ending in .png"), ("nowhere/figure.png", "no folder")])
def test_refuses_what_it_cannot_write(tmp_path: Path, name: str, message: str):
    with pytest.raises(UsageError, match=message):
        draw_heatmap(["a", "b"], np.ones((2, 2)), tmp_path / name, title="")
