"""What a run knows of one candidate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from behavesim.analysis.candidate_details import Neighbour, Parent, candidate_details
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.reports.screens import show_candidate
from behavesim.state.events import Added, Asked, Evaluated, Prompt, Reply, Responded
from behavesim.trajectory import Trajectory
from tests.analysis.journals import asked, feasible, journalled, rejected, started


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return journalled(
        tmp_path / "first",
        started(),
        feasible(0, 4.0, [0, 1, 3, 2]),
        feasible(1, 3.0, [3, 2, 1, 0]),
        feasible(2, 3.5, [0, 1, 2, 3], island=1),
        feasible(3, 4.0, [0, 1, 3, 2], program="program 0"),
        rejected(4, "timeout", "took too long"),
        [
            Asked(5, (0, 2), "1", Prompt("improve both", "crossover")),
            Responded(5, Reply("def f(): ...", "luna")),
            Evaluated(5, "def f(): ...", 2.5, (2.0, 3.0), (Trajectory.prefixes([0, 1, 2, 3]),), "an idea", "program 5"),
            Added(5, "1"),
        ],
        asked(6, (5, -1)),
    )


def test_a_feasible_candidate_is_shown_with_all_that_led_to_it(run: Run) -> None:
    found = candidate_details(run, 5)
    assert (found.run, found.of.candidate, found.of.status, found.of.stage) == ("first", 5, "feasible", "evaluation")
    assert (found.of.score, found.gap, found.of.scores) == (2.5, 0.25, (2.0, 3.0))
    assert found.tables()[0].rows == ((1, 2.0), (2, 3.0))
    assert found.parents == (Parent(0, 4.0, 1.0), Parent(2, 3.5, 0.75))
    assert (found.of.operator, found.of.group, found.of.model, found.of.thought) == (
        "crossover",
        "1",
        "luna",
        "an idea",
    )
    assert (found.of.source, found.prompt, found.reply) == ("def f(): ...", "improve both", "def f(): ...")


def test_as_json_its_fields_stand_side_by_side_and_parents_have_scores(run: Run) -> None:
    document = candidate_details(run, 5).document()
    assert (document["run"], document["candidate"], document["score"], document["reply"]) == (
        "first", 5, 2.5, "def f(): ...",
    )  # fmt: skip
    assert document["parents"][0] == {"candidate": 0, "score": 4.0, "gap": 1.0}
    nearest = document["neighbours"][0]
    assert [nearest[name] for name in ("candidate", "score", "gap", "similarity")] == [2, 3.5, 0.75, 1.0]


def test_what_of_the_cpu_time_counts_stands_beside_its_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = [
        replace(each, cpu_s=13.0, counted_s=3.5) if isinstance(each, Evaluated) else each
        for each in feasible(0, 4.0, [0, 1])
    ]
    run = journalled(tmp_path / "first", started(), counted, rejected(1, "timeout", "took too long"))
    document = candidate_details(run, 0).document()
    assert (document["cpu_s"], document["counted_s"], document["limit_s"]) == (13.0, 3.5, run.settings.timeout_s)
    show_candidate(candidate_details(run, 0))
    told = " ".join(capsys.readouterr().out.split())
    assert f"13.000 s; 3.500 of the {run.settings.timeout_s:g} s that count" in told
    assert candidate_details(run, 1).document()["counted_s"] is None


def test_its_neighbours_are_the_other_programs_nearest_first_and_of_those_as_near_the_best(run: Run) -> None:
    found = candidate_details(run, 5).neighbours
    similarity = dict(zip((5, 0, 1, 2), run.matrix([5, 0, 1, 2])[0].tolist(), strict=True))
    assert [each.candidate for each in found] == [2, 0, 1]
    assert found[0] == Neighbour(2, 3.5, 0.75, 1.0)
    np.testing.assert_array_equal([each.similarity for each in found], [similarity[each.candidate] for each in found])
    assert 1.0 > found[1].similarity > found[2].similarity


def test_a_copy_of_its_program_is_no_neighbour(run: Run) -> None:
    assert {each.candidate for each in candidate_details(run, 3).neighbours} == {1, 2, 5}
    assert {each.candidate for each in candidate_details(run, 0).neighbours} == {1, 2, 5}


def test_at_most_five_neighbours_are_shown(tmp_path: Path) -> None:
    run = journalled(tmp_path / "many", started(), *(feasible(number, float(number + 3)) for number in range(9)))
    assert [each.candidate for each in candidate_details(run, 4).neighbours] == [0, 1, 2, 3, 5]


def test_a_rejected_and_an_open_candidate_have_neither_score_nor_neighbours(run: Run) -> None:
    failed, waiting = candidate_details(run, 4), candidate_details(run, 6)
    assert (failed.of.status, failed.of.stage, failed.of.reason, failed.of.message) == (
        "rejected",
        "evaluation",
        "timeout",
        "took too long",
    )
    assert failed.of.source == "its source"
    assert (waiting.of.status, waiting.of.reason, waiting.of.source) == ("open", None, None)
    assert waiting.parents == (Parent(5, 2.5, 0.25), Parent(-1, 10.0, 4.0))
    for each in (failed, waiting):
        assert (each.of.score, each.gap, each.of.scores, each.neighbours) == (None, None, (), ())


def test_the_template_is_shown_as_number_minus_one(run: Run) -> None:
    found = candidate_details(run, -1)
    assert (found.of.source, found.of.score, found.parents, found.of.operator) == ("template", 10.0, (), "template")
    assert (found.prompt, found.reply) == (None, None)
    assert [each.candidate for each in found.neighbours] == [5, 2, 0, 1]


def test_an_unknown_candidate_is_refused_with_the_numbers_there_are(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run first has no candidate 7; there are 0 to 6, and -1 is the template"):
        candidate_details(run, 7)
    empty = journalled(tmp_path / "empty", started()[:1])
    with pytest.raises(UsageError, match=r"run empty has no candidate -1; there are none yet$"):
        candidate_details(empty, -1)
