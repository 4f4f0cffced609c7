"""Writes the task file for an evaluator and a first program that a person names; runs load it as any other."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from behavesim.application.repository import WantedRepository, checked_out
from behavesim.base.errors import UsageError
from behavesim.base.text import listed, read_text_file, storable
from behavesim.evaluators.configuration import read_configuration
from behavesim.evaluators.conventions import Convention, Description, convention_named
from behavesim.evaluators.detection import convention_of
from behavesim.evaluators.needs import environment_for, is_wide, root_of
from behavesim.evaluators.scores import averaged, silent_failure
from behavesim.sandbox.limits import Limits
from behavesim.state.events import Evaluated
from behavesim.task.evaluated import (
    JUDGED_APART,
    MADE,
    ConventionName,
    Edits,
    EvaluatorFile,
    first_program,
    without_surroundings,
)

# Names of evaluators' files, without suffix, that say nothing of the problem: the task then has their folder's name.
COMMONPLACE = ("evaluator", "evaluate", "eval", "problem", "specification")
# Names of first programs, without suffix, as OpenEvolve's and ShinkaEvolve's examples call them.
FIRST_PROGRAMS = ("initial_program", "initial")
# What is said of a metric that is named though there is one number.
ONE_NUMBER = "--metric chooses among several numbers, and a class gives one; leave it out"
# Values in a configuration that are settings of the run and no part of its task.
_SETTINGS = ("seed",)
# Largest number of ignored keys of a configuration that a message names.
_MOST_NAMED = 6


# Most lines of a first program that a model writes again in full. Of a longer one most lines would be paid for again in
# each reply, and copied with the mistakes that a copy may have; edits name the lines that change.
LONGEST_IN_FULL = 60


@dataclass(frozen=True)
class Wanted:
    """What a person said of an evaluator; `program` is None for a class's own template, or the one file beside it.

    `configuration` is a config.yaml; if None, one beside an evaluator of OpenEvolve's kind is read, if there is one. If
    `edits` is None, the configuration decides; if that says nothing, the first program's length does. `is_minimised`
    says that lower scores are better; those of EoH's problems always are.
    `best_known` is the best score known; None leaves it to the configuration. `bound` and `metric` are as in
    `EvaluatorFile`. A `repository` brings its own evaluator and program, which are "" and None then.
    """

    evaluator: str
    program: Path | None = None
    configuration: Path | None = None
    edits: Edits | None = None
    is_minimised: bool = False
    best_known: float | None = None
    bound: float | None = None
    metric: str = ""
    repository: WantedRepository | None = None


@dataclass(frozen=True)
class Made:
    """A task file's path, or a task's name, and the settings that the evaluator's configuration suggests, by name."""

    path: Path
    suggested: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def task_file(
    wanted: Wanted, runs: Path, tell: Callable[[str], None], allow_weak_isolation: bool = False
) -> Iterator[Made]:
    """Write the task's file into a folder below `runs`, under a name that has the hash of its content; yield it.

    `tell` gets a line for what a person may want to know. A class evaluator is asked in the sandbox. If no run in
    `runs` has the task when the block ends, such as after an error, files that were new are removed. Raises UsageError
    if the evaluator, program or configuration cannot be used, TaskError if the class cannot be loaded.
    """
    with ExitStack() as stack:
        repository = None
        if wanted.repository is not None:
            repository = stack.enter_context(checked_out(wanted.repository, runs, tell))
            evaluator = f"command:{repository.evaluator(wanted.repository.command)}"
            wanted = replace(wanted, evaluator=evaluator, program=repository.program)
        name, place = convention_of(wanted.evaluator)
        convention = convention_named(name)
        is_sought = wanted.program is None and not convention.has_program and name != "command"
        if is_sought and (beside := _program_beside(Path(place))):
            tell(f"the first program is {beside.name}, which stands beside it; --program names another")
            wanted = replace(wanted, program=beside)
        decided = convention.decides(place)
        if not wanted.metric and "metric" in decided:
            tell(f"the score is {decided['metric']}, as the project's configurations say; --metric names another")
        known = _configuration(wanted, convention, place, tell)
        file = _describe_task(wanted, name, place, {**known, **decided}, tell)
        if repository is not None and wanted.repository is not None:
            commit, folder = repository.repository.commit, str(repository.folder)
            file = replace(file, name=repository.name, description=repository.description, root="", runs_in=folder)
            file = replace(file, repository=repository.repository)
            tell(f"each evaluation runs `{wanted.repository.command}` in a copy of commit {commit[:12]}")
            tell("its scores are self-reported")
        else:
            whose = "trusted: it judges answers where no program runs" if name in JUDGED_APART else "self-reported"
            tell(f"{wanted.evaluator} is called as {convention.called_as}; its scores are {whose}")
        write = stack.enter_context(_written_files(runs))
        if convention.has_program:
            file = _add_description(file, convention.describe(file, allow_weak_isolation), write)
        text = file.to_toml()
        if text != storable(text):
            holds = "a path or the command holds a byte that is no UTF-8 text"
            raise UsageError(f"{holds}, which the task's file could not give back; rename it")
        path = write(f"{file.name}-{_hash(text)}.toml", text)
        yield Made(path, {name: value for name, value in known.items() if name in _SETTINGS})


