"""A damaged journal is found out, told apart from a sound one that lies, and salvaged as far as it can be read."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from behavesim.analysis.run import Run
from behavesim.audit.audit import Audit, discrepancy
from behavesim.audit.damage import list_damages, read_damaged
from behavesim.audit.recover import recover
from behavesim.audit.verify import LOST_REPLY, verify
from behavesim.base.errors import JournalError
from behavesim.state.events import DECISIONS, Responded
from behavesim.state.settings import settings_from_journal
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from behavesim.task import TaskReference
from tests.cli.command import Command
from tests.crash.harm import invented, invented_by_recovery
from tests.crash.processes import FEW_CITIES, Subject, carried_out
from tests.shared import shared

BUDGET = 40
PAGE = 4096


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that nothing has happened to, begun with a person's program; to be copied."""

    def make(runs: Path) -> None:
        own = runs / "own"
        own.mkdir()
        (own / "nearest.py").write_text(f"# mine\n{TaskReference('tsp').load().template}")
        begun = [FEW_CITIES, "--budget", str(BUDGET), "--start-with", str(own)]
        settings = ["--set", "n_init=10", "--set", "restart_every=12", "--set", "islands=3"]
        settings += ["--set", "fresh_evaluations=6"]
        ended = asyncio.run(Subject(runs / "sound", [*begun, *settings]).finish())
        assert ended.code == 0, ended.stderr

    return shared(tmp_path_factory, "sound", make) / "sound"


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> RunFolder:
    """A copy to be damaged."""
    return RunFolder(Path(shutil.copytree(sound, tmp_path / "run")))


def change(run: RunFolder, statement: str) -> None:
    with closing(sqlite3.connect(run.journal)) as db:
        db.execute(statement)
        db.commit()


def event(run: RunFolder, where: str) -> int:
    with closing(sqlite3.connect(run.journal)) as db:
        return int(db.execute(f"SELECT seq FROM events WHERE {where}").fetchone()[0])


async def test_a_sound_run_is_sound(run: RunFolder) -> None:
    seen: list[tuple[int, int]] = []
    found = await verify(run, workers=2, progress=lambda *at: seen.append(at))
    assert found.is_sound
    assert found.decisions > 2 * BUDGET
    assert found.evaluations + found.copies >= BUDGET // 2
    assert seen[-1] == (found.events, found.events)


@pytest.mark.parametrize(
    ("where", "change_to", "said"),
    [
        ("type = 'Added' AND payload ->> 'group' = '1'", "json_set(payload, '$.group', '2')", "group='1'"),
        ("type = 'Compared'", "json_set(payload, '$.to_groups.0', 0.123)", "to_groups="),
        ("type = 'Asked' AND candidate = 30", f"payload, data = x'{zlib.compress(b'Please.').hex()}'", "prompt="),
        ("type = 'Regrouped'", "json_set(payload, '$.groups', json('{}'))", "groups="),
    ],
)
def test_the_first_decision_that_does_not_follow_is_named(
    run: RunFolder, where: str, change_to: str, said: str
) -> None:
    seq = event(run, where)
    change(run, f"UPDATE events SET payload = {change_to} WHERE seq = {seq}")
    settings = settings_from_journal(run.read_settings())
    audit = Audit(settings, TaskReference(settings.task).load())
    for number, _, recorded in read_events(run.journal):
        if isinstance(recorded, DECISIONS) and (found := discrepancy(number, audit.due(recorded), recorded)):
            break
        audit.take(recorded)
    assert (found.seq, found.event) == (seq, type(recorded).__name__)
    assert said in found.expected
    assert found.expected != found.recorded


async def test_a_score_and_a_reply_that_were_never_so_are_named(run: RunFolder) -> None:
    placed = event(run, "type = 'Added' AND candidate > 30")
    change(run, f"UPDATE events SET type = 'NotAdded', payload = json_remove(payload, '$.group') WHERE seq = {placed}")
    scored = event(run, "type = 'Evaluated' AND candidate > 20")
    change(run, f"UPDATE events SET payload = json_set(payload, '$.score', 1.5) WHERE seq = {scored}")
    replied = event(run, "type = 'Responded' AND candidate = 5")
    change(run, f"UPDATE events SET payload = json_set(payload, '$.reply.text', 'Sorry.') WHERE seq = {replied}")
    found = await verify(run, workers=2)
    assert not found.damage
    assert not found.is_sound
    named = {each.seq: each for each in found.differences}
    outcome = event(run, "type = 'Evaluated' AND candidate = 5")
    assert next(iter(named)) == replied, "the reply itself: its row is not as it was written"
    assert "Sorry." in named[replied].recorded
    assert named[replied].expected.startswith("reply=Reply(")
    assert named[outcome].expected.startswith("Rejected")
    assert "score=1.5" in named[scored].recorded
    assert named[placed].expected.startswith("Added")


