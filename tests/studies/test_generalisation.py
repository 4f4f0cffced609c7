"""The study of generalisation says why a gap is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from behavesim_studies.programs_of_runs import GeneralisationStudy, Row, _gaps

from behavesim.analysis.statistics import Sample
from behavesim.task import TaskReference


@pytest.mark.parametrize(
    ("sources", "scores", "reason"),
    [
        ([["a"], []], {"a": [7.0]}, "1 of 2 runs have no such program"),
        ([["a"]], {}, "no program has a score there"),
        ([["a", "b"]], {"a": [7.0]}, "a program failed there"),
    ],
)
def test_the_reason_stands_in_the_place_of_a_gap(
    sources: Sequence[Sequence[str]], scores: Mapping[str, Sequence[float]], reason: str
) -> None:
    assert _gaps(TaskReference("tsp").load(), "search", sources, scores) == reason


def test_a_gap_without_a_best_known_score_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    task = TaskReference("tsp").load()
    assert isinstance(_gaps(task, "search", [["a"]], {"a": [7.0]}), Sample)
    monkeypatch.setattr(type(task.objective_on("search")), "gap", lambda self, score: None)
    assert _gaps(task, "search", [["a"]], {"a": [7.0]}) == "no best known score to compare with"


def test_the_table_has_the_reasons_where_there_are_any() -> None:
    gaps = dict.fromkeys(("search", "held-out", "shifted"))
    said = Row("asp", 1, "best", gaps, {"shifted": "no program has a score there"})  # type: ignore[arg-type]
    (table,) = GeneralisationStudy((said,)).tables()
    assert table.rows == (("asp", 1, "best", "shifted: no program has a score there"),)
