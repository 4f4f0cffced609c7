"""The document for machines."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from behavesim.analysis.comparison import comparison
from behavesim.analysis.held_out import HeldOutMean, HeldOutProgram
from behavesim.analysis.report import report
from behavesim.reports.files import json_document
from tests.analysis.examples import made, tried
from tests.analysis.journals import feasible, journalled, recommended, rejected, started, stopped

RACE = dict.fromkeys(["interval", "fresh", "told_apart_from", "others"])


def keys(value: Any) -> Any:
    """The names in a document, level by level: of a list those of its first entry."""
    if isinstance(value, dict):
        return {name: keys(each) for name, each in value.items()}
    return keys(value[0]) if isinstance(value, list) and value else None


def plain(value: Any) -> Any:
    """As another program reads it."""
    return json.loads(json.dumps(value))


def test_a_run_has_the_documented_keys(tmp_path: Path) -> None:
    run = journalled(
        tmp_path / "first",
        started(),
        feasible(0, 5.0),
        feasible(1, 4.0, [3, 2, 1, 0]),
        rejected(2, "timeout"),
        stopped("budget"),
        recommended(0, c0=1.0),
    )
    (found,) = plain(json_document(comparison([report(run)])))["runs"]
    best = dict.fromkeys(["candidate", "score", "gap", "standard_error", "instances"])
    documented = {
        **dict.fromkeys(["run", "state", "stopped_by", "task", "method", "proposer", "seed", "asked", "feasible"]),
        "rejected": {"timeout": None},
        "best": best,
        "recommended": {**best, "validation_score": None, "gain": None, "registered": None, **RACE},
        **dict.fromkeys(["top10_gap", "cost_usd", "isolation", "score_source", "seconds", "digest"]),
        "tokens": dict.fromkeys(["prompt", "cached", "completion", "reasoning"]),
        "convergence": dict.fromkeys(["asked", "score", "gap", "top10_gap"]),
        "islands": {**dict.fromkeys(["island", "name", "size", "score_levels", "mean", "improved_at"]), "best": best},
        "clusters": {**dict.fromkeys(["size", "members", "medoid", "cohesion"]), "best": best},
        "failures": dict.fromkeys(["stage", "reason", "count", "share", "candidate", "example"]),
        "distinct": dict.fromkeys(["feasible", "programs", "behaviours", "top"]),
        "diversity": dict.fromkeys(["intra", "inter"]),
        "diversity_over_time": dict.fromkeys(["registered", "intra", "inter"]),
        "joins": dict.fromkeys(["one", "other", "distance"]),
        "top": {
            **best,
            **dict.fromkeys(["source", "programs", "group", "operator", "model", "parents", "rank"]),
            "metrics": {},
        },
    }
    assert keys(found).items() >= documented.items()
    known = {"candidate": 1, "score": 4.0, "gap": 1.0}
    assert found["best"] == {**known, "standard_error": None, "instances": None}
    assert [each["members"] for each in found["clusters"]] == [[1], [0]]


def test_what_is_unknown_is_null() -> None:
    (run,) = plain(json_document(comparison([made("eoh", 0, None)])))["runs"]
    assert [run[name] for name in ("best", "recommended", "top10_gap", "cost_usd")] == [None] * 4
    assert run["diversity_over_time"][0] == {"registered": 10, "intra": [0.1, None], "inter": None}


def test_held_out_results_are_there_where_they_were_asked_for() -> None:
    run = made("eoh", 0, 0.1)
    assert "held_out" not in json_document(comparison([run]))["runs"][0]
    found = tried(run, HeldOutMean(0.5, 0.25))
    assert found.held_out is not None
    programs = (HeldOutProgram(4, 2.5, None, None, None, "timeout"),)
    found = replace(found, held_out=replace(found.held_out, programs=programs))
    assert plain(json_document(comparison([found])))["runs"][0]["held_out"] == {
        "template": {"score": 2.0, "gap": 0.2},
        "programs": [
            {"candidate": 4, "search_score": 2.5, "score": None, "gap": None, "improvement": None, "reason": "timeout"}
        ],
        "best": {"improvement": 0.5, "gap": 0.25},
        "top10": {"improvement": None, "gap": None},
        "recommended": {"improvement": None, "gap": None},
        "fallen": [],
        "split": "held-out",
        "course": [],
    }


def test_a_comparison_has_groups_and_tests() -> None:
    runs = [tried(made(method, seed, seed / 10), HeldOutMean(0.5, 0.25), HeldOutMean(0.5, 0.25))
            for method in ("eoh", "niche") for seed in range(2)]  # fmt: skip
    (entry,) = plain(json_document(comparison(runs)))["comparison"]
    assert set(entry) == {"task", "instances", "score_source", "groups", "tests", "recommended_vs_best", "verdicts"}
    assert set(entry["groups"][0]) == {
        "label", "method", "runs", "seeds", "asked", "budget", "unfinished", "metrics", "diversity_over_time",
    }  # fmt: skip
    assert set(entry["groups"][0]["metrics"]["best_gap"]) == {"values", "mean", "sd", "low", "high"}
    assert set(entry["groups"][0]["diversity_over_time"][0]) == {"registered", "intra", "inter", "separation"}
    assert set(entry["tests"][0]) == {
        "metric", "a", "b", "difference", "low", "high", "p", "superiority", "pairs", "is_primary", "p_holm",
    }  # fmt: skip
    assert set(entry["recommended_vs_best"][0]) == {
        "metric", "runs", "better", "equal", "worse", "unknown", "seeds", "mean", "low", "high", "p", "p_holm",
    }  # fmt: skip


def test_one_run_is_compared_with_nothing() -> None:
    assert json_document(comparison([made("eoh", 0, 0.1)]))["comparison"] == []
