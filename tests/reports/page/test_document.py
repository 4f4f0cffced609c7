"""What the page says, recomputed from the journal's SQL views."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
from collections import Counter
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from behavesim.analysis.run import Run
from behavesim.code_similarity.trees import ast_similarity
from behavesim.reports.page.document import document
from tests.analysis.journals import asked, feasible, journalled, rejected, started, stopped


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return journalled(
        tmp_path / "first",
        started(),
        feasible(0, 5.0, [0, 1, 2, 3], source="x = 1"),
        feasible(1, 3.0, [0, 2, 1, 3], source="x = 2", island=1),
        rejected(2, "timeout", "it took 50 s"),
        feasible(3, 4.0, [0, 2, 1, 3], source="x = 3"),
        feasible(4, 3.0, [0, 3, 1, 2], source="x = 2  # again", program="program 1"),
        feasible(5, 2.5, [0, 2, 1, 3], source="x = 5", island=None),
        rejected(6, "timeout", "it took 50 s"),
        rejected(7, "exception", "NameError"),
        asked(8, [0, -1]),
    )


def shown(run: Run) -> Any:
    """The document as the page reads it."""
    return json.loads(document(run).json())


def rows(run: Run, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(run.folder.journal)) as connection:
        return connection.execute(query).fetchall()


def test_every_candidate_has_the_cells_that_the_view_of_candidates_has(run: Run) -> None:
    columns = shown(run)["candidates"]
    names = ("candidate", "status", "score", "group", "parents", "model", "stage", "reason")
    found = list(zip(*(columns[name] for name in names), strict=True))
    query = "SELECT candidate, status, score, island, parents, model, stage, reason FROM candidates ORDER BY candidate"
    assert found == [
        (number, status, score, None if island is None else str(island), json.loads(parents), *rest)
        for number, status, score, island, parents, *rest in rows(run, query)
    ]
    assert columns["gap"] == [None if score is None else (score - 2.0) / 2.0 for score in columns["score"]]


def test_the_counts_are_those_of_the_views(run: Run) -> None:
    page = shown(run)
    of_status = dict(rows(run, "SELECT status, count(*) FROM candidates GROUP BY status"))
    assert page["summary"]["asked"] == sum(of_status.values()) == 9
    assert page["summary"]["feasible"] == page["distinct"]["feasible"] == of_status["feasible"] == 5
    query = "SELECT reason, count(*) FROM candidates WHERE status = 'rejected' GROUP BY reason ORDER BY reason"
    assert page["summary"]["rejected"] == dict(rows(run, query)) == {"exception": 1, "timeout": 2}
    assert page["distinct"]["programs"] == rows(run, "SELECT count(DISTINCT program) FROM candidates")[0][0] == 4
    query = "SELECT count(DISTINCT data) FROM events WHERE type = 'Evaluated' AND candidate >= 0"
    assert page["distinct"]["behaviours"] == rows(run, query)[0][0] - 1 == 2  # one is of a copy of another program
    ended = sum(of_status.values()) - of_status["open"]
    assert [(each["reason"], each["count"], each["share"]) for each in page["failures"]] == [
        (reason, number, number / ended) for reason, number in Counter(page["summary"]["rejected"]).most_common()
    ]


def test_the_best_and_the_convergence_are_those_of_the_scores_in_the_view(run: Run) -> None:
    page = shown(run)
    programs = rows(run, "SELECT min(candidate), score FROM candidates WHERE score IS NOT NULL GROUP BY program")
    ranked = sorted((score, candidate) for candidate, score in programs)
    best = {"score": ranked[0][0], "candidate": ranked[0][1], "gap": (ranked[0][0] - 2.0) / 2.0}
    assert page["summary"]["best"] == {**best, "standard_error": None, "instances": None}  # one instance
    assert page["summary"]["top10_gap"] == pytest.approx(sum((score - 2.0) / 2.0 for score, _ in ranked) / len(ranked))
    for then in page["convergence"]:
        query = f"SELECT min(score) FROM candidates WHERE candidate < {then['asked']}"
        assert then["score"] == rows(run, query)[0][0]
        assert then["gap"] == (then["score"] - 2.0) / 2.0
    assert [then["asked"] for then in page["convergence"]] == list(range(1, 10))
    assert [(each["candidate"], each["programs"]) for each in page["top"]] == [(5, 3), (0, 1)]


def test_the_trees_and_the_pairs_are_those_of_similarities_that_the_measure_finds_one_by_one(run: Run) -> None:
    found = shown(run)["behaviour_vs_text"]
    held = [row[0] for row in rows(run, "SELECT candidate FROM candidates WHERE island IS NOT NULL")]
    assert found["candidates"] == sorted(held) == [0, 1, 3, 4]
    does, measure = run.trajectories(held), run.measure()
    sources = [row[0] for row in rows(run, "SELECT source FROM candidates WHERE island IS NOT NULL")]
    assert found["behaviour"] == [[measure.between(a, b) for b in does] for a in does]
    assert found["metric"] in ("ast", "codebleu")
    if found["metric"] == "ast":
        assert found["source"] == [[ast_similarity(a, b) for b in sources] for a in sources]
    for tree, matrix in ((found["by_behaviour"], found["behaviour"]), (found["by_source"], found["source"])):
        assert sorted(tree["leaves"]) == held
        assert len(tree["up"]) == len(held) - 1
        lowest = min(min(row) for row in matrix)
        assert tree["height"] == max(fork[1] for fork in tree["up"]) <= 1 - lowest
        nearest = max(matrix[a][b] for a in range(4) for b in range(a))
        assert min(fork[1] for fork in tree["up"]) == pytest.approx(1 - nearest)
    for pair in found["pairs"]:
        a, b = held.index(pair["a"]), held.index(pair["b"])
        assert (pair["behaviour"], pair["source"]) == (found["behaviour"][a][b], found["source"][a][b])


def test_the_map_and_the_lineage_name_programs_with_their_scores(run: Run) -> None:
    page = shown(run)
    scores = dict(rows(run, "SELECT candidate, score FROM candidates WHERE score IS NOT NULL"))
    assert {each["candidate"]: each["score"] for each in page["map"]["places"]} == {
        k: ({-1: 10.0} | scores)[k] for k in (0, 1, 3, 5, -1)
    }
    assert [(each["candidate"], each["score"]) for each in page["lineage"]] == [(5, 2.5)]


def test_the_diversity_is_that_of_the_programs_each_group_held_then(run: Run) -> None:
    last = shown(run)["diversity"][-1]
    does = dict(zip((0, 1, 3, 4), run.trajectories([0, 1, 3, 4]), strict=True))
    apart = {pair: 1 - run.measure().between(does[pair[0]], does[pair[1]]) for pair in combinations(does, 2)}
    assert last["registered"] == 8
    assert last["intra"] == [pytest.approx((apart[0, 3] + apart[0, 4] + apart[3, 4]) / 3), None]
    assert last["inter"] == pytest.approx((apart[0, 1] + apart[1, 3] + apart[1, 4]) / 3)


def test_the_scenes_have_what_the_programs_shown_did_and_scored(run: Run) -> None:
    page = shown(run)
    (scene,) = page["scenes"]
    assert [each["candidate"] for each in scene["programs"]] == [each["candidate"] for each in page["top"]] == [5, 0]
    assert [each["values"] for each in scene["programs"]] == [[0, 2, 1, 3], [0, 1, 2, 3]]
    assert [each["score"] for each in scene["programs"]] == [2.5, 5.0]
    assert scene["first_difference"] == [[None, 2], [2, None]]
    assert scene["picture"]["kind"] == "route"


def test_the_texts_of_the_template_and_of_every_candidate_are_there(run: Run) -> None:
    texts = json.loads(gzip.decompress(base64.b64decode(shown(run)["texts"])))
    assert [text[0] for text in texts[:4]] == ["template", "x = 1", "x = 2", "its source"]
    assert [text[1:] for text in texts[2:4]] == [
        ["a thought", "", [3.0], "", []],
        ["", "it took 50 s", [], "", []],
    ]
    assert texts[9] == [None, "", "", [], "", []]


def test_the_nearest_of_a_program_are_those_that_the_measure_finds_one_by_one(run: Run) -> None:
    places = {each["candidate"]: each["nearest"] for each in shown(run)["map"]["places"]}
    measure, does = run.measure(), dict(zip(places, run.trajectories(list(places)), strict=True))
    for candidate, nearest in places.items():
        alike = {other: measure.between(does[candidate], does[other]) for other in places if other != candidate}
        assert [each["similarity"] for each in nearest] == sorted(alike.values(), reverse=True)
        assert {each["candidate"]: each["similarity"] for each in nearest} == alike


def test_the_page_names_files_without_their_folders(tmp_path: Path) -> None:
    task = str(tmp_path / "secret" / "mine.py")
    page = shown(journalled(tmp_path / "own", started(task=task)[:1], feasible(0, 3.0)))
    assert page["summary"]["task"] == page["task"] == "mine"
    assert page["made"]["commands"][0].startswith("behavesim run mine.py --method funsearch ")
    assert "secret" not in json.dumps(page)


def test_what_is_unknown_is_null(tmp_path: Path) -> None:
    page = shown(journalled(tmp_path / "empty", started(), rejected(0, "timeout"), stopped("user")))
    assert page["summary"]["best"] is page["summary"]["top10_gap"] is page["convergence"][0]["score"] is None
    assert page["summary"]["state"] == "stopped"
    assert page["top"] == []
