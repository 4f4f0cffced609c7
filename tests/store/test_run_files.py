"""The files beside the journal: best.py, the log, and what a person is told at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from behavesim.base.tokens import Usage
from behavesim.state.events import Evaluated, Event, NoteReceived, Regrouped, Reply, Responded, RunResumed, RunStopped
from behavesim.state.members import Member
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder
from behavesim.store.run_files import RunFiles
from behavesim.task import Objective

ESTIMATED = Usage(estimated_prompt=7, estimated_completion=3)


class Written:
    """The files of a run that asked for 5 candidates and tried 3, and what was told."""

    def __init__(self, folder: Path, best_known: float | None = 2.0) -> None:
        self.folder, self.told = RunFolder(folder), list[str]()
        self.state = RunState(Objective("minimise", best_known=best_known))
        self.state.registered, self.state.asked, self.state.tally.feasible = 2, 5, 3
        self._files = RunFiles(self.folder, self.told.append)

    def hears(self, event: Event) -> None:
        self._files(event, self.state)

    def hears_reply(self, kind: type[Responded] | type[NoteReceived], *calls: Usage) -> None:
        """Takes a reply, which the state has counted, with the usage of its requests."""
        reply = Reply("", "m", calls)
        self.state.tally.take_reply(reply)
        self.hears(kind(0, reply))

    @property
    def log(self) -> list[str]:
        """The lines without their times."""
        return [line.split(" ", 2)[2] for line in self.folder.log.read_text().splitlines()]


@pytest.mark.parametrize(("best_known", "gap"), [(2.0, ", gap 25.00 %"), (None, "")])
def test_the_best_program_is_written_as_soon_as_it_is_known(tmp_path: Path, best_known: float | None, gap: str) -> None:
    written = Written(tmp_path, best_known)
    event = Evaluated(4, "def f(): ...", 2.5, (2.5,), ())
    written.hears(event)
    assert not written.folder.best.exists()
    written.state.best = Member(4, "def f(): ...", 2.5, -2.5)
    written.hears(event)
    expected = f"# run {tmp_path.name}, candidate 4: score 2.5{gap}\n\ndef f(): ...\n"
    assert written.folder.best.read_text() == expected


def test_the_template_is_the_best_program_until_a_candidate_is_better(tmp_path: Path) -> None:
    written, event = Written(tmp_path), RunStopped("budget")
    written.state.template = Member(-1, "template", 2.5, -2.5)
    written.state.best = Member(4, "as good", 2.5, -2.5)
    written.hears(event)
    headline = f"# run {tmp_path.name}, the template, which nothing has beaten: score 2.5, gap 25.00 %"
    assert written.folder.best.read_text() == f"{headline}\n\ntemplate\n"
    written.state.best = Member(5, "better", 2.25, -2.25)
    written.hears(event)
    assert written.folder.best.read_text().startswith(f"# run {tmp_path.name}, candidate 5: score 2.25")


def test_it_is_written_once_until_there_is_a_better_one(tmp_path: Path) -> None:
    written = Written(tmp_path)
    written.state.best = Member(4, "first", 2.5, -2.5)
    written.hears(RunStopped("budget"))
    written.folder.best.unlink()
    written.hears(RunStopped("budget"))
    assert not written.folder.best.exists()
    written.state.best = Member(5, "second", 2.0, -2.0)
    written.hears(RunStopped("budget"))
    assert "second" in written.folder.best.read_text()


def test_that_the_best_known_is_reached_is_told_once(tmp_path: Path) -> None:
    written = Written(tmp_path)
    for candidate, score in ((1, 2.5), (2, 2.0 + 1e-7), (3, 2.0), (4, 1.9)):
        written.state.best = Member(candidate, "def f(): ...", score, -score)
        written.hears(Evaluated(candidate, "def f(): ...", score, (score,), ()))
        assert len(written.told) == (candidate > 1)
    assert "the best known is 2" in written.told[0] and "until_gap" in written.told[0]


def test_what_happens_to_a_run_is_logged_and_what_happens_in_it_is_not(tmp_path: Path) -> None:
    written = Written(tmp_path)
    for event in (
        Regrouped({"0": (-1,)}),
        Regrouped({"elites": (-1,)}, selection=True),
        Responded(0, Reply("", "m")),
        RunStopped("budget"),
    ):
        written.hears(event)
    assert written.log == ["islands regrouped: 3 tried, 5 asked for", "stopped (budget): 3 tried, 5 asked for"]


def test_whoever_closed_the_terminal_reads_in_the_log_how_to_go_on(tmp_path: Path) -> None:
    written = Written(tmp_path)
    written.hears(RunStopped("interrupted"))
    next_step = f"go on with: behavesim resume {written.folder.argument}"
    assert written.log == [f"stopped (interrupted): 3 tried, 5 asked for; {next_step}"]


@pytest.mark.parametrize("kind", [Responded, NoteReceived])
def test_that_tokens_are_estimated_is_told_once(tmp_path: Path, kind: type[Responded] | type[NoteReceived]) -> None:
    written = Written(tmp_path)
    written.hears_reply(kind, Usage(1, 0, 1, 0))
    assert written.told == []
    written.hears_reply(kind, Usage(1, 0, 1, 0), ESTIMATED)
    written.hears_reply(kind, ESTIMATED)
    (said,) = written.told
    assert said.startswith("1 of 3 replies so far did not say what they took; such tokens are estimated")


def test_a_person_is_told_when_most_programs_were_written_before(tmp_path: Path) -> None:
    written, event = Written(tmp_path), Evaluated(4, "def f(): ...", 2.5, (2.5,), ())
    for feasible, repeated in ((99, 60), (100, 49), (200, 99), (300, 170), (301, 171)):
        written.state.tally.feasible, written.state.tally.repeated_programs = feasible, repeated
        written.hears(event)
    (line, other) = written.told
    assert line.startswith("50 of the last 100 programs had been written before; ")
    assert other.startswith("71 of the last 100")


def test_repeats_of_an_earlier_session_are_not_told_again(tmp_path: Path) -> None:
    written = Written(tmp_path)
    written.state.tally.feasible, written.state.tally.repeated_programs = 150, 120
    written.hears(RunResumed((), "none"))
    written.state.tally.feasible, written.state.tally.repeated_programs = 200, 140
    written.hears(Evaluated(4, "def f(): ...", 2.5, (2.5,), ()))
    assert written.told == []