async def test_a_row_that_another_program_appended_is_named(run: RunFolder) -> None:
    last = event(run, "true ORDER BY seq DESC")
    columns = "at, candidate, type, payload, data"
    change(run, f"INSERT INTO events ({columns}) SELECT {columns} FROM events WHERE type = 'RunStopped'")
    change(run, f"INSERT INTO events ({columns}, seal) SELECT {columns}, seal FROM events WHERE seq = {last + 1}")
    found = await verify(run)
    assert not found.damage
    assert [(each.seq, each.event) for each in found.differences] == [
        (last + 1, "RunStopped"),
        (last + 2, "RunStopped"),
    ]


async def test_missing_and_unreadable_events_are_damage(run: RunFolder) -> None:
    change(run, "DELETE FROM events WHERE seq = 50")
    with pytest.raises(JournalError, match="events 50 to 50 are missing"):
        list(read_events(run.journal))
    change(run, "UPDATE events SET type = 'Odd', payload = '{' WHERE seq = 60")
    found = await verify(run)
    assert [line.split(":")[0] for line in found.damage] == [
        "events 50 to 50 are missing",
        "event 60 (Odd) cannot be read",
    ]


@pytest.mark.parametrize("command", ["resume", "report", "watch"])
def test_an_event_that_cannot_follow_those_before_it_is_named_in_one_line(
    behavesim: Command, run: RunFolder, command: str
) -> None:
    seq = event(run, "type = 'Responded' AND candidate = 9")
    change(run, f"UPDATE events SET payload = json_set(payload, '$.candidate', 777) WHERE seq = {seq}")
    ended = behavesim(command, run.path)
    assert ended.code == 1, ended.err
    assert "candidate 777 is not open: it was never asked for" in " ".join(ended.err.split())
    assert "Traceback" not in ended.err
    (found,) = asyncio.run(verify(run)).differences
    assert found.seq == seq
    assert "an event that can follow those before it" in found.expected


@pytest.mark.parametrize(
    ("where", "change_to"),
    [
        ("type = 'Evaluated' AND candidate = 12", "json_set(payload, '$.copy_of', 3, '$.program_hash', 'of nothing')"),
        ("type = 'Added' AND candidate = 20", "json_set(payload, '$.group', 'no such island')"),
        ("type = 'Regrouped'", "json_set(payload, '$.groups', json('{\"0\": []}'))"),
    ],
)
async def test_what_nothing_can_follow_from_is_a_finding_of_verify_and_no_fault(
    run: RunFolder, where: str, change_to: str
) -> None:
    seq = event(run, where)
    change(run, f"UPDATE events SET payload = {change_to} WHERE seq = {seq}")
    assert min(found.seq for found in (await verify(run)).differences) == seq


@pytest.mark.parametrize("command", ["resume", "report", "verify"])
def test_settings_that_nobody_can_read_are_named_in_one_line(behavesim: Command, run: RunFolder, command: str) -> None:
    change(run, "UPDATE events SET payload = json_set(payload, '$.settings.window', 'wide') WHERE seq = 1")
    ended = behavesim(command, run.path)
    assert ended.code == 2, ended.err
    assert "setting window should be a whole number" in " ".join(ended.err.split())
    assert "Traceback" not in ended.err


