"""Keeping the best program's file, or its patch, and the log up to date while a run goes on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

from behavesim import __version__
from behavesim.base.text import mark
from behavesim.base.tokens import NO_TOKENS
from behavesim.state.events import (
    Evaluated,
    Event,
    NoteReceived,
    Regrouped,
    Reply,
    Responded,
    RunResumed,
    RunStarted,
    RunStopped,
)
from behavesim.state.members import Member
from behavesim.state.race import describe
from behavesim.state.state import RunState
from behavesim.store.folder import RunFolder, replace_file
from behavesim.task.evaluated import EvaluatorFile, separate_files

# The types of events that the log names, and the words for each.
NOTED: Mapping[type[Event], str] = {
    RunStarted: "started",
    RunResumed: "resumed",
    RunStopped: "stopped",
    Regrouped: "islands regrouped",
}
# Repeated programs are counted in blocks of this many feasible programs: enough to tell a habit from chance.
REPEATS_OVER = 100
# A person is warned if a block of REPEATS_OVER feasible programs came with this fraction of repeated ones or more.
MANY = 0.5


class RunFiles:
    """Observer of a run's events: writes the best program and the log, and warns of estimated tokens and repeats."""

    def __init__(
        self,
        folder: RunFolder,
        tell: Callable[[str], None],
        suffix: str = ".py",
        repository: EvaluatorFile | None = None,
    ) -> None:
        """`tell` gets a line for each warning; `suffix` is that of a program's file, "" for several files.

        `repository` is the evaluator's file if programs are of a repository: the best is written as a patch, too.
        """
        self._folder = folder
        self._tell = tell
        self._suffix = suffix
        self._repository = repository
        self._has_told_of_estimates = False
        self._repeated = 0
        self._written: Member | None = None

    def __call__(self, event: Event, state: RunState) -> None:
        """Take an event and the state after it: write a new best program, log what NOTED names, and warn."""
        leader = state.leader
        if leader is not None and leader is not self._written:
            write_best(self._folder, state, self._suffix)
            self._tell_of_best_known(leader, state)
            self._written = leader
            self._write_patch(state)
        elif isinstance(event, RunStopped):  # the digest is another one by now
            self._write_patch(state)
        if isinstance(event, Responded | NoteReceived):
            self._tell_of_estimates(event.reply, state)
        if isinstance(event, RunResumed):
            self._repeated = state.tally.repeated_programs
        if isinstance(event, Evaluated) and state.tally.feasible and state.tally.feasible % REPEATS_OVER == 0:
            self._tell_of_repeats(state)
        happened = NOTED.get(type(event))
        if happened is not None and not (isinstance(event, Regrouped) and event.selection):
            why = event.reason if isinstance(event, RunStopped) else None
            reason = "" if why is None else f" ({why})"
            # A person who closed the terminal finds this advice only in the log.
            go_on = f"; go on with: behavesim resume {self._folder.argument}" if why == "interrupted" else ""
            counts = f": {state.tally.outcomes} tried, {state.asked} asked for" if state.asked else ""
            self._folder.note(f"{happened}{reason}{counts}{go_on}")

    def _write_patch(self, state: RunState) -> None:
        best = state.leader
        if self._repository is None or best is None or best is state.template:
            return
        score = f"{best.score!r}{'' if state.started is None else mark(state.started.score_source)}"
        facts = {"run": self._folder.run, "candidate": str(best.candidate), "score": score}
        facts |= {"program": best.program_hash, "digest": state.digest()}
        subject = f"behavesim: candidate {best.candidate} of run {self._folder.run}, score {best.score:.6g}"
        try:
            patch = patch_of(self._repository, best.source, subject, facts)
        except OSError as error:
            self._tell(f"best.patch cannot be written, as the commit's files cannot be read: {error.strerror}")
            return
        replace_file(self._folder.path / "best.patch", patch)

    def _tell_of_best_known(self, leader: Member, state: RunState) -> None:
        known = state.objective.best_known
        if known is None or not state.objective.is_reached(leader.score):
            return
        if self._written is None or not state.objective.is_reached(self._written.score):
            self._tell(
                f"the best program scores {leader.score:.6g}, and the best known is {known:.6g}: what follows may "
                "bring nothing better. Ctrl-C ends the run here; --set until_gap=1e-6 ends one by itself"
            )

    def _tell_of_estimates(self, reply: Reply, state: RunState) -> None:
        if self._has_told_of_estimates or not any(call.estimated_completion for call in reply.calls):
            return
        self._has_told_of_estimates = True
        used = sum(state.tally.tokens.values(), NO_TOKENS)
        untold = f"{used.unreported:,} of {used.calls:,} replies so far did not say what they took"
        self._tell(f"{untold}; such tokens are estimated from the text, at the cautious end")

    def _tell_of_repeats(self, state: RunState) -> None:
        repeated, self._repeated = state.tally.repeated_programs - self._repeated, state.tally.repeated_programs
        if repeated >= MANY * REPEATS_OVER:
            remedy = "a higher temperature, another model or --set prompt_angles=true may help"
            self._tell(f"{repeated} of the last {REPEATS_OVER} programs had been written before; {remedy}")


