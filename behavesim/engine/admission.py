"""A run's settings as a person gives them, and checks before a session starts, so that a refused one costs nothing."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from behavesim.base.config import (
    BUDGET_DEFAULTS,
    FULL_BUDGET,
    Owner,
    Settings,
    differences,
    read_toml,
    suited_to_budget,
)
from behavesim.base.errors import TaskError, UsageError
from behavesim.base.plugins import absolute
from behavesim.engine.tuning import Grounds
from behavesim.methods.method import Method, method_of, method_type
from behavesim.prompts.wording import absolute_wording, wording_hash
from behavesim.proposers.prices import PriceList, Prices, as_setting
from behavesim.proposers.proposer import models_asked, proposer_type, takes_notes
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import TEMPLATE, Evaluated, RunForked, RunStarted
from behavesim.state.protocols import Judge
from behavesim.state.settings import (
    changed_parts,
    differing_parts,
    hashes_elsewhere,
    instances_hash,
    name_of_part,
    owners_in,
    provenance,
    settings_from_journal,
    settings_from_values,
    value_hash,
)
from behavesim.state.state import RunState
from behavesim.store.folder import PARTS, RunFolder
from behavesim.store.reading import read_events
from behavesim.task import Task, TaskReference, further_instances, instances_of
from behavesim.task.evaluated import EvaluatorTask
from behavesim.task.verdict import TIMED, Failure, Verdict
from behavesim.trajectory import pack_states

# Part of the error for a person who resumes a run with a smaller budget.
LOWERED = "a budget can only be raised, as the method was set up for the one that the run began with"


def refuse_unpriced(settings: Settings) -> None:
    """Raise UsageError if `max_cost_usd` is set and a model's price is unknown, or if one in `prices` is invalid."""
    own, listed = Prices.named(settings.prices), PriceList(proposer_type(settings.proposer).endpoint())
    unpriced = [model for model in models_asked(settings) if own.of(model) is None and not listed.knows(model)]
    if settings.max_cost_usd is not None and unpriced:
        models = ", ".join(unpriced)
        raise UsageError(f"--max-cost cannot hold: the price of {models} is unknown; add {as_setting(unpriced[0])}")


async def refuse_unsteady(settings: Settings, task: Task, instances: str) -> None:
    """Raise TaskError if the search's instances, made again, do not have the hash `instances`.

    Then a resumed run would score programs on other instances. If the run costs money, another process makes them, too:
    raises TaskError also if that cannot load the task.
    """
    if instances_hash(task, "search", anew=True) != instances:
        said = f"`instances('search')` of task {task.name!r} gives other instances on every call"
        raise TaskError(f"{said}; draw them from a fixed seed, such as np.random.default_rng(0)")
    # a process takes up to a second; the tests of this package try the tasks that come with it
    is_tested = type(task).__module__.startswith(("behavesim_tasks.", "behavesim."))
    if is_tested or not proposer_type(settings.proposer).costs_money:
        return
    if (await hashes_elsewhere(TaskReference(settings.task)))["search"] != instances:
        raise TaskError(f"task {task.name!r} cannot be searched: {differing_parts('search')}")


def refuse_unsuited(settings: Settings, task: Task, template: Evaluated) -> None:
    """Raise TaskError if the run needs behaviour and its measure cannot compare the template's trajectories.

    It needs behaviour where its method compares programs, or its prompts describe behaviour.
    """
    known = Behaviours.of_run(settings, task, method_of_run(settings, task).uses_behaviour)
    known.apply(template, (TEMPLATE,))
    if why := known.why_incomparable(template.trajectories):
        raise TaskError(f"task {task.name!r} does not suit the run's measure: {why}")


def refuse_unfit(settings: Settings, task: Task) -> None:
    """Raise UsageError if the run is to end within a gap, or to race, and the task does not allow it."""
    if settings.until_gap is not None and not task.objective.best_known:
        raise UsageError(f"task {task.name!r} has no best known score to measure a gap from; leave until_gap out")
    if not settings.race:
        return
    said, task_named = f"race = {settings.race}", f"task {task.name!r}"
    if isinstance(task, EvaluatorTask):
        raise UsageError(f"{said} needs a task; an evaluator races at the end alone: leave race out")
    if task.has_own_mean:
        raise UsageError(
            f"{said} needs the mean of scores, and {task_named} has a `mean_score` of its own: leave race out"
        )
    begun = len(instances_of(task, "search"))
    if settings.race < begun:
        raise UsageError(f"{said} is less than the {begun} search instances of {task_named}; give at least as many")
    try:
        further_instances(task, "search", settings.race)
    except TaskError as error:
        if task.endless:
            raise
        raise UsageError(
            f"{said} needs the search instances {begun} to {begun + settings.race - 1}, and {task_named} does not give "
            "them by number (`Task.instance`); leave race out"
        ) from error


