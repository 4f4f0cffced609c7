"""The live view on terminals of different sizes."""

from __future__ import annotations

from itertools import pairwise

import pytest

from behavesim.base.tokens import Usage
from behavesim.reports.live import LiveRun
from behavesim.state.events import Added, Asked, Compared, Evaluated, NotAdded, Prompt, Reply, Responded
from behavesim.state.state import RunState
from behavesim.trajectory import Trajectory
from tests.reports.test_panels import moment, row, shown, state

SIZES = [(40, 10), (60, 20), (80, 24), (120, 40), (200, 60)]


def compared() -> RunState:
    """The run of 21 candidates, and one more, that was compared with two islands and joined the better one."""
    later = state()
    later.apply(NotAdded(20))
    later.apply(Asked(21, (), "0", Prompt("", "improve")))
    later.apply(Responded(21, Reply("", "m", (Usage(prompt=900, completion=100),))))
    later.apply(Evaluated(21, "program 21", 1.5, (1.5,), (Trajectory.prefixes([99]),)))
    later.apply(Compared(21, {"0": 0.75, "1": 0.5, "2": 0.25}))
    later.apply(Added(21, "0"))
    return later


def parts(moment: LiveRun, width: int, height: int) -> set[str]:
    """The parts that a terminal of that size shows."""
    seen = shown(moment, width, height)
    signs = {
        "head": "funsearch+behavesim",
        "figures": "progress ",
        "islands": "island  size",
        "diversity": "behaviours ",
        "failures": "why candidates fail",
        "curve": "convergence",
    }
    return {name for name, sign in signs.items() if sign in seen}


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_view_fits_whatever_terminal_it_is_on(width: int, height: int) -> None:
    lines = shown(moment(state=compared(), facts={"next restart": "at candidate 500"}), width, height).splitlines()
    assert len(lines) <= height - 1
    assert max(map(len, lines)) <= width


def test_a_small_terminal_shows_what_a_run_found_what_it_costs_how_diverse_it_is_and_every_island() -> None:
    seen = shown(moment(state=compared(), facts={"next restart": "at candidate 500"}), 80, 24)
    assert row(seen, "best").startswith("1.5, gap 50.00 % (candidate 21)")
    assert row(seen, "cost").startswith("$0.2500")
    assert row(seen, "newcomers") == "mean distance 0.250 from their island, 0.625 from the others"
    islands = [line.split()[:4] for line in seen.splitlines() if line[5:6].isdigit() and line.startswith("    ")]
    assert islands == [["0", "3", "3", "1.5"], *([str(k), "2", "2", str(2 + k)] for k in range(1, 10))]


def test_parts_are_left_out_in_one_order_as_a_terminal_gets_lower() -> None:
    order = ["curve", "failures", "diversity"]
    now = moment(state=compared())
    seen = [parts(now, 80, height) for height in range(60, 9, -1)]
    assert seen[0] == {"head", "figures", "islands", *order}
    for higher, lower in pairwise(seen):
        assert lower <= higher
        assert [name for name in order if name in lower] == order[len(order) - len(lower & set(order)) :]
    assert seen[-1] >= {"head", "figures"}


def test_of_the_islands_the_best_stay_where_not_all_find_room() -> None:
    seen = shown(moment(), 60, 15)
    assert "6 more, none of them better" in seen
    assert [line.split()[0] for line in seen.splitlines() if line.endswith("▁")] == ["0", "1", "2", "3"]


def test_columns_are_left_out_in_one_order_as_a_terminal_gets_narrower() -> None:
    order = ["gap", "mean", "scores"]
    now, seen = moment(state=compared()), []
    for width in range(100, 39, -1):
        (header,) = (line for line in shown(now, width, 60).splitlines() if " size  " in line)
        seen.append(header.split())
    assert seen[0] == ["island", "size", "scores", "best", "gap", "mean", "improved", "trend"]
    for header in seen:
        assert [name for name in order if name in header] == order[len(order) - len(set(order) & set(header)) :]
        assert {"island", "size", "best", "improved"} <= set(header)


def test_a_wide_terminal_shows_the_islands_beside_the_rest() -> None:
    (line,) = (line for line in shown(moment(), 200, 60).splitlines() if line.startswith("progress"))
    assert "island  size" in line
