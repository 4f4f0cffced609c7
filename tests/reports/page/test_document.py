"""What the page says, recomputed from the journal's SQL views."""

from __future__ import annotations

import base64
import gzip
import json
import re
import sqlite3
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from behavesim.analysis.report import report
from behavesim.analysis.run import Run
from behavesim.code_similarity.trees import ast_similarity
from behavesim.reports.markup import in_html
from behavesim.reports.page.html import html, run_page
from behavesim.reports.sections import RUN, OneRun, Section
from behavesim.state.events import Asked, Responded
from behavesim.store.reading import read_last
from tests.analysis.journals import asked, feasible, journalled, rejected, started, stopped, told


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
    """The data that the page's scripts draw, as they read it."""
    return json.loads(run_page(report(run)).json())["data"]


def section(run: Run, name: str) -> Section:
    """A section of the page, whose tables and charts are what the page shows."""
    return RUN[name](OneRun(report(run)))


def table(run: Run, name: str, of: str | None = None) -> list[dict[str, Any]]:
    """The rows of a table of a section: the first, or the one of this name."""
    found = next(each for each in section(run, name).every_table if of in (None, each.name))
    return [dict(zip([column.name for column in found.columns], row, strict=True)) for row in found.rows]


def rows(run: Run, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(run.folder.journal)) as connection:
        return connection.execute(query).fetchall()


def test_every_cell_of_every_table_and_every_chart_stands_on_the_page(run: Run) -> None:
    page = run_page(report(run))
    text = html(page)
    for name in page.sections.keys() - {"replay", "candidates"}:
        found = section(run, name)
        body = re.sub(r"</?button[^>]*>", "", page.sections[name][1])
        for each in found.every_table:
            for texts in each.known.texts:
                cells = [re.sub(r"(?<![\w.])-1\b", "template", in_html(cell)) for cell in texts]
                assert all(cell in body for cell in cells), (name, cells)
        assert {chart.name for chart in found.charts} <= page.data["charts"].keys()
        assert f'id="{name}"' in text


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
    facts = {row["what"]: row["value"] for row in table(run, "summary")}
    of_status = dict(rows(run, "SELECT status, count(*) FROM candidates GROUP BY status"))
    assert facts["candidates"] == "9 asked, 5 feasible, 3 rejected, 1 open"
    assert (sum(of_status.values()), of_status["feasible"], of_status["rejected"], of_status["open"]) == (9, 5, 3, 1)
    query = "SELECT reason, count(*) FROM candidates WHERE status = 'rejected' GROUP BY reason ORDER BY 2 DESC"
    assert [(each["reason"], each["count"], each["share"]) for each in table(run, "failures")] == [
        (reason, number, number / 8) for reason, number in rows(run, query)
    ]
    (operator,) = table(run, "operators")
    assert (operator["asked"], operator["feasible"]) == (9, 5)


def test_the_best_and_the_convergence_are_those_of_the_scores_in_the_view(run: Run) -> None:
    for then in table(run, "convergence", "convergence"):
        query = f"SELECT min(score) FROM candidates WHERE candidate < {then['asked']}"
        assert then["score"] == rows(run, query)[0][0]
        assert then["gap"] == (then["score"] - 2.0) / 2.0
    assert [then["asked"] for then in table(run, "convergence", "convergence")] == list(range(1, 10))
    assert [each["candidate"] for each in table(run, "convergence", "improvements")] == [0, 1, 5]
    assert [(each["candidate"], each["programs"]) for each in table(run, "top")] == [(5, 3), (0, 1)]
    dots = section(run, "convergence").charts[0].spec["layer"][0]["data"]["values"]
    query = "SELECT candidate, 100 * (score - 2.0) / 2.0 FROM candidates WHERE score IS NOT NULL ORDER BY candidate"
    assert [(each["candidate"], each["gap"]) for each in dots] == rows(run, query)


def test_the_trees_and_the_pairs_are_those_of_similarities_that_the_measure_finds_one_by_one(run: Run) -> None:
    found = section(run, "behaviour_vs_text")
    held = [row[0] for row in rows(run, "SELECT candidate FROM candidates WHERE island IS NOT NULL")]
    does, measure = dict(zip(held, run.trajectories(held), strict=True)), run.measure()
    sources = dict(rows(run, "SELECT candidate, source FROM candidates WHERE island IS NOT NULL"))
    by_behaviour = {(a, b): measure.between(does[a], does[b]) for a in held for b in held}
    by_source = {(a, b): ast_similarity(sources[a], sources[b]) for a in held for b in held}
    charts = {chart.name: chart.spec for chart in found.charts}
    for name, similar in (("behaviour", by_behaviour), ("text", by_source)):
        cells = charts[f"heat_{name}"]["data"]["values"]
        shown_as = {(int(each["a"]), int(each["b"])): each["similarity"] for each in cells}
        if name == "behaviour" or "CodeBLEU" not in found.tables[0].columns[3].heading:
            assert shown_as == similar
        corners, leaves = (layer["data"]["values"] for layer in charts[f"tree_{name}"]["layer"])
        assert sorted(each["candidate"] for each in leaves) == held
        assert len({each["join"] for each in corners}) == len(held) - 1
        nearest = max(value for (a, b), value in shown_as.items() if a != b)
        assert min(each["distance"] for each in corners if each["corner"] == 1) == pytest.approx(1 - nearest)
    for pair in table(run, "behaviour_vs_text", "pairs"):
        assert pair["behaviour"] == by_behaviour[pair["a"], pair["b"]]


