"""The stored data of the study: which programs are in which set, and their scores on instances that no search saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from behavesim.analysis.clearing import Entrant
from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.methods.complement import set_order, utilities
from behavesim.state.members import Member
from behavesim.studies import xz_json
from behavesim.task import Direction
from behavesim.trajectory import packed

MAKER = "experiments/sets/tables.py"
"""The script that makes the files of scores."""
TOP = 10
"""Greatest number of programs in a set."""
SUFFIX = ".sets.json.xz"
"""The end of the names of stored files: one file for each task."""
PROGRAMS_SUFFIX = ".programs.json.xz"
"""The end of the names of files with the programs of the sets: one file for each task."""
OWN = {"set-search": "set", "eoh-s": "population"}
"""The group that is the set, its programs in order, by the name of each method that aims at a set."""

Scores = list[float]
"""A score for each instance."""


@dataclass(frozen=True)
class SetRun:
    """The sets of a run: the keys of their programs in order, by the way in which they were chosen.

    The ways are "by score", "cleared" and "greedy", and "own" for a method that aims at a set. `label` is that of the
    run's group in the experiment.
    """

    label: str
    seed: int
    sets: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Tried:
    """Scores on the instances of a split, in the task's unit, by the key of a program.

    `begun` has those from other starts, one list for each start. `improved` and `begun_improved` are `scores` and
    `begun` after the task's local search. They are empty for a task without it, and hold few programs.
    """

    template: Scores
    scores: dict[str, Scores | None]
    """None for a program that failed there: it counts as the template."""
    begun: dict[str, list[Scores]] = field(default_factory=dict)
    improved: dict[str, Scores] = field(default_factory=dict)
    begun_improved: dict[str, list[Scores]] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptSets:
    """What is stored of all runs on a task; `splits` has the scores of all programs in their sets, by split."""

    task: str
    direction: Direction
    runs: tuple[SetRun, ...]
    splits: Mapping[str, Tried]


@dataclass(frozen=True)
class KeptPrograms:
    """The sets of all runs on a task, sorted by label and seed, and the source of each of their programs by its key."""

    task: str
    runs: tuple[SetRun, ...]
    sources: Mapping[str, str]


def sets_of(run: Run) -> dict[str, list[str]]:
    """Return the sources of a run's sets, best first, by the way of choosing; at most TOP in each.

    The ways are "by score", "cleared" and "greedy", and "own" if the method aims at a set and has one. Greedy choice
    takes the best program, then each time the behaviour that most improves the mean of the best scores on the search's
    instances. Raises UsageError if the task cannot be loaded, PartError if its code raises, JournalError if the journal
    cannot be read, TrajectoryError if the measure fails.
    """
    entrants, objective = run.entrants(), run.state.objective
    best: dict[bytes, Entrant] = {}
    for each in entrants:  # equal behaviour, equal scores: the shortest stands for it, the first of equally short ones
        best[packed(each.behaviour)] = min(
            best.get(packed(each.behaviour), each), each, key=lambda one: len(one.source)
        )
    members = [
        Member(each.candidate, each.source, each.score, objective.utility(each.score), scores=each.scores)
        for each in best.values()
    ]
    greedy = set_order(members, utilities(members, objective))[:TOP] if members else []
    found = {
        "by score": [each.source or "" for each in run.ranked()[:TOP]],
        "cleared": [each.source for each in run.clearing().of(entrants, TOP)],
        "greedy": [members[place].source for place in greedy],
    }
    group = OWN.get(run.settings.method, "")
    if own := run.state.members_of(group):
        found["own"] = [member.source for member in own[:TOP]]
    return found


def write_kept(path: Path, kept: KeptSets | KeptPrograms) -> None:
    """Write what is stored of a task into an xz file, which is replaced; raises OSError if it cannot be written."""
    xz_json.write(path, [kept], type(kept))


def read_programs(path: Path) -> KeptPrograms:
    """Read the programs of a task's sets; raises UsageError if the file is missing, damaged or of another kind."""
    return xz_json.read(path, KeptPrograms, "experiments/sets/programs.py")[0]


def read_kept(folder: Path) -> Sequence[KeptSets]:
    """Read the files of all tasks in a folder, in the order of their names.

    Raises UsageError if there is none, or if one is damaged or of another kind.
    """
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        raise UsageError(f"there are no kept sets (*{SUFFIX}) in {folder}; {MAKER} makes them of finished runs")
    return [xz_json.read(file, KeptSets, MAKER)[0] for file in files]
