"""Study "known": which programs of several people behave the same, how near the rest are, and where they part."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.run import Run
from behavesim.base.errors import UsageError
from behavesim.base.text import ScoreSource, parse, read_text_file
from behavesim.code_similarity.metric import of_source, source_matrix
from behavesim.programs.extract import form_of
from behavesim.programs.functions import callables, complaint, functions_in
from behavesim.programs.reading import FunctionForm
from behavesim.prompts.behaviour_diff import first_difference, step_in_words
from behavesim.similarity import BehaveSim
from behavesim.similarity.clustering import median_distance, select_apart
from behavesim.task import InWords, Objective, Split, Task
from behavesim.task.verdict import Verdict
from behavesim.trajectory import AlgorithmRun, pack_states

# What the study finds: programs, their behaviours, pairs that disagree, what was refused, and who found what.


# Largest number of pairs listed whose texts and behaviours disagree, for each of the two kinds.
SHOWN = 5


@dataclass(frozen=True)
class EvaluatedProgram:
    """A program that was run: its name, who found it, its source and its verdict."""

    name: str
    whose: str
    source: str
    verdict: Verdict


@dataclass(frozen=True)
class Refused:
    """A program that could not be run or was rejected: at which stage, and why."""

    name: str
    whose: str
    stage: str
    reason: str
    message: str


@dataclass(frozen=True)
class FirstDifference:
    """Where two programs first differ: the earliest such step, on the first instance on which they differ then.

    `step` and `instance` count from 1; `does` and `other_does` say what each does there. The four are None if they
    differ in scores alone. `same_on` is the number of instances on which they do the same.
    """

    step: int | None
    instance: int | None
    does: str | None
    other_does: str | None
    same_on: int

    @property
    def in_words(self) -> str:
        """The step and the instance as a phrase for tables; "after what is compared" if they are None."""
        return "after what is compared" if self.step is None else f"step {self.step}, instance {self.instance}"


@dataclass(frozen=True)
class FoundProgram:
    """A program with its score and gap, the number of its behaviour from 1, and its nearest program.

    `gap` is a fraction, None if the best score is unknown or 0. `copy_of` is the first program with this behaviour,
    None for that program itself. `nearest` is `copy_of`, or the most similar program of another behaviour, with their
    BehaveSim and first difference; the three are None if there is none. The `first_difference` of a copy is None.
    """

    name: str
    whose: str
    score: float
    gap: float | None
    behaviour: int
    copy_of: str | None
    nearest: str | None
    similarity: float | None
    first_difference: FirstDifference | None


@dataclass(frozen=True)
class Pair:
    """Two programs, the behaviour of the first, and their similarities by text and by behaviour."""

    one: str
    other: str
    behaviour: int
    text: float
    behavesim: float


@dataclass(frozen=True)
class Party:
    """Those who found some programs: how many, with how many behaviours, how many found by nobody else, and the best.

    `best` is the name of their best program, with its score and gap (see `Objective.gap`; None if unknown).
    """

    whose: str
    programs: int
    behaviours: int
    alone: int
    best: str
    score: float
    gap: float | None


@dataclass(frozen=True)
class KnownStudy:
    """Programs of several parties on one task: their behaviours, similarities, and those that could not be run.

    `found` has the programs in the order in which they were given. `behaviour` and `text` are (N, N) similarities in
    this order, by BehaveSim and by the metric of text `metric`. `far` is how many behaviours are at least `apart` from
    one another, a distance 1 − BehaveSim.
    """

    task: str
    split: Split
    objective: Objective
    score_source: ScoreSource
    metric: str
    found: tuple[FoundProgram, ...]
    refused: tuple[Refused, ...]
    behaviour: NDArray[np.float64]
    text: NDArray[np.float64]
    far: int
    apart: float

    @property
    def firsts(self) -> tuple[FoundProgram, ...]:
        """The first program of each behaviour; behaviour k, from 1, is at index k − 1."""
        return tuple(each for each in self.found if each.copy_of is None)

    def finders(self, behaviour: int) -> tuple[FoundProgram, ...]:
        """Return all programs of a behaviour, given by its number from 1; empty if there is none of that number."""
        return tuple(each for each in self.found if each.behaviour == behaviour)

    @property
    def parties(self) -> tuple[Party, ...]:
        """Who found how much, in the order of their first programs."""
        names = dict.fromkeys(each.whose for each in self.found)
        whose = [{each.whose for each in self.finders(first.behaviour)} for first in self.firsts]
        found = []
        for name in names:
            own = [each for each in self.found if each.whose == name]
            best = max(own, key=lambda each: self.objective.utility(each.score))
            alone = sum(owners == {name} for owners in whose)
            behaviours = len({each.behaviour for each in own})
            found.append(Party(name, len(own), behaviours, alone, best.name, best.score, best.gap))
        return tuple(found)

    def same_behaviour(self) -> list[Pair]:
        """Return pairs of programs that behave the same, the least similar texts first, one for each behaviour.

        There are at most SHOWN.
        """
        pairs = [self._pair(*rows) for rows in self._rows(same=True)]
        chosen: dict[int, Pair] = {}
        for pair in sorted(pairs, key=lambda pair: pair.text):
            chosen.setdefault(pair.behaviour, pair)
        return list(chosen.values())[:SHOWN]

    def similar_text(self) -> list[Pair]:
        """Return the pairs of programs that behave differently, the most similar texts first, at most SHOWN."""
        return sorted((self._pair(*rows) for rows in self._rows(same=False)), key=lambda pair: -pair.text)[:SHOWN]

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: the task, the split, counts, and lists of this module's values.

        `behaviours` counts the different ones; `far` of them are at least `apart` from one another. `similarities` has
        two N × N lists of lists, by BehaveSim ("behavesim") and by the metric of text (its name), in the order of
        `programs`.
        """
        return {
            "task": self.task,
            "split": self.split,
            "score_source": self.score_source,
            "metric": self.metric,
            "behaviours": len(self.firsts),
            "far": self.far,
            "apart": self.apart,
            "parties": [asdict(each) for each in self.parties],
            "programs": [asdict(each) for each in self.found],
            "refused": [asdict(each) for each in self.refused],
            "same_behaviour": [asdict(each) for each in self.same_behaviour()],
            "similar_text": [asdict(each) for each in self.similar_text()],
            "similarities": {"behavesim": self.behaviour.tolist(), self.metric: self.text.tolist()},
        }

    def _rows(self, same: bool) -> list[tuple[int, int]]:
        """Return the indices in `found` of all pairs of programs that behave the same; if not `same`, of the others."""
        number = np.array([each.behaviour for each in self.found])
        rows, columns = np.triu_indices(len(number), 1)
        kept = (number[rows] == number[columns]) == same
        return list(zip(rows[kept].tolist(), columns[kept].tolist(), strict=True))

    def _pair(self, row: int, column: int) -> Pair:
        one, other = self.found[row], self.found[column]
        return Pair(
            one.name, other.name, one.behaviour, float(self.text[row, column]), float(self.behaviour[row, column])
        )


