"""Reads an experiment's file, plans its runs, and estimates what they cost before any money is spent."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import comb
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from behavesim.analysis.comparison import too_few
from behavesim.application.evaluator_task import understanding
from behavesim.application.launch import task_settings
from behavesim.base.config import OWN, Settings, read_toml
from behavesim.base.errors import UsageError, nearest
from behavesim.base.text import validation_message
from behavesim.base.tokens import Tokens, Usage
from behavesim.engine.admission import refuse_unfit, refuse_unpriced, refuse_unsuited
from behavesim.engine.build import Launch, evaluate_template, first_prompt, judge_of
from behavesim.evaluators.evaluation import EvaluatorJudge
from behavesim.methods.method import method_of, method_type
from behavesim.prompts.prompts import Prompts, without_placeholders
from behavesim.proposers.prices import PriceList, Prices
from behavesim.proposers.proposer import models_asked, proposer_type, takes_notes
from behavesim.sandbox.limits import Limits
from behavesim.state.protocols import Judge
from behavesim.state.settings import is_foreign, owners
from behavesim.store.database import progress
from behavesim.task import Task, TaskReference
from behavesim.task.evaluated import EvaluatorTask

# Largest number of seeds: a slip of some zeros would fill the memory with runs before anything is said.
MOST_SEEDS = 10_000
# Longest name of an experiment or a run, in UTF-8 bytes: files take 255, and the log's name is longer than the run's.
LONGEST_NAME = 240
# How many seeds there are, counted from 0, or a list of the seeds themselves.
Seeds = Annotated[int, Field(ge=1, le=MOST_SEEDS)] | Annotated[list[int], Field(min_length=1)]

# Settings that an experiment sets itself for each run, and where its file says them. A variant may set the method.
ELSEWHERE: Mapping[str, str] = {
    "seed": "the key `seeds`",
    "task": "the key `tasks`",
    "label": "the `name` of a variant",
    "method": "the key `methods`",
}


def _checked_seeds(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Return the seeds as `read` does; raises ValueError in words where pydantic would name three kinds of types."""
    try:
        return read(value)
    except ValidationError:
        number = f"a whole number from 1 to {MOST_SEEDS}"
        wanted = f"{number}, a list of whole numbers, or a table with one of these for each task"
        raise ValueError(f"should be {wanted}") from None


def _checked_name(name: str) -> str:
    if not re.fullmatch(r"\w[\w.+-]*", name) or len(name.encode()) > LONGEST_NAME:
        rule = "letters, digits and . _ + -, of which . + - do not stand first"
        raise ValueError(f"should be made of at most {LONGEST_NAME} {rule}")
    return name


def _checked_label(name: str) -> str:
    if not name or name != name.strip():
        raise ValueError("should be text without white space at its ends")
    return name


class Variant(BaseModel):
    """A named set of settings that distinguishes a group of runs from other groups."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, AfterValidator(_checked_label)]
    """The group's label. If the variant is combined with several methods, the label is the method's name followed by
    this."""
    settings: Mapping[str, Any] = {}
    """Settings of the group's runs by name; they override those of the experiment."""


class Experiment(BaseModel):
    """What an experiment's file says: every task is run with every method, variant and seed.

    A variant whose settings have a `method` is not combined with `methods`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, AfterValidator(_checked_name)]
    """Name of the folder of the runs: letters, digits and . _ + -, of which . + - do not stand first."""
    tasks: list[str] = Field(min_length=1)
    """Names of tasks, or paths of task files."""
    methods: list[str] = []
    """Names of methods, or paths of method files; none is needed if every variant names its method."""
    seeds: Annotated[Seeds | Mapping[str, Seeds], WrapValidator(_checked_seeds)] = 3
    """The seeds of all tasks, or the seeds of each task by its name. The number 3 stands for the seeds 0, 1 and 2."""
    settings: Mapping[str, Any] = {}
    """Settings for all runs; each run takes those that its method and proposer have."""
    task_settings: Mapping[str, Mapping[str, Any]] = {}
    """Settings for the runs on one task, keyed by task; they override `settings`."""
    variant: list[Variant] = []
    """The tables `[[variant]]` of the file; each adds a group of runs, or one for each of `methods`."""
    tests: list[tuple[str, str]] | None = None
    """Pairs of labels of groups whose difference is tested for significance; None tests all pairs."""
    tests_unfinished: bool = False
    """Whether runs that a cap or a person ended before their budget was spent are tested beside the others."""
    held_out: bool = True
    """Whether the report evaluates the best programs of each run on held-out instances."""
    metrics: list[str] = []
    """Paths of metric files, and names such as `candidates_to_gap_5`, used beside the installed metrics."""


@dataclass(frozen=True)
class Planned:
    """One run of an experiment: the name of its folder, and its complete settings."""

    name: str
    settings: Settings


# Runs that differ only in their task and seed: their label, and settings by name, of which one is the method.
Group = tuple[str, Mapping[str, Any]]


def read_experiment(path: Path) -> Experiment:
    """Read an experiment's file; raises UsageError, in one line, if it cannot be read or is not valid."""
    try:
        experiment = Experiment.model_validate(read_toml(path, "experiment file"))
    except ValidationError as error:
        if (first := error.errors()[0])["type"] == "extra_forbidden":
            key = ".".join(map(str, first["loc"]))
            raise UsageError(f"the experiment {path} has no key {key!r}; {_hint_for_key(first['loc'])}") from None
        raise UsageError(f"the experiment {path}: {validation_message(error)}") from None
    for task in experiment.task_settings:
        if task not in experiment.tasks:
            raise UsageError(
                f"the experiment {path} has settings for task {task!r}; its tasks are {', '.join(experiment.tasks)}"
            )
    known = {label for label, _ in groups(experiment)}
    if not known:
        raise UsageError(f"the experiment {path} names no method: give `methods`, or one in each variant")
    for label in [label for pair in experiment.tests or [] for label in pair]:
        if label not in known:
            raise UsageError(f"the experiment {path} tests {label!r}; its groups are {', '.join(sorted(known))}")
    for one, other in experiment.tests or []:
        if one == other:
            raise UsageError(f"the experiment {path} tests {one!r} against itself; name two groups")
    return experiment


