"""The recommended program from the command line."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import behavesim as bs
from behavesim.application.recommendation import recommend, shortlist
from behavesim.state.events import TEMPLATE
from behavesim.task.verdict import Failure, Verdict
from tests.cli.command import Command
from tests.crash.processes import FEW_CITIES

ERROR = ("standard_error", "instances")


def test_a_run_ends_with_a_recommended_program_that_is_on_its_shortlist(finished: Command, tmp_path: Path) -> None:
    run = bs.load_run("runs/first")
    document = finished("report", "first", "--json").document["runs"][0]["recommended"]
    event = run.state.recommended
    assert event is not None
    known = {"candidate", "score", "gap", "validation_score", "gain", "registered", *ERROR}
    assert set(document) == known | {"interval", "fresh", "told_apart_from", "others"}
    assert document["fresh"] >= len(run.task().instances("validation"))
    assert (document["candidate"], document["registered"]) == (event.choice, run.state.registered)
    assert document["validation_score"] == event.validation[event.choice]
    assert document["gain"] == event.worth[event.choice]
    assert list(event.validation) == [TEMPLATE, *(candidate.candidate for candidate in shortlist(run))]
    text = (tmp_path / "runs/first/recommended.py").read_text()
    chosen = run.candidates[event.choice]
    assert text.startswith(f"# run first, candidate {event.choice}: score {chosen.score!r}")
    assert "fresh instances, none seen before" in text.split("\n")[0]
    assert text.split("\n", 1)[1].strip() == (chosen.source or "").strip()


def test_a_person_sees_what_was_tried_and_what_it_is_worth_there(finished: Command) -> None:
    said = finished("recommend", "first").out
    event = bs.load_run("runs/first").state.recommended
    assert event is not None
    rows = [line.split() for line in said.splitlines() if line.startswith(("template ", *"0123456789"))]
    rows = [row for row in rows if row[1] != "%"]
    shown = {row[0]: row[2] for row in rows}
    assert "Chosen: the greatest mean gain on the template on fresh instances" in said and "0.00" in said
    names = {number: "template" if number == TEMPLATE else str(number) for number in event.validation}
    assert shown == {names[number]: f"{score:.6g}" for number, score in event.validation.items() if score is not None}


def test_recommending_again_changes_neither_the_digest_nor_the_active_time(finished: Command) -> None:
    before = finished("report", "first", "--json").document["runs"][0]
    again = finished("recommend", "first", "--json")
    assert again.code == 0
    race = bs.load_run("runs/first").state.fresh
    assert race is not None and race.begun.first == before["recommended"]["fresh"]  # none is seen twice
    assert again.document["registered"] == before["recommended"]["registered"]
    after = finished("report", "first", "--json").document["runs"][0]
    assert (after["digest"], after["seconds"]) == (before["digest"], before["seconds"])


def test_a_portfolio_of_no_programs_is_refused_before_anything_is_chosen(finished: Command) -> None:
    before = bs.load_run("runs/first").events_at
    refused = finished("recommend", "first", "--portfolio", 0)
    assert (refused.code, "--portfolio" in refused.err) == (2, True)
    assert bs.load_run("runs/first").events_at == before


def test_the_shortlist_holds_one_program_of_a_behaviour_and_begins_with_the_best(finished: Command) -> None:
    run = bs.load_run("runs/first")
    listed = shortlist(run)
    behaviours = run.trajectories([candidate.candidate for candidate in listed])
    assert listed[0].score == min(candidate.score for candidate in run.feasible if candidate.score is not None)
    assert len(set(behaviours)) == len(listed) <= 10


def test_a_run_can_do_without(behavesim: Command, tmp_path: Path) -> None:
    ended = behavesim("run", "tsp", "--budget", 2, "--set", "recommend=false", "--name", "bare", "--json")
    assert ended.document["recommended"] is None
    assert not (tmp_path / "runs/bare/recommended.py").exists()
    done = behavesim("resume", "bare", "--json")
    assert done.document["recommended"] is None


def test_a_run_without_a_feasible_program_says_so(behavesim: Command) -> None:
    behavesim("run", "tsp", "--proposer", "command:echo nothing", "--budget", 2, "--name", "bare")
    ended = behavesim("recommend", "bare")
    assert (ended.code, ended.out) == (0, "no program to recommend: the run has found no feasible program\n")


def test_a_run_killed_before_its_recommendation_on_a_cluster_gets_it_when_it_is_resumed_without(
    finished: Command,
) -> None:
    before = bs.load_run("runs/first").state.recommended
    with closing(sqlite3.connect("runs/first/run.db")) as db, db:
        db.execute("DELETE FROM events WHERE type IN ('FreshBegun', 'FreshScored', 'Recommended')")
        db.execute("UPDATE events SET payload = json_set(payload, '$.settings.workers', 'dask://127.0.0.1:9')"
                   " WHERE type = 'RunStarted'")  # fmt: skip
    assert bs.load_run("runs/first").state.recommended is None
    resumed = finished("resume", "first", "--workers", 1, "--json")
    assert resumed.code == 0, resumed.err
    assert bs.load_run("runs/first").state.recommended == before
    assert resumed.document["recommended"]["candidate"] == before.choice  # type: ignore[union-attr]
    assert finished("recommend", "first", "--portfolio", 2, "--json").code == 0


class Fixed:
    """A judge whose verdicts are known beforehand."""

    def __init__(self, scores: dict[str, float]) -> None:
        self._scores = scores

    async def evaluate(self, source: str, *_: object) -> Verdict | Failure:
        score = self._scores.get(source)
        return Failure("timeout") if score is None else Verdict(score, (score,), (), 0.0)


async def test_what_fails_on_validation_instances_is_not_recommended(finished: Command) -> None:
    run = bs.load_run("runs/first")
    listed = shortlist(run)
    last = listed[-1]
    only = await recommend(run, Fixed({last.source or "": 3.0}))
    assert only.choice == last.candidate
    assert only.validation == {TEMPLATE: None} | {c.candidate: 3.0 if c is last else None for c in listed}
    none = await recommend(run, Fixed({}))
    assert none.choice is None


async def test_the_template_is_recommended_where_no_program_is_better_than_it(finished: Command) -> None:
    run = bs.load_run("runs/first")
    assert run.template is not None
    unequalled = await recommend(run, Fixed({run.template.source or "": 0.001}))
    assert unequalled.choice == TEMPLATE


def test_a_run_in_which_nothing_beats_the_template_leaves_it_as_its_best_and_recommended_program(
    behavesim: Command, tmp_path: Path
) -> None:
    (tmp_path / "unbeaten.py").write_text(UNBEATEN)
    ended = behavesim("run", "unbeaten.py", "--method", "best-of-n", "--budget", 4, "--name", "first", "--json")
    assert ended.code == 0, ended.err
    assert ended.document["template"] == {"candidate": TEMPLATE, "score": 1.0, "gap": None, **dict.fromkeys(ERROR)}
    assert ended.document["best"]["candidate"] >= 0 and ended.document["best"]["score"] < 1.0
    assert ended.document["recommended"]["candidate"] == TEMPLATE
    for name in ("best.py", "recommended.py"):
        headline, _, program = (tmp_path / "runs/first" / name).read_text().partition("\n\n")
        assert "the template" in headline
        assert program == "def value(x: float) -> float:\n    return 1.0\n"
    said = " ".join(behavesim("report", "first").out.replace("│", " ").split())
    assert "nothing has beaten the template" in said
    number = ended.document["best"]["candidate"]  # whose program stands below this heading
    assert f"the best candidate: candidate {number}, which is no better than the template " in said
    assert "no better than the template (" not in said, "best.py holds the template"
    held_out = behavesim("report", "first", "--held-out", "--json").document["runs"][0]["held_out"]
    assert held_out["recommended"]["improvement"] == 0.0


UNBEATEN = '''
import math

import numpy as np

import behavesim as bs


class Unbeaten(bs.Task):
    """Come as near to one as you can."""

    template = "def value(x: float) -> float:\\n    return 1.0\\n"
    objective = bs.Objective("maximise")
    normaliser = 100.0

    def instances(self, split):
        return [0.5, 0.75]

    def solve(self, value, instance):
        return np.array([value(instance)], dtype=float)

    def score(self, instance, solution):
        miss = abs(float(solution[0]) - 1.0)
        return 1.0 if miss == 0.0 else -1.0 - min(miss, 10.0) if math.isfinite(miss) else -20.0

    def trajectory(self, instance, solution):
        return bs.Trajectory.vectors(np.clip(np.nan_to_num(solution[:, None]), -10, 10))


task = Unbeaten()
'''


ALONE = """
class Alone(type(task)):
    def instances(self, split):
        return super().instances(split) if split == "search" else []


task = Alone()
"""


def test_a_task_whose_instances_are_all_for_the_search_has_a_portfolio_and_nothing_unseen(behavesim: Command) -> None:
    Path("alone.py").write_text(Path(FEW_CITIES).read_text() + ALONE)
    begun = behavesim("run", "alone.py", "--proposer", "genetic", "--budget", 3, "--name", "first", "--json")
    assert (begun.code, begun.document["recommended"]) == (0, None)
    refused = behavesim("recommend", "first")
    assert (refused.code, "'alone' has no validation instances to choose a program on" in refused.err) == (2, True)
    found = behavesim("recommend", "first", "--portfolio", 2, "--json").document["portfolio"]
    assert found and {each["validation"] for each in found} == {None}
    assert behavesim("verify", "first", "--json").document["sound"]
    for command in (("report", "first", "--held-out"), ("evaluate", "alone.py", "template", "--held-out")):
        ended = behavesim(*command)
        assert (ended.code, "task alone has no held-out instances\n" in ended.err) == (0, True), ended.err