def refuse_changes(folder: RunFolder, settings: Settings, task: Task) -> None:
    """Raise UsageError if a run cannot be resumed because a setting that is not `Adjustable` changed.

    The budget may grow, not shrink. UsageError is also raised if the file of the task, method or proposer, the
    instances, the template or the prompts' texts changed. A run that was killed before it began is refused, too. Raises
    JournalError if the journal cannot be read.
    """
    begun, now = _opening(folder), run_provenance(settings, task)
    changed = changed_parts(begun.provenance, now)
    first = _elsewhere(settings_from_journal(folder.at_hand(begun.settings)), settings)
    moved = differences(first.model_copy(update={"budget": settings.budget}), settings)
    if settings.budget < first.budget:
        moved["budget"] = (first.budget, settings.budget)
    if changed or moved:
        listed = [f"its {key} changed" for key in changed]
        listed += [f"{key} was {then!r} and is {now!r}" for key, (then, now) in moved.items()]
        listed += [LOWERED] if "budget" in moved else []
        is_forkable = "instances" not in changed and not _kept_in_forks(settings).intersection(moved)
        instead = "go another way from here with --fork NEW-ID" if is_forkable else "start a new run"
        if is_forkable and "task" in changed:
            instead += f" if all scores stay as they are, else start a new run with --start-with {folder.argument}"
        raise UsageError(f"cannot resume {folder.run}: {', '.join(listed)}; put it back, or {instead}")


def refuse_another_run(source: RunFolder, settings: Settings, task: Task) -> None:
    """Raise UsageError if a fork of `source` would change its task, its method or its instances.

    The same holds for a setting that the method fixes in forks. The task's file may have moved or changed. Raises
    JournalError if the journal of `source` cannot be read.
    """
    begun = _opening(source)
    first = _elsewhere(settings_from_journal(source.at_hand(begun.settings)), settings)
    moved = [key for key in differences(first, settings) if key in _kept_in_forks(settings)]
    if moved:
        raise UsageError(f"a fork keeps its {' and '.join(moved)}; for others, start a new run")
    if "instances" in changed_parts(begun.provenance, run_provenance(settings, task)):
        raise UsageError("a fork keeps its instances, or scores would not mean the same; for others, start a new run")
    if begun.provenance.get("direction", task.objective.direction) != task.objective.direction:
        raise UsageError("a fork keeps which scores are better; for the other direction, start a new run")


def _kept_in_forks(settings: Settings) -> frozenset[str]:
    return frozenset({"task", "method", "race"} | method_type(settings.method).fixed_in_forks)


def refuse_unfit_copy(source: str, fork: RunFolder, settings: Settings, task: Task) -> None:
    """Raise UsageError if a fork cannot take over what the journal holds that it has a copy of.

    `source` is the id of the run that it copied. Its budget must not be smaller than what that has asked for already.
    If it needs behaviour, each program must be comparable: a run that does not compare may hold others, and each later
    decision would fail because of them. Raises JournalError if the copy cannot be read.
    """
    state = RunState(task.objective)
    known = Behaviours.of_run(settings, task, method_of_run(settings, task).uses_behaviour)
    for _, _, event in read_events(fork.journal):
        state.apply(event)
        known.apply(event, state.members)
    if settings.budget < state.questions:
        raise UsageError(
            f"run {source} has asked for {state.questions} programs, and a fork takes them all over: --budget "
            f"{settings.budget} is too small; give {state.questions} or more"
        )
    evaluated = (*state.members, *(each.id for each in state.open.values() if each.is_feasible))
    for candidate in evaluated if known.are_kept else ():
        if why := known.why_incomparable(known.algorithm(candidate)):
            raise UsageError(f"a fork that compares behaviour cannot take candidate {candidate} over: {why}")


def has_other_task(fork: RunFolder, settings: Settings, task: Task) -> bool:
    """Whether the task's file or evaluator has changed since the run began whose journal `fork` is a copy of."""
    return "task" in changed_parts(_opening(fork).provenance, run_provenance(settings, task))