def _hint_for_key(place: tuple[int | str, ...]) -> str:
    key, known = str(place[-1]), list(Experiment.model_fields if len(place) == 1 else Variant.model_fields)
    if key in OWN or any(owner.options and key in owner.options.model_fields for owner in owners()):
        return "a setting belongs in `settings`"
    return nearest(key, known) or f"there are {', '.join(known)}"


def plan(experiment: Experiment, proposer: str) -> list[Planned]:
    """Return all runs, ordered by seed, so that an interrupted experiment has runs of every group.

    `proposer` is used if the experiment names none. Raises TaskError if a task cannot be loaded, UsageError if a
    setting does not fit or belongs to no run, `seeds` lacks a task, or two runs would have one name or equal settings.
    """
    _refuse_own(experiment)
    common = {"proposer": proposer, **experiment.settings}
    runs = [
        _plan_run(task, group, seed, {**common, **experiment.task_settings.get(task, {})})
        for seed in sorted({seed for task in experiment.tasks for seed in _seeds(experiment, task)})
        for task in experiment.tasks
        if seed in _seeds(experiment, task)
        for group in groups(experiment)
    ]
    # each run takes the settings that fit it, so a misspelt one would go unnoticed
    known = {key for run in runs for key in run.settings.flat()}
    for key in chain(experiment.settings, *experiment.task_settings.values()):
        if runs and key not in known:
            raise UsageError(
                f"no run of the experiment has a setting {key!r}: it belongs to other methods or proposers"
            )
    twice = [name for name, times in Counter(run.name for run in runs).items() if times > 1]
    if twice:
        raise UsageError(
            f"two runs of the experiment would be called {twice[0]}; name each task, method and variant once"
        )
    if long := [run.name for run in runs if len(run.name.encode()) > LONGEST_NAME]:
        raise UsageError(
            f"the name of the run {long[0][:50]}… has more than {LONGEST_NAME} bytes; shorten its variant's"
        )
    _refuse_twins(runs)
    return runs


def _refuse_own(experiment: Experiment) -> None:
    common = [key for settings in (experiment.settings, *experiment.task_settings.values()) for key in settings]
    own = [key for variant in experiment.variant for key in variant.settings if key != "method"]
    for key in (*common, *own):
        if key in ELSEWHERE:
            raise UsageError(f"the settings of an experiment cannot hold {key!r}; {ELSEWHERE[key]} says it instead")


def _refuse_twins(runs: Sequence[Planned]) -> None:
    """Raise UsageError if runs of two groups differ only in label and `Adjustable` settings: they would count twice."""
    seen: dict[str, str] = {}
    for run in runs:
        settings = run.settings
        first = seen.setdefault(json.dumps(settings.decisive(), sort_keys=True), settings.label)
        if first != settings.label:
            twins = f"the groups {first!r} and {settings.label!r} have the same settings"
            raise UsageError(f"{twins} on {settings.task}; leave one out")