# The programs to compare: those in a folder, those of runs, and the task's template.


TEMPLATE = "template"
"""Name of the task's template, and of who wrote it."""


@dataclass(frozen=True)
class NamedProgram:
    """A program with its name, which no other has, and the name of those who found it."""

    name: str
    whose: str
    source: str


def programs_in(folder: Path, task: Task) -> list[NamedProgram]:
    """Return the programs of a folder and the folders in it, a file each, sorted by path.

    A name is the path inside the folder without the suffix. Those who found a program have the name of the first folder
    on that path, or of `folder` itself. A function of another name is bound to the task's, if there is only one that
    fits. Files and folders whose names begin with "." or "__" are left out. Raises UsageError if there is no such
    folder or no program in it, if a file cannot be read, or if programs of the task have several files each.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; study known takes one with a program in each file")
    if not task.suffix:
        raise UsageError(f"programs of task {task.name} have several files each; study known takes one file a program")
    paths = [path.relative_to(folder) for path in sorted(folder.rglob(f"*{task.suffix}")) if path.is_file()]
    shown = [path for path in paths if not any(part.startswith((".", "__")) for part in path.parts)]
    if not shown:
        raise UsageError(f"there is no program in {folder}: no file ends in {task.suffix}")
    return [_read(folder, path, task) for path in shown]


def programs_of(run: Run, task: Task, best: int) -> list[NamedProgram]:
    """Return at most `best` distinct programs of a run, best first; a name is the run's id and the candidate's number.

    Programs that differ only in layout, comments and local names count as one. Raises UsageError if the run is of
    another task, or its task cannot be loaded.
    """
    if (other := run.task().name) != task.name:
        raise UsageError(f"run {run.folder.run} is of task {other}, not of {task.name}")
    whose = run.folder.run
    return [NamedProgram(f"{whose} {each.candidate}", whose, each.source or "") for each in run.ranked()[:best]]


def template_of(task: Task) -> NamedProgram:
    """Return the program from which searches on a task start."""
    return NamedProgram(TEMPLATE, TEMPLATE, task.template)


def _read(folder: Path, path: Path, task: Task) -> NamedProgram:
    source = read_text_file(folder / path, "program")
    if isinstance(form_of(task), FunctionForm):
        source = with_entry_point(source, task.template, task.entry_point)
    whose = path.parts[0] if len(path.parts) > 1 else folder.resolve().name
    return NamedProgram(path.with_suffix("").as_posix(), whose, source)


def with_entry_point(source: str, template: str, entry_point: str) -> str:
    """Return a program with a last line that gives its function the name `entry_point` too.

    Only if exactly one top-level function has the right signature and is not called by the others.
    """
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a null byte; nested too deep
        return source
    functions, wanted = callables(tree), functions_in(template).get(entry_point)
    if entry_point in functions or wanted is None:
        return source
    named = _named_by_others(tree)
    fitting = [name for name, found in functions.items() if name not in named and not complaint(found, wanted.args)]
    return f"{source.rstrip()}\n\n\n{entry_point} = {fitting[0]}\n" if len(fitting) == 1 else source


def _named_by_others(tree: ast.Module) -> set[str]:
    """Return the names that functions and classes at the top level use, each without its own."""
    return {
        node.id
        for each in tree.body
        if isinstance(each, ast.FunctionDef | ast.ClassDef)
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and node.id != each.name
    }


@dataclass(frozen=True)
class Rules:
    """How programs are compared: by the measure of behaviour, and by `metric`, the name of a metric of source code.

    `radius` is the clearing radius as a multiple of the median distance of two behaviours. `words` puts the decisions
    of programs on an instance in words; it names the task and the split.
    """

    measure: BehaveSim
    radius: float
    metric: str
    words: InWords


def compare_known(tried: Sequence[EvaluatedProgram], refused: Sequence[Refused], rules: Rules) -> KnownStudy:
    """Compare programs, at least one, that were run on the instances of one split.

    Those of `refused` could not be run or were rejected: they are listed, not compared. `rules` say how those of
    `tried` are compared. Two programs behave the same if their trajectories and their scores are equal on every
    instance.

    Raises UsageError if the task's programs have no trajectories, or the metric's package is missing or cannot read a
    program. Raises KeyError for an unknown metric, TrajectoryError if the trajectories cannot be compared. Raises
    TaskError if the task fails to put a decision in words.
    """
    if not any(each.verdict.trajectories for each in tried):
        raise UsageError(f"task {rules.words.task.name} has no trajectories, so that nothing can be compared")
    task, split = rules.words.task, rules.words.split
    behaviour = rules.measure.matrix([each.verdict.trajectories for each in tried])
    sources = [each.source for each in tried]
    text = source_matrix(of_source(rules.metric, sources), sources)
    objective = task.objective_on(split)
    found = _found(tried, behaviour, objective, rules.words)
    far, apart = _far(found, 1.0 - behaviour, objective, rules.radius)
    return KnownStudy(
        task.name, split, objective, task.score_source, rules.metric, found, tuple(refused), behaviour, text, far, apart
    )


def _found(
    tried: Sequence[EvaluatedProgram], similarity: NDArray[np.float64], objective: Objective, words: InWords
) -> tuple[FoundProgram, ...]:
    """Return what is known of each of the N programs `tried`, in order; of one behaviour, all but the first are copies.

    `similarity` has their BehaveSim, (N, N); `words` puts decisions and instances in words.
    """
    first: dict[tuple[bytes, tuple[float, ...]], int] = {}
    keys = [(pack_states(each.verdict.trajectories), each.verdict.scores) for each in tried]
    for row, key in enumerate(keys):
        first.setdefault(key, row)
    numbers = {row: number for number, row in enumerate(first.values(), 1)}
    found = []
    for row, (each, key) in enumerate(zip(tried, keys, strict=True)):
        original = first[key]
        near, part = (original, None) if original != row else _nearest(row, keys, tried, similarity, words)
        score = each.verdict.score
        found.append(
            FoundProgram(
                each.name,
                each.whose,
                score,
                objective.gap(score),
                numbers[original],
                tried[original].name if original != row else None,
                None if near is None else tried[near].name,
                None if near is None else float(similarity[row, near]),
                part,
            )
        )
    return tuple(found)


def _nearest(
    row: int,
    keys: Sequence[tuple[bytes, tuple[float, ...]]],
    tried: Sequence[EvaluatedProgram],
    similarity: NDArray[np.float64],
    words: InWords,
) -> tuple[int | None, FirstDifference | None]:
    """Return the row of the program of another behaviour most similar to that of `row`, and where the two part."""
    # `keys` has the behaviour and the scores of each program in `tried`, `similarity` their BehaveSim, (N, N). Of
    # equally similar ones it is the first. Both are None if all programs have one behaviour.
    others = [other for other, key in enumerate(keys) if key != keys[row]]
    if not others:
        return None, None
    near = max(others, key=lambda other: (similarity[row, other], -other))
    return near, find_first_difference(tried[row].verdict.trajectories, tried[near].verdict.trajectories, words)


def _far(
    found: Sequence[FoundProgram], distances: NDArray[np.float64], objective: Objective, radius: float
) -> tuple[int, float]:
    """Return how many behaviours clearing keeps, from the best on, and the least distance that it demands of two."""
    # That is `radius` times the median distance of two behaviours. `distances` are those of the programs `found`, (N,
    # N).
    rows = [row for row, each in enumerate(found) if each.copy_of is None]
    rows.sort(key=lambda row: -objective.utility(found[row].score))
    among = distances[np.ix_(rows, rows)]
    apart = radius * median_distance(among)
    return len(select_apart(len(rows), len(rows), apart, among.__getitem__)), apart


def find_first_difference(
    one: Sequence[AlgorithmRun], other: Sequence[AlgorithmRun], words: InWords
) -> FirstDifference:
    """Return where two programs part, each given by a trajectory or samples for each instance.

    Step, instance and words are None if the two are equal on all instances. Raises TaskError if the task fails to put a
    decision in words.
    """
    steps = [first_difference(*pair) for pair in zip(one, other, strict=True)]
    known = [(step, index) for index, step in enumerate(steps) if step is not None]
    if not known:
        return FirstDifference(None, None, None, None, len(steps))
    step, index = min(known)
    does, other_does = (step_in_words(each[index], index, step, words) for each in (one, other))
    return FirstDifference(step + 1, index + 1, does, other_does, len(steps) - len(known))