async def refuse_rescored(source: RunFolder, fork: RunFolder, judge: Judge) -> None:
    """Raise UsageError if a feasible program in the fork's copied journal has another score or behaviour by now.

    A changed task may score otherwise. Then old and new programs would be compared by two scales, in every later
    decision and in every report. `judge` evaluates each program by the changed task, a text that occurs several times
    only once. Programs that exceed the limits on time or memory say nothing about scores. Raises JournalError if the
    copy cannot be read, SandboxError if the sandbox fails.
    """
    known: dict[str, Evaluated] = {}
    for _, _, event in read_events(fork.journal, only=(Evaluated,)):
        assert isinstance(event, Evaluated), "no others are read"
        known.setdefault(event.source, event)
    template = next(iter(known.values()))  # it comes before all candidates
    _refuse_other(source, template, await judge.evaluate(template.source))  # most changes show here, for one program
    verdicts = await asyncio.gather(*map(judge.evaluate, known))
    for first, verdict in zip(known.values(), verdicts, strict=True):
        _refuse_other(source, first, verdict)


def _refuse_other(source: RunFolder, event: Evaluated, verdict: Verdict | Failure) -> None:
    if isinstance(verdict, Failure):
        if verdict.reason in TIMED:  # which depend on the machine, and on the fork's own limits
            return
        now = f"it fails now ({verdict.reason}: {verdict.message})"
    elif (verdict.score, verdict.scores) != (event.score, event.scores):
        now = f"its score was {event.score!r} and is {verdict.score!r}"
    elif pack_states(verdict.trajectories) != pack_states(event.trajectories):
        now = "its behaviour is another"
    else:
        return
    named = "the template" if event.candidate == TEMPLATE else f"candidate {event.candidate}"
    raise UsageError(
        f"a fork keeps scores and behaviours, and the changed task judges {named} of {source.run} otherwise: {now}; "
        f"put it back, or start a new run, which tries its best programs first, with --start-with {source.argument}"
    )


def _elsewhere(first: Settings, now: Settings) -> Settings:
    """Return `first` with the files of `now` where both name one: files are identified by their hash, not path.

    That of a method or proposer keeps its name: a fork, which may have a changed method, has no other one.
    """
    pairs = {part: (getattr(first, part), getattr(now, part)) for part in (*PARTS, "proposer")}
    moved = {
        part: is_now
        for part, (was, is_now) in pairs.items()
        if was.endswith((".py", ".toml")) and is_now.endswith((".py", ".toml"))
        if part == "task" or Path(was).name == Path(is_now).name
    }
    return first.model_copy(update=moved)


def _opening(folder: RunFolder) -> RunStarted | RunForked:
    """Return the last start or fork of a run; raises UsageError if it was killed before it began."""
    found = [event for _, _, event in read_events(folder.journal, only=(RunStarted, RunForked))]
    if not found or not isinstance(found[-1], RunStarted | RunForked):
        raise UsageError(f"run {folder.run} ended before it began; remove {folder.path}, and start it again")
    return found[-1]


def method_of_run(settings: Settings, task: Task) -> Method[Any]:
    """Return the method of a run.

    Raises UsageError if its method or its proposer is not installed, or its prompts' wording cannot be loaded.
    """
    return method_of(settings, task, takes_notes(settings))


def further_of_run(settings: Settings, task: Task) -> int:
    """Return how many search instances beyond the split's a run needs: those of its race, and those of tuning."""
    return settings.race + (Grounds.of(task, settings.race).extra if settings.tune else 0)


def run_provenance(settings: Settings, task: Task) -> dict[str, str]:
    """Return the provenance of a run with these settings: hashes by part and versions by software.

    Raises UsageError if the method, the proposer or the wording cannot be loaded. Raises TaskError if the instances
    cannot be hashed. Raises OSError if the file of the task, method or proposer is gone.
    """
    parts = provenance(task, method=method_type(settings.method), proposer=proposer_type(settings.proposer))
    if count := further_of_run(settings, task):
        parts["further instances"] = value_hash(further_instances(task, "search", count))
    wording = wording_hash(settings.prompts)
    return parts | {"prompts": wording} if wording else parts


# The settings of a run as a person gives them: flags, `--set`, a file and the defaults.