def truncate(data: bytearray, rng: random.Random) -> bytearray:
    return data[: len(data) * 4 // 5]


def smear(data: bytearray, rng: random.Random) -> bytearray:
    """Garbage over a tenth of the pages, the first left alone."""
    for page in rng.sample(range(1, len(data) // PAGE), len(data) // PAGE // 10):
        data[page * PAGE : (page + 1) * PAGE] = rng.randbytes(PAGE)
    return data


def behead(data: bytearray, rng: random.Random) -> bytearray:
    data[:PAGE] = rng.randbytes(PAGE)
    return data


@pytest.mark.parametrize("harm", [truncate, smear])
async def test_a_damaged_database_is_found_out_and_salvaged(
    run: RunFolder, harm: Callable[[bytearray, random.Random], bytearray]
) -> None:
    whole = {seq: pair for seq, *pair in read_events(run.journal)}
    run.journal.write_bytes(harm(bytearray(run.journal.read_bytes()), random.Random(1)))
    assert not (await verify(run)).is_sound
    with pytest.raises(JournalError, match=r"behavesim verify|cannot be read"):
        list(read_events(run.journal))
    left = {seq: list(pair) for seq, pair in read_damaged(run.journal).items()}
    assert left.items() <= whole.items()
    assert len(left) > len(whole) // 3
    replies = {e.candidate: e.reply for _, e in left.values() if isinstance(e, Responded)}
    target = RunFolder(run.path.with_name("recovered"))
    done = await recover(run, target)
    assert done.replies == len(replies)
    kept = {e.candidate: e.reply for _, _, e in read_events(target.journal) if isinstance(e, Responded)}
    assert replies.items() <= kept.items(), "no reply that could be read is lost"
    if harm is smear:
        ended = await Subject(target.path, []).finish()
        assert ended.code == 0, ended.stderr
        assert Run.load(target.path).state.registered == BUDGET


def test_no_damage_invents_an_event(sound: Path, tmp_path: Path) -> None:
    assert not [line for seed in range(30) for line in invented(RunFolder(sound), tmp_path / str(seed), seed)]


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_damage_makes_recover_invent_a_reply(sound: Path, tmp_path: Path, seed: int) -> None:
    assert await invented_by_recovery(RunFolder(sound), tmp_path / str(seed), seed) == []


async def test_a_run_of_which_all_can_be_read_is_recovered_as_it_was(run: RunFolder, sound: Path) -> None:
    run.journal.write_bytes(behead(bytearray(run.journal.read_bytes()), random.Random(1)))
    assert list_damages(run.journal)
    target = RunFolder(run.path.with_name("recovered"))
    done = await recover(run, target, workers=2)
    assert done.lost == ()
    assert Run.load(target.path).state.digest() == Run.load(sound).state.digest()
    assert (await verify(target)).is_sound


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that was forked, after a kill, to another seed and to islands made anew more often."""

    async def fork(runs: Path) -> None:
        settings = ["--set", "n_init=8", "--set", "restart_every=12", "--set", "islands=3", "--set", "recommend=false"]
        subject = Subject(runs / "first", [FEW_CITIES, "--budget", str(BUDGET), *settings])
        process = await subject.start()
        await subject.reached(100)
        process.kill()
        await process.communicate()
        changes = ("--set", "restart_every=7", "--set", "seed=5", "--fork", "second")
        done = await carried_out("resume", "first", *changes, "--runs-dir", str(runs))
        assert done.code == 0, done.stderr

    return shared(tmp_path_factory, "forked", lambda runs: asyncio.run(fork(runs))) / "second"


@pytest.mark.parametrize("missing", [None, "Asked", "Added", "Regrouped", "Evaluated"])
async def test_a_forked_run_is_recovered_under_the_settings_of_each_time(
    forked: Path, tmp_path: Path, missing: str | None
) -> None:
    run = RunFolder(Path(shutil.copytree(forked, tmp_path / "run")))
    if missing is not None:
        change(
            run, f"DELETE FROM events WHERE seq = (SELECT min(seq) FROM events WHERE type = '{missing}' AND seq > 2)"
        )
    run.journal.write_bytes(behead(bytearray(run.journal.read_bytes()), random.Random(1)))
    target = RunFolder(tmp_path / "recovered")
    done = await recover(run, target, workers=2)
    assert (done.lost, done.missing) == ((), int(missing is not None))
    assert Run.load(target.path).state.digest() == Run.load(forked).state.digest()
    if missing in (None, "Regrouped"):
        assert (await verify(target, workers=2)).differences == []


async def test_a_reply_that_others_waited_for_is_lost_and_not_they(run: RunFolder) -> None:
    """The founding of the islands waits for the tenth program: later replies show that it was there."""
    change(run, "DELETE FROM events WHERE type NOT IN ('RunStarted', 'Responded') OR candidate = 9")
    target = RunFolder(run.path.with_name("recovered"))
    async with asyncio.timeout(90):
        done = await recover(run, target, workers=2)
    kept = {e.candidate for _, _, e in read_events(target.journal) if isinstance(e, Responded)}
    assert 9 in done.lost
    assert kept == set(range(BUDGET))


async def test_a_reply_that_was_lost_is_called_lost_when_the_recovered_run_is_verified(run: RunFolder) -> None:
    change(run, "DELETE FROM events WHERE type = 'Responded' AND candidate IN (7, 9)")
    change(run, "DELETE FROM events WHERE type IN ('Evaluated', 'Rejected') AND candidate = 7")
    target = RunFolder(run.path.with_name("recovered"))
    assert (await recover(run, target, workers=2)).lost == (7, 9)
    found = (await verify(target, workers=2)).differences
    assert [each.candidate for each in found if each.event == "Responded"] == [7, 9]
    assert [each.candidate for each in found if each.expected == LOST_REPLY] == [7, 9]
    assert all((each.candidate or 0) >= 7 for each in found)  # later prompts told of the lost program


async def test_nothing_is_recovered_from_nothing(run: RunFolder) -> None:
    run.journal.write_bytes(random.Random(1).randbytes(20 * PAGE))
    with pytest.raises(JournalError, match="start the run anew"):
        await recover(run, RunFolder(run.path.with_name("recovered")))
    assert not run.path.with_name("recovered").exists()