def _program_beside(evaluator: Path) -> Path | None:
    """Return the one file beside an evaluator's that is called as first programs are; None if there is not just one."""
    here = evaluator.parent  # SkyDiscover has a folder `evaluator` beside the program
    for folder in [here, here.parent] if here.name in COMMONPLACE else [here]:
        found = [path for path in folder.iterdir() if path.is_file() and path.stem in FIRST_PROGRAMS]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _describe_task(
    wanted: Wanted, name: ConventionName, place: str, known: Mapping[str, Any], tell: Callable[[str], None]
) -> EvaluatorFile:
    # `known` are values by name that the configuration gives, and the evaluator's own files.
    convention = convention_named(name)
    if wanted.program is None and not convention.has_program:
        raise UsageError("--evaluator needs the program to start from; add --program FILE, or --program DIR")
    if wanted.program is not None and not wanted.program.exists():
        raise UsageError(f"there is no program {wanted.program}; name a file, or a folder of files, with --program")
    if wanted.metric and not convention.has_metrics:
        raise UsageError(ONE_NUMBER)
    said = {"best_known": wanted.best_known, "edits": wanted.edits, "metric": wanted.metric or None}
    values = {**known, **{name: value for name, value in said.items() if value is not None}}
    if "edits" not in values and wanted.program is not None and not convention.has_program:
        # decided once, for the file: a run goes on as it began, however long its programs become
        length = first_program(wanted.program).count("\n")
        values["edits"] = "diff" if length > LONGEST_IN_FULL else "full"
    named = values.pop("name", "") or _name(Path(place.partition(":")[0]))
    file = EvaluatorFile(
        name,
        place,
        "" if wanted.program is None else str(wanted.program.resolve()),
        name=re.sub(r"[^\w.+-]+", "-", named).strip(".+-") or "evaluator",
        bound=wanted.bound,
        **{
            "direction": "minimise" if wanted.is_minimised else "maximise",
            **{name: value for name, value in values.items() if name not in _SETTINGS},
        },
    )
    scripts = [] if wanted.repository else convention.scripts(file)
    root = Path(file.root) if file.root else root_of(file.folder, scripts)
    if root:
        tell(f"imports are looked up in {root}, too, which programs can read")
    environment, secret = environment_for(scripts, [*{script.parent for script in scripts}, *([root] if root else [])])
    if environment:
        tell(f"it reads {', '.join(environment)} from the environment: kept with the task, and passed on")
    if secret:
        tell(f"it reads {', '.join(secret)} from the environment: not passed on, as programs could read it")
    numbered = convention.takes_number(file)
    file = replace(file, root=str(root or ""), numbered=numbered, environment=environment)
    if numbered:
        tell("the evaluator takes an instance's number: at the end, the best programs are compared on fresh instances")
    is_shown = wanted.repository is None and (name == "command" or file.evaluator_path)
    if is_shown and is_wide(file.readable.resolve()):
        raise UsageError(
            f"programs could read all of {file.readable}, as they can read the evaluator's folder; "
            "move the evaluator and what it needs to a folder of their own"
        )
    return file


def _add_description(file: EvaluatorFile, said: Description, write: Callable[[str, str], Path]) -> EvaluatorFile:
    # If there is no first program, `write` writes the evaluator's own.
    program = file.program
    if not program and not said.template.strip():
        first = f", with a first `{said.entry_point}`" if said.entry_point else ""
        raise UsageError(f"{file.name} has no template program; add --program FILE{first}")
    if not program:  # in a folder of its own, which is all that an installed evaluator and its programs can read
        program = str(write(f"{file.name}-{_hash(said.template)}/template.py", said.template))
    values = {**vars(file), "program": program, "entry_point": said.entry_point}
    return EvaluatorFile(**{**values, "description": file.description or said.description})


