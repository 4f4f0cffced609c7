"""Turns plain arguments (names, numbers and paths) into settings and launches of runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from behavesim.analysis.run import Run
from behavesim.analysis.table import TOP
from behavesim.application.evaluation import program_of, read_program
from behavesim.base.config import Settings, cores
from behavesim.base.errors import UsageError
from behavesim.engine.admission import changed_settings, settings_from_person
from behavesim.engine.build import Launch
from behavesim.evaluators.configuration import refuse_unused_thresholds
from behavesim.evaluators.detection import is_evaluator
from behavesim.proposers.http import bind_loopback
from behavesim.proposers.openai_settings import has_endpoint
from behavesim.proposers.proposer import Proposer, proposer_type, takes_notes
from behavesim.proposers.replay import brought_again
from behavesim.state.events import Advised, Asked, ClockRead, Injected
from behavesim.state.settings import proposer_parts, settings_from_journal
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events
from behavesim.task import Task, TaskReference
from behavesim.task.evaluated import EvaluatorTask


def task_settings(
    task: str,
    given: Mapping[str, Any],
    assignments: list[str] | None = None,
    file: Path | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> tuple[Settings, Task]:
    """Return a run's settings for a task, given by its name or file (made absolute in them), and the loaded task.

    Values by name in `given` beat `assignments` ("key=value"), these the TOML `file`, and this the `defaults`. Values
    that are None were not given. The assignment "size=large" or "size=24" means the task of that size. Raises
    TaskError if the task cannot be loaded, UsageError if it is an evaluator's file or a setting does not fit.
    """
    if task.endswith(".py") and is_evaluator(Path(task)):
        raise UsageError(
            f"{task} is an evaluator, not a task; name it with --evaluator {task} and --program FILE: `behavesim run` "
            "searches with it, `behavesim task init NAME` writes a task around it"
        )
    reference = TaskReference(task).absolute()  # the run may be resumed from another folder
    loaded = reference.load()
    if isinstance(loaded, EvaluatorTask):
        refuse_unused_thresholds(loaded.file)
    for chosen in assignments or ():
        name, _, size = chosen.partition("=")
        if name == "size" and (size in loaded.sizes or size.isdecimal()):
            others = [each for each in assignments or () if each != chosen]
            return task_settings(f"{task}:{size}", given, others, file, defaults)
    return settings_from_person({**given, "task": reference.text}, assignments, file, loaded, defaults), loaded


def new_launch(
    task: str,
    runs_dir: Path,
    given: Mapping[str, Any],
    assignments: list[str] | None = None,
    file: Path | None = None,
    name: str | None = None,
    suggested: Mapping[str, Any] | None = None,
    needs_key: bool = True,
) -> Launch:
    """Return the launch of a new run in `runs_dir`; nothing is written yet.

    A proposer that is "auto" or not given is "openai" if `given` names models or the environment has an endpoint, else
    "genetic". What a replay asks (`ask_once`, `ask_each_once`, `notes`), if not given, is what its original asked.

    Args:
        task: A name or a file's path.
        runs_dir: The folder of the run's folder.
        given: Settings by name; None was not given.
        assignments: Settings as "key=value", which `given` beats.
        file: A TOML file of settings, which `assignments` beat.
        name: The run's id; None means the task's name and the time.
        suggested: Defaults, which everything else beats.
        needs_key: False for a dry run, which asks no model.

    Raises: TaskError: The task cannot be loaded. UsageError: A setting does not fit, the proposer lacks a key or a free
    port, the run's folder exists or cannot be made, `start_with` brings no programs, or the run to replay cannot be
    read.
    """
    flags = {name: value for name, value in given.items() if (name, value) != ("proposer", "auto")}
    unsaid = "openai" if flags.get("models") or has_endpoint() else "genetic"  # who names a model wants it asked
    defaults = {"workers": cores(), "proposer": unsaid, **(suggested or {})}
    settings, loaded = task_settings(task, flags, assignments, file, defaults)
    # only now it is known whether the run is a replay, which asks what its original asked
    kind, argument = proposer_parts(settings.proposer)
    original = RunFolder.find(runs_dir, argument) if kind == "replay" else None
    if original is not None:
        settings, loaded = task_settings(task, flags, assignments, file, {**defaults, **_prompt_settings_of(original)})
    # all that can refuse the run comes before anything is evaluated or written
    if needs_key and (missing := proposer_type(settings.proposer).missing()):
        raise UsageError(f"{missing}; --proposer genetic needs nothing")
    folder = RunFolder.named(runs_dir, name) if name else RunFolder.fresh(runs_dir, loaded.name, datetime.now())
    folder.refuse_at_once()
    launch = Launch(settings, loaded, folder, _first_events(settings, runs_dir, loaded, original))
    if needs_key:
        _ = launch.proposer  # which is made here, as it may refuse its settings
        if kind == "http" and int(argument or 0):
            # the proposer itself listens at its first candidate, after the template was evaluated: too late to be told
            with bind_loopback(int(argument), "cannot take programs"):
                pass
    return launch


def _prompt_settings_of(original: RunFolder) -> dict[str, Any]:
    """Return `ask_once`, `ask_each_once` and `notes` by name, which a replay takes over from its original."""
    settings = settings_from_journal(original.read_settings())
    try:
        notes = takes_notes(settings)
    except UsageError:  # a person's proposer that is not on this machine: those read prompts unless they say otherwise
        notes = Proposer.writes_text
    # where nobody read the prompts, there were no notes and questions were repeated: the settings have to say so
    return {"ask_once": settings.ask_once, "ask_each_once": settings.ask_each_once, "notes": notes}


def _first_events(
    settings: Settings, runs_dir: Path, task: Task, original: RunFolder | None
) -> tuple[Injected | Advised | ClockRead, ...]:
    """Return the first events of a new run: what its `original` was given, and the programs of `start_with`."""
    again: tuple[Injected | Advised | ClockRead, ...] = ()
    if original is not None:
        known = read_events(original.journal, only=(Asked, Advised, ClockRead))
        again = brought_again(event for _, _, event in known)
    text = settings.start_with
    if not text:
        return again
    if any(isinstance(event, Injected) for event in again):
        raise UsageError("the replayed run brings its programs with it; leave --start-with out")
    named = _best_of_run(text, runs_dir) or _in_folder(Path(text), task)
    if not named:
        kind = f"{task.suffix} files" if task.suffix else "folders, each a program"
        raise UsageError(
            f"there are no programs in {text!r}: it is no run with a feasible one, and no folder of {kind}"
        )
    return (*again, *(Injected(name, program_of(task, name, source)) for name, source in named))


def _best_of_run(text: str, runs_dir: Path) -> list[tuple[str, str]]:
    """Return names and sources of the ten best programs of a run, best first; [] without a run or feasible program."""
    # `RunFolder.find` takes the beginning of an id too, and would take a folder of programs for a run of that name
    if not RunFolder.is_named(runs_dir, text):
        return []
    run = Run.load(RunFolder.find(runs_dir, text))
    return [(f"{run.folder.run}-{each.candidate}", each.source or "") for each in run.ranked()[:TOP]]


def _in_folder(folder: Path, task: Task) -> list[tuple[str, str]]:
    """Return names and sources of a folder's programs, sorted by name; [] if there is no such folder."""
    # A program is a file with the suffix of the task's programs, or a folder if those have several files.
    if not folder.is_dir():
        return []
    found = folder.glob(f"*{task.suffix}") if task.suffix else (path for path in folder.iterdir() if path.is_dir())
    return [(path.name, read_program(path, task)) for path in sorted(found)]


def next_launch(
    folder: RunFolder,
    changes: Mapping[str, Any],
    assignments: list[str] | None = None,
    fork: RunFolder | None = None,
) -> Launch:
    """Return the launch that continues the run in `folder` with some settings changed, there or as the new run `fork`.

    `changes` are settings by name, None where one was not given; they beat `assignments` ("key=value"). If the file of
    the task or the method is gone, the run's own copy of it is used. Raises TaskError if the task cannot be loaded,
    UsageError if a change does not fit.
    """
    # a changed file stays where it is, and is refused by its name
    before = settings_from_journal(folder.at_hand(folder.read_settings(), but_changed=True))
    if task := changes.get("task"):
        changes = {**changes, "task": TaskReference(task).absolute().text}
    settings = changed_settings(before, changes, assignments)
    return Launch(settings, TaskReference(settings.task).load(), fork or folder)
