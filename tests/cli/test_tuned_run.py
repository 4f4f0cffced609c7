"""A run that tunes, as a person makes it: in the sandbox, resumed, replayed, verified and shown."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import behavesim as bs
from behavesim.store.codec import seal
from tests.cli.command import Command

CITIES = str(Path(__file__).parents[1] / "endless_cities.py")
GIVEN = (CITIES, "--budget", 12, "--seed", 3, "--set", "tune=4", "--set", "recommend=false", "--json")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four workers."""
    folder = tmp_path_factory.mktemp("tuned")
    bs.search_sync(CITIES, budget=12, seed=3, runs_dir=folder, name="four", workers=4, tune=4.0, recommend=False)
    return folder


def test_a_run_comes_out_alike_on_other_workers_resumed_and_replayed(behavesim: Command, made: Path) -> None:
    digest = bs.load_run(made / "four").state.digest()
    once = behavesim("run", *GIVEN, "--workers", 1, "--runs-dir", made, "--name", "one").document
    assert once["digest"] == digest and once["asked"] == 12
    tuning = once["tuning"]
    assert tuning["candidates"] >= tuning["better"] + tuning["none"] and 0 < tuning["trials"] <= 4 * 12
    assert tuning["gain"] + tuning["written_gain"] == pytest.approx(once["gain"])
    replayed = behavesim("run", *GIVEN, "--proposer", f"replay:{made / 'four'}", "--runs-dir", made, "--name", "again")
    assert replayed.document["digest"] == digest
    again = behavesim("resume", "one", "--budget", 14, "--runs-dir", made, "--json").document
    assert again["asked"] == 14 and again["state"] == "finished"
    assert behavesim("verify", "one", "--runs-dir", made).code == 0


def test_replies_are_given_again_by_question_with_and_without_tuning(behavesim: Command, made: Path) -> None:
    given = ("--runs-dir", made, "--proposer")
    plain = behavesim("run", *GIVEN, "--set", "tune=0", *given, f"replay:{made / 'four'}", "--name", "plain").document
    assert plain["asked"] == 12 and plain["tuning"] is None
    asked = [event for event in bs.load_run(made / "four").candidates if event.operator != "tune"]
    sources = [each.source for each in bs.load_run(made / "plain").candidates]
    assert sources == [each.source for each in asked]
    back = behavesim("run", *GIVEN, *given, f"replay:{made / 'plain'}", "--name", "back")
    assert back.document["digest"] == bs.load_run(made / "four").state.digest()
    assert "replay" in back.document and back.document["replay"]["differing"].keys() <= {"prompt"}


def test_a_study_of_prompts_asks_by_question(behavesim: Command, made: Path) -> None:
    given = ("study", "prompts", "four", "--runs-dir", made, "--json")
    recorded, changed = behavesim(*given, "--set", "tune=0").document["rows"]
    assert recorded["prompts"] == changed["prompts"] == 12


def test_a_resumed_run_that_spent_its_budget_still_tunes(behavesim: Command, made: Path) -> None:
    whole = bs.load_run(made / "four")
    with closing(sqlite3.connect(made / "four/run.db")) as journal:
        [(last,)] = journal.execute("SELECT max(seq) FROM events WHERE type IN ('Added', 'NotAdded')")
        asked = journal.execute("SELECT max(seq) FROM events WHERE type = 'Asked'").fetchone()[0]
    assert asked < last
    shutil.copytree(made / "four", made / "cut")
    with closing(sqlite3.connect(made / "cut/run.db")) as journal:
        journal.execute("DELETE FROM events WHERE seq >= ?", (asked,))
        journal.commit()
    ended = behavesim("resume", "cut", "--runs-dir", made, "--json")
    assert ended.document["digest"] == whole.state.digest()


def test_a_damaged_run_is_recovered_with_what_was_tuned(behavesim: Command, made: Path) -> None:
    whole = bs.load_run(made / "four")
    shutil.copytree(made / "four", made / "damaged")
    tuned = [each.candidate for each in whole.candidates if each.operator == "tune"]
    with closing(sqlite3.connect(made / "damaged/run.db")) as journal:
        # a decision, which is taken again, and the reply of the first, which is made again
        journal.execute("DELETE FROM events WHERE type = 'Responded' AND candidate = ?", tuned[:1])
        journal.execute(
            "DELETE FROM events WHERE type = 'Added' AND candidate = (SELECT min(candidate) + 1 FROM events)"
        )
        journal.commit()
    ended = behavesim("recover", "damaged", "--name", "recovered", "--runs-dir", made)
    assert ended.code == 0, ended.err
    behavesim("resume", "recovered", "--runs-dir", made)
    found = bs.load_run(made / "recovered")
    assert found.state.digest() == whole.state.digest()
    assert behavesim("verify", "recovered", "--runs-dir", made).code == 0


def test_a_fork_goes_on_with_another_share(behavesim: Command, made: Path) -> None:
    given = ("--runs-dir", made, "--fork", "more", "--budget", 16, "--set", "tune=8", "--json")
    document = behavesim("resume", "four", *given).document
    assert document["asked"] == 16 and document["tuning"]["trials"] > 4 * 12 / 2
    assert behavesim("verify", "more", "--runs-dir", made).code == 0


def test_what_tuning_brought_is_shown(behavesim: Command, made: Path) -> None:
    assert "tuned" in behavesim("report", "four", "--runs-dir", made).out
    tuned = [each for each in bs.load_run(made / "four").candidates if each.operator == "tune"]
    document = behavesim("show", "four", tuned[0].candidate, "--runs-dir", made, "--json").document
    assert document["numbers"] and set(document["numbers"][0]) == {"line", "before", "after"}
    assert "numbers of the parent" in behavesim("show", "four", tuned[0].candidate, "--runs-dir", made).out
    written = next(each for each in bs.load_run(made / "four").candidates if each.operator != "tune")
    assert behavesim("show", "four", written.candidate, "--runs-dir", made, "--json").document["numbers"] == []


def test_forged_trials_are_noticed(behavesim: Command, made: Path) -> None:
    shutil.copytree(made / "four", made / "forged")
    with closing(sqlite3.connect(made / "forged/run.db")) as journal:
        rows = journal.execute("SELECT seq, at, candidate, type, payload, data FROM events WHERE type = 'Responded'")
        seq, at, candidate, kind, text, data = next(row for row in rows.fetchall() if json.loads(row[4])["tuning"])
        payload = json.loads(text)
        payload["tuning"]["gains"][1:3] = payload["tuning"]["gains"][2:0:-1]
        payload["tuning"]["gains"][3] = 5.0
        text = json.dumps(payload, separators=(",", ":"))
        names = [row[1] for row in journal.execute("PRAGMA table_info(events)")]
        sealed = next(name for name in names if name not in ("seq", "at", "candidate", "type", "payload", "data"))
        new = seal(seq, at, candidate, kind, text, data)
        journal.execute(f"UPDATE events SET payload = ?, {sealed} = ? WHERE seq = ?", (text, new, seq))
        journal.commit()
    ended = behavesim("verify", "forged", "--runs-dir", made)
    assert ended.code == 1 and "Responded" in ended.out + ended.err


def test_prompts_say_that_numbers_are_tuned_only_if_they_are(behavesim: Command) -> None:
    shown = behavesim("run", "tsp", "--dry-run", "--set", "tune=2").out
    assert "machine tunes the numbers afterwards" in shown and "# tune: 0.1 to 3" in shown
    assert "tunes the numbers" not in behavesim("run", "tsp", "--dry-run").out