def write_best(folder: RunFolder, state: RunState, suffix: str) -> None:
    """Write the best program of a run; above it stand its run, number, score and gap, and what a race says of it."""
    best = state.leader
    assert best is not None, "the template is there before all others"
    gap = state.objective.gap(best.score)
    known = "" if gap is None else f", gap {100 * gap:.2f} %"
    name = "the template, which nothing has beaten" if best is state.template else f"candidate {best.candidate}"
    source = "" if state.started is None else mark(state.started.score_source)
    found = None if state.fresh is None or state.is_racing else state.fresh.certificate(best.candidate)
    certain = "" if found is None or best is state.template else f"; {describe(found)}"
    folder.write_best(best.source, f"run {folder.run}, {name}: score {best.score!r}{source}{known}{certain}", suffix)


# The best program of a git repository as a patch, which `git am` and `git apply` take.


# Beginning of a patch in the form of a mail: the date is the fixed one by which git knows its own.
_MAIL = "From {commit} Mon Sep 17 00:00:00 2001\nFrom: behavesim <behavesim@localhost>\nSubject: [PATCH] {subject}\n\n"
_NO_END = "\n\\ No newline at end of file\n"


def patch_of(file: EvaluatorFile, source: str, subject: str, facts: dict[str, str]) -> str:
    """Return the patch from the repository's commit to the program `source`; "" if that changes nothing.

    The mail's subject is one line, its text has a line for each of the `facts`. Raises OSError if the files of the
    commit cannot be read.
    """
    assert file.repository is not None, "only programs of a repository have patches"
    changes = "".join(_changes(Path(file.runs_in), separate_files(source)))
    if not changes:
        return ""
    told = "".join(f"{name}: {value}\n" for name, value in facts.items())
    mail = _MAIL.format(commit=file.repository.commit, subject=subject)
    return f"{mail}{told}---\n{changes}-- \nbehavesim {__version__}\n"


def _changes(folder: Path, files: dict[str, str]) -> Iterator[str]:
    for path, text in files.items():
        place = folder / path
        old = place.read_bytes().decode() if place.is_file() else None
        # a program's files end with a line break, whether or not the repository's do
        if old is not None and text in (old, f"{old}\n"):
            continue
        header = f"diff --git a/{path} b/{path}\n"
        if old is None:
            header += "new file mode 100644\n" + ("" if text else "index 0000000..e69de29\n")
        lines = unified_diff(_lines(old or ""), _lines(text), "/dev/null" if old is None else f"a/{path}", f"b/{path}")
        yield header + "".join(line if line.endswith("\n") else line + _NO_END for line in lines)


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)  # splitlines would also split at what git takes for text