def groups(experiment: Experiment) -> list[Group]:
    """Return the groups of runs: every method with every variant that names no method, then the other variants.

    If all variants name a method, each method is also a group of its own.
    """
    free = [variant for variant in experiment.variant if "method" not in variant.settings]
    bound: list[Group] = [(variant.name, variant.settings) for variant in experiment.variant if variant not in free]
    if not free:
        return [*((method, {"method": method}) for method in experiment.methods), *bound]
    is_alone = len(experiment.methods) == 1
    crossed: list[Group] = [
        (variant.name if is_alone else f"{method} {variant.name}", {"method": method, **variant.settings})
        for method in experiment.methods
        for variant in free
    ]
    return [*crossed, *bound]


def too_few_seeds(experiment: Experiment, planned: Sequence[Planned]) -> str:
    """Return a sentence if no test of two groups of the smallest size can be significant; "" if one can."""
    groups: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for run in planned:
        same = {name: value for name, value in run.settings.decisive().items() if name != "seed"}
        groups[run.settings.task][json.dumps(same, sort_keys=True)] += 1
    pairs = [comb(len(sizes), 2) if experiment.tests is None else len(experiment.tests) for sizes in groups.values()]
    least = min((size for sizes in groups.values() for size in sizes.values()), default=0)
    return too_few(least, sum(pairs))


def _seeds(experiment: Experiment, task: str) -> Sequence[int]:
    seeds = experiment.seeds
    if isinstance(seeds, Mapping):
        if task not in seeds:
            raise UsageError(f"the experiment {experiment.name} has no seeds for task {task!r}; say how many")
        seeds = seeds[task]
    return range(seeds) if isinstance(seeds, int) else seeds


def _plan_run(task: str, group: Group, seed: int, common: Mapping[str, Any]) -> Planned:
    label, given = group
    named = {**common, **given}
    fitting = {key: value for key, value in common.items() if not is_foreign(key, named)}
    settings, loaded = task_settings(task, {**fitting, **given, "seed": seed, "label": label})
    stem = re.sub(r"[^\w.+-]+", "-", f"{loaded.name}-{label}")
    return Planned(f"{stem}-seed{seed}", settings)


# An estimate of requests, tokens and cost, made before any money is spent.


# Number of tokens of a reply, reasoning included, that is assumed while no run of the experiment has a reply.
COMPLETION = 2500
# Assumed length of a program in a prompt (bytes): a multiple of the template's, and at least PROGRAM. Models' programs
# in the recorded searches have 1.6 to 17 thousand bytes on average, two to sixteen times their templates.
GROWTH, PROGRAM = 3, 2000
# Bytes of a prompt that a token is taken to have; models count 2.6 to 4.5. What has no count is charged at 2.
TOKEN = 3


@dataclass(frozen=True)
class CostEstimate:
    """The expected requests, tokens and cost of runs."""

    # The models that may be asked.
    models: tuple[str, ...]
    # The expected number of requests and of tokens, for all runs together.
    tokens: Tokens
    # The cost in USD at the most expensive model's price; None if a price is unknown.
    cost_usd: float | None
    # The number of earlier requests whose mean tokens were used; 0 means that the tokens are guessed.
    answered: int

    @property
    def sentence(self) -> str:
        """The estimate as a text, with what it is based on in brackets."""
        tokens, answered = self.tokens, self.answered
        price = "at an unknown price" if self.cost_usd is None else f"about ${self.cost_usd:,.2f}"
        source = f"as in the {answered:,} requests so far"
        if not answered:
            each = f"{tokens.prompt / tokens.calls:,.0f} tokens a prompt"
            source = f"guessing {each}, more if programs get long, and {COMPLETION:,} a reply"
        models = ", ".join(self.models) or "the proposer"
        about = f"about {tokens.calls:,} requests to {models}, {tokens.prompt:,} tokens in, {tokens.completion:,} out"
        return f"{about}, {price} ({source})"


def estimate(asking: Sequence[Planned], planned: Sequence[Planned], runs_dir: Path) -> CostEstimate:
    """Estimate what the runs in `asking` will still use, from the requests that the planned runs in `runs_dir` made.

    The settings of its first run name the models and prices.
    """
    journals = {run.name: runs_dir / run.name / "run.db" for run in planned}
    known = {name: progress(journal) for name, journal in journals.items() if journal.exists()}
    calls = sum(run.settings.budget - (known[run.name].registered if run.name in known else 0) for run in asking)
    # requests of this experiment's own runs say more than any guess
    answered = sum(found.calls for found in known.values())
    prompt, completion = round(_prompt_tokens(asking)), COMPLETION
    if answered:
        prompt = round(sum(found.prompt_tokens for found in known.values()) / answered)
        completion = round(sum(found.completion_tokens for found in known.values()) / answered)
    settings = asking[0].settings
    models = models_asked(settings)
    costs = [_cost(settings, model, calls, Usage(prompt, completion=completion)) for model in models]
    known_costs = [cost for cost in costs if cost is not None]
    # which model is asked is drawn for each request, so the dearest one's cost is the most that can be expected
    cost = max(known_costs) if known_costs and len(known_costs) == len(costs) else None
    return CostEstimate(models, Tokens(calls, prompt=calls * prompt, completion=calls * completion), cost, answered)