def settings_from_person(
    flags: Mapping[str, Any],
    assignments: list[str] | None = None,
    file: Path | None = None,
    task: Task | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Settings:
    """Return the settings of a new run: flags beat `--set`, then the `--config` file, then the defaults.

    flags: settings by name; those that are None were not given. assignments: texts "key=value". file: a TOML file.
    Among the defaults, the task's budget and time limit beat `defaults`, and these beat what the method suggests for
    the task.

    Raises UsageError for a setting that does not fit or that the run does not have, and for a text without "=". It is
    also raised if a file cannot be read, or a method or proposer cannot be loaded.
    """
    given = {
        **(defaults or {}),
        **({} if task is None else {"budget": task.budget, "timeout_s": task.timeout_s}),
        **(read_toml(file) if file else {}),
        **_changes(flags, assignments),
    }
    for part in ("method", "proposer"):
        if isinstance(given.get(part), str):
            given[part] = absolute(given[part])
    if isinstance(given.get("prompts"), str):
        given["prompts"] = absolute_wording(given["prompts"])
    budget = given.get("budget", Settings.model_fields["budget"].default)
    if task is not None and isinstance(budget, int) and budget > 0:  # another is refused by its own name
        given = {**_suited(task, budget, name_of_part(given, "method")), **given}
    return _from_person(given)


def _suited(task: Task, budget: int, method: str) -> dict[str, Any]:
    """Return by name the defaults that depend on the task or the budget, those of every run and those of a method."""
    of_method = method_type(method).settings_type.suited(task, budget)
    return {**suited_to_budget(Settings.model_fields, budget), **of_method}


def chosen_by_budget(settings: Settings, task: Task) -> dict[str, Any]:
    """Return by name the settings that have the value which the budget suggests, where a full budget suggests another.

    They are in the order of BUDGET_DEFAULTS. Raises UsageError if the method cannot be loaded.
    """
    small, full = (_suited(task, budget, settings.method) for budget in (settings.budget, FULL_BUDGET))
    values = settings.named()
    names = [each.setting for each in BUDGET_DEFAULTS if each.setting in small]
    return {name: small[name] for name in names if values.get(name) == small[name] != full[name]}


def changed_settings(settings: Settings, flags: Mapping[str, Any], assignments: list[str] | None = None) -> Settings:
    """Return settings with changes from flags and "key=value" texts; flags that are None were not given.

    Settings that only a replaced method or proposer has are dropped. Raises UsageError for a setting that does not fit
    or that the run does not have, a text without "=", or a method or proposer that cannot be loaded.
    """
    changes = _changes(flags, assignments)
    before = settings.flat()
    known = {name for owner in owners_in({**before, **changes}) for name in owner.settings}
    return _from_person({**{name: value for name, value in before.items() if name in known}, **changes})


def _changes(flags: Mapping[str, Any], assignments: list[str] | None) -> dict[str, Any]:
    given = {key: value for key, value in flags.items() if value is not None}
    return {**dict(map(_assignment, assignments or ())), **given}


def _assignment(text: str) -> tuple[str, Any]:
    """Return a setting and its value from `key=value`; a value that is no TOML is text. Raises UsageError without =."""
    key, separator, value = text.partition("=")
    if not separator:
        raise UsageError(f"--set takes key=value, not {text!r}")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def _from_person(values: Mapping[str, Any]) -> Settings:
    """Return settings from plain values by name; raises UsageError for one that is wrong or that files cannot keep."""
    # A user's method or proposer may declare any name and type, and pydantic does not check defaults.
    owners = owners_in(values)
    _refuse_shared_names(owners)
    _, *parts = owners
    settings = settings_from_values(values, *parts)
    kept = {name: value for name, value in settings.flat().items() if _is_kept(value)}
    named = settings.named()
    for name, value in values.items():
        if isinstance(value, bool) and isinstance(named[name], int | float) and not isinstance(named[name], bool):
            raise UsageError(f"setting {name} should be a number, not {str(value).lower()}")  # pydantic takes it for 1
    lost = [name for name, value in named.items() if value is not None and name not in kept]  # the files leave out None
    if not lost:
        again = settings_from_values(kept, *parts).named()
        lost = [name for name, value in named.items() if again[name] != value]
    if lost:
        raise UsageError(
            f"setting {lost[0]} cannot be {named[lost[0]]!r}, which the run's files would not give back; "
            "use a finite number, text, or a list or table of them"
        )
    return settings


def _refuse_shared_names(owners: Sequence[Owner]) -> None:
    # Names are flat, in files and on the command line: one value would set both, and the journal would hold one of two.
    taken: dict[str, str] = {}
    for owner in owners:
        for name in owner.options.model_fields if owner.options else ():
            if name in taken:
                raise UsageError(
                    f"{owner.name} has a setting {name!r}, as {taken[name]} has; rename it in the file that is yours, "
                    "so that one value does not set both"
                )
            taken[name] = owner.name


def _is_kept(value: Any) -> bool:
    """Whether TOML and JSON both give a value back as it is: None, NaN, infinity and lone surrogates are lost."""
    import tomli_w

    try:
        text = tomli_w.dumps({"value": value}).encode().decode()
        return bool(tomllib.loads(text)["value"] == value == from_json(to_json(value), allow_inf_nan=False))
    except (TypeError, ValueError):
        return False