def understanding(file: EvaluatorFile, first: Evaluated, behaviour: str, limits: Limits) -> dict[str, str]:
    """Return how an evaluator was understood, as facts by name; `first` is the outcome of its first program.

    `behaviour` says by what programs are compared. What is ignored of a configuration was told when the task's file was
    made.
    """
    metrics = without_surroundings(first.metrics)
    convention = convention_named(file.convention)
    mean = averaged(metrics, file.metric) if convention.averages else ()
    only = f"the mean of {', '.join(mean)}; --metric NAME chooses one" if mean else "the only number that can be one"
    known = (name for name in ("combined_score", "score") if metrics.get(name) == first.score)
    score = file.metric or next(known, only)
    numbers = (
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in metrics.items()
    )
    stages = " and ".join(
        f"{needed:g} after stage {stage}" for stage, needed in enumerate(file.thresholds, 1) if math.isfinite(needed)
    )
    stopped = "below" if file.direction == "maximise" else "above"
    facts = {
        "evaluator": f"{file.evaluator}, called as {convention.called_as}",
        "first program": f"{file.program}, score {first.score:.6g}",
        "doubt": silent_failure(first.score, first.metrics, first.feedback),
        "score": f"{score}; {'lower' if file.direction == 'minimise' else 'higher'} is better",
        "its numbers": ", ".join(numbers),
        "stages": f"{stages}; a program {stopped} keeps the score it has" if stages else "",
        "best known": "" if file.best_known is None else f"{file.best_known:g}",
        "bound": "" if file.bound is None else f"{file.bound:g}",
        "behaviour": behaviour,
        "fresh instances": "by number: at the end, the best programs are compared on them" if file.numbered else "",
        "limits": limits.in_words,
        "can be read": f"{file.readable}, without runs",
        "replies": "SEARCH/REPLACE edits" if file.edits == "diff" else "whole programs",
    }
    return {name: fact for name, fact in facts.items() if fact}


def _name(evaluator: Path) -> str:
    """Return the name of an evaluator's file, or of the first folder above it that says more."""
    names = (evaluator.stem, *(above.name for above in evaluator.parents))
    return next((each for each in names if each not in COMMONPLACE), "")


def _configuration(
    wanted: Wanted, convention: Convention, place: str, tell: Callable[[str], None]
) -> Mapping[str, Any]:
    """Return the configuration's values by name, and tell in a line which those are and which keys are ignored."""
    # Without a file nothing is told; the values are OpenEvolve's defaults for its convention, and none for the others.
    path = wanted.configuration
    if path is None and convention.has_configuration:
        beside = (Path(place).parent / f"config.{suffix}" for suffix in ("yaml", "yml"))
        path = next((each for each in beside if each.is_file()), None)
    # without a file, that project's own defaults: an evaluator in stages is run in stages
    values, ignored = read_configuration(path, convention.most_thresholds(place), wanted.is_minimised)
    if path is not None:
        used = ", ".join(f"{name} {_short(value)}" for name, value in values.items())
        unused = f"; not used here: {listed(ignored, _MOST_NAMED, 'other key')}" if ignored else ""
        tell(f"{path.name}, where no option says otherwise: {used or 'nothing used'}{unused}")
    return values


def _short(value: object) -> str:
    """Return a value of a configuration for a message: of a long text its length, several values with slashes."""
    if isinstance(value, str) and ("\n" in value or len(value) > 20):
        return f"of {len(value)} characters"
    return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)


@contextmanager
def _written_files(runs: Path) -> Iterator[Callable[[str, str], Path]]:
    # At the end, new files and folders are removed if no run's settings name the last new file.
    folder, new = (runs / MADE).resolve(), list[Path]()
    was_there = [each for each in (runs, folder) if each.exists()]

    def write(name: str, text: str) -> Path:
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or read_text_file(path, "task") != text:
                new.append(path)
                path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}; choose another --runs-dir") from None
        return path

    try:
        yield write
    finally:
        settings = (read_text_file(path, "settings") for path in runs.glob("*/settings.toml"))
        if new and not any(f'"{new[-1]}"' in text for text in settings):
            for path in new:
                path.unlink(missing_ok=True)
            for place in (*(path.parent for path in new), folder, runs):
                if place not in was_there and place.is_dir() and not any(place.iterdir()):
                    place.rmdir()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