def _cost(settings: Settings, model: str, calls: int, each: Usage) -> float | None:
    # The settings name the service tier, and prices that replace those of the price list.
    tier = settings.flat().get("service_tier")
    listed = PriceList(proposer_type(settings.proposer).endpoint()).cost(model, replace(each, tier=tier))
    one = Prices.named(settings.prices).cost(model, Tokens.of([replace(each, cost_usd=listed)]))
    return None if one is None else calls * one


def _prompt_tokens(asking: Sequence[Planned]) -> float:
    # The mean over all prompts. The first of a run, or all (`shows_found`), show the template; later ones have
    # `examples_per_prompt` programs (one if the method has no such setting) in its place, and half of them the best one
    # beside these.
    first: dict[tuple[str, str], tuple[int, int]] = {}  # bytes of the first prompt and of the template in it
    of_runs = []
    for settings in (run.settings for run in asking):
        if (kind := (settings.task, settings.prompts)) not in first:
            task = TaskReference(settings.task).load()
            text = without_placeholders(Prompts.of_run(settings, task).showing_template("template", 0).text)
            first[kind] = len(text.encode()), len(task.template.encode())
        length, template = first[kind]
        own = settings.flat()
        later = length - template + (own.get("examples_per_prompt", 1) + 0.5) * max(PROGRAM, GROWTH * template)
        begun = min(1.0, own.get("n_init", own.get("initial_population", 0)) / settings.budget)
        begun = begun if method_type(settings.method).shows_found else 1.0
        of_runs.append((begun * length + (1 - begun) * later) / TOKEN)
    return fmean(of_runs, [run.settings.budget for run in asking])


# A dry run: finds a run's first prompt, its template's score and its expected cost, without making the run.


# If the template took at least this much CPU time, in seconds, it is not evaluated again to time it: the start of its
# process hardly counts then.
LONG_S = 2.0


@dataclass(frozen=True)
class DryRun:
    """What a dry run found."""

    # The template's score on the search's instances, in the task's unit.
    template_score: float
    # The text of the first prompt; empty if the method asks for nothing at the start.
    prompt: str
    # Expected seconds for evaluating all programs of the budget on the run's workers; of a cluster, one worker is
    # counted. Each program is taken to need as long as a second evaluation of the template, start included, or as the
    # template's CPU time if that is LONG_S or more.
    evaluating_s: float
    # The expected requests, tokens and cost; None for a proposer that costs nothing.
    cost: CostEstimate | None
    # How an evaluator was understood, as facts by name; empty for a task.
    understood: Mapping[str, str] = field(default_factory=dict)


async def dry_run(launch: Launch) -> DryRun:
    """Evaluate the template, make the first prompt and estimate the cost; no folder is made and no request sent.

    Raises TaskError if the template fails or does not suit the measure; UsageError if a cap on cost cannot be kept
    because a price is unknown, or the task has not what a gap or a race needs.
    """
    settings, task = launch.settings, launch.task
    refuse_unfit(settings, task)
    refuse_unpriced(settings)
    writer = proposer_type(settings.proposer)
    async with judge_of(settings, task) as judge:
        template = await evaluate_template(task, judge)
        await asyncio.to_thread(refuse_unsuited, settings, task, template)
        took_s = await _seconds_again(task, judge, template.cpu_s)
        isolation = judge.isolation
        behaviour = judge.behaviour if isinstance(judge, EvaluatorJudge) else ""
    understood = (
        understanding(task.file, template, behaviour, Limits.of(settings)) if isinstance(task, EvaluatorTask) else {}
    )
    method = method_of(settings, task, takes_notes(settings))
    planned = [Planned(launch.folder.run, settings)]
    cost = estimate(planned, planned, launch.folder.path.parent) if writer.costs_money else None
    prompt = first_prompt(settings, task, method, template, isolation)
    return DryRun(template.score, prompt, took_s * settings.budget / settings.workers_here, cost, understood)


async def _seconds_again(task: Task, judge: Judge, cpu_s: float) -> float:
    # They are measured, unless `cpu_s`, its CPU time so far, is LONG_S or more; then they are `cpu_s`.
    if cpu_s >= LONG_S:
        return cpu_s
    began = time.perf_counter()  # CPU time would leave out starting a program, which takes longer than most programs
    await judge.evaluate(task.template)
    return time.perf_counter() - began