def test_the_map_and_the_lineage_name_programs_with_their_scores(run: Run) -> None:
    scores = dict(rows(run, "SELECT candidate, score FROM candidates WHERE score IS NOT NULL"))
    assert {each["candidate"]: each["score"] for each in table(run, "map", "map")} == {
        k: ({-1: 10.0} | scores)[k] for k in (0, 1, 3, 5, -1)
    }
    assert [(each["candidate"], each["score"]) for each in table(run, "genealogy")] == [(5, 2.5)]


def test_the_diversity_is_that_of_the_programs_each_group_held_then(run: Run) -> None:
    last = table(run, "islands", "diversity")[-1]
    does = dict(zip((0, 1, 3, 4), run.trajectories([0, 1, 3, 4]), strict=True))
    apart = {pair: 1 - run.measure().between(does[pair[0]], does[pair[1]]) for pair in combinations(does, 2)}
    assert last["registered"] == 8
    assert last["intra"] == pytest.approx((apart[0, 3] + apart[0, 4] + apart[3, 4]) / 3)
    assert last["inter"] == pytest.approx((apart[0, 1] + apart[1, 3] + apart[1, 4]) / 3)


def test_the_scenes_have_what_the_programs_shown_did_and_scored(run: Run) -> None:
    (scene,) = shown(run)["scenes"]
    assert [each["candidate"] for each in scene["programs"]] == [5, 0]
    assert [each["values"] for each in scene["programs"]] == [[0, 2, 1, 3], [0, 1, 2, 3]]
    assert [each["score"] for each in scene["programs"]] == [2.5, 5.0]
    assert scene["first_difference"] == [[None, 2], [2, None]]
    assert scene["picture"]["kind"] == "route"


def test_the_texts_of_the_template_and_of_every_candidate_are_there_with_prompts_of_those_on_the_map(run: Run) -> None:
    texts = json.loads(gzip.decompress(base64.b64decode(shown(run)["texts"])))
    assert [text[0] for text in texts[:4]] == ["template", "x = 1", "x = 2", "its source"]
    assert [text[1:6] for text in texts[2:4]] == [
        ["a thought", "", [3.0], "", []],
        ["", "it took 50 s", [], "", []],
    ]
    assert texts[9] == [None, "", "", [], "", [], None, None]
    asked, replied = read_last(run.folder.journal, 1, Asked), read_last(run.folder.journal, 1, Responded)
    assert asked is not None and replied is not None
    assert texts[2][6:] == [asked.prompt.text, replied.reply.text]
    assert texts[3][6] is None, "what was rejected is on no map"


def test_the_nearest_of_a_program_are_those_that_the_measure_finds_one_by_one(run: Run) -> None:
    places = {int(each): nearest for each, nearest in shown(run)["nearest"].items()}
    measure, does = run.measure(), dict(zip(places, run.trajectories(list(places)), strict=True))
    for candidate, nearest in places.items():
        alike = {other: measure.between(does[candidate], does[other]) for other in places if other != candidate}
        assert [similarity for _, similarity in nearest] == sorted(alike.values(), reverse=True)
        assert dict(nearest) == alike


def test_the_page_names_files_without_their_folders(tmp_path: Path) -> None:
    task = str(tmp_path / "secret" / "mine.py")
    run = journalled(tmp_path / "own", started(task=task)[:1], feasible(0, 3.0))
    text = html(run_page(report(run)))
    assert "behavesim run mine.py --method funsearch " in text
    assert "secret" not in text


def test_what_is_unknown_is_null(tmp_path: Path) -> None:
    run = journalled(tmp_path / "empty", started(), rejected(0, "timeout"), stopped("user"))
    page = run_page(report(run))
    assert shown(run)["candidates"]["score"] == [None]
    assert list(page.sections) == ["failures", "summary", "splits", "operators", "throughput", "candidates", "making"]
    assert "stopped" in page.head


def test_a_score_is_no_number_of_a_candidate(tmp_path: Path) -> None:
    run = journalled(tmp_path / "worse", started(), feasible(0, 12.0), stopped("budget"))
    body = run_page(report(run)).sections["summary"][1]
    assert "best candidate 12, 20.0 % worse" in body and re.findall(r'data-candidate="(-?[0-9]+)"', body) == ["0"]


def test_a_method_whose_operators_can_be_chosen_says_how_to_leave_one_out(tmp_path: Path) -> None:
    eoh = journalled(tmp_path / "eoh", started(method="eoh", operators=["e1", "m1"]), feasible(0, 5.0))
    assert """--set 'operators=["e1"]'""" in section(eoh, "operators").note
    both = journalled(tmp_path / "both", started(method="funsearch+behavesim"), feasible(0, 5.0))
    assert "--set n_init=0 leaves them out" in section(both, "operators").note
    plain = journalled(tmp_path / "plain", started(), feasible(0, 5.0))
    assert section(plain, "operators").note == ""


def test_a_metric_that_is_the_score_is_not_drawn_against_it(tmp_path: Path) -> None:
    programs = (told(feasible(number, 3.0 + number), combined_score=3.0 + number, speed=1.0) for number in range(2))
    (chart,) = section(journalled(tmp_path / "first", started(), *programs), "metrics").charts
    bind = next(each["bind"] for each in chart.spec["params"] if each["name"] == "along")
    assert bind["labels"] == ["score", "speed", "CPU time (s)"]
