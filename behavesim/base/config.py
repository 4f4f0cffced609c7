"""The settings of a run: their names (with the unit), types, limits, defaults and descriptions."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from behavesim.base.errors import UsageError
from behavesim.base.plugins import definition
from behavesim.base.text import read_text_file


class Options(BaseModel):
    """Base class of the settings of one owner; it is frozen, and refuses unknown keys and infinite or NaN numbers.

    The docstring below a setting is its description, which `describe_settings` reads.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), allow_inf_nan=False)


Value = TypeVar("Value")


class Configurable:
    """Base class of methods and proposers: a part of a run that may have settings of its own."""

    settings_type: ClassVar[type[Options]] = Options
    """The class of its settings; `Options` if it has none of its own."""


# The mark in the pydantic metadata of each setting that is `Adjustable`.
ADJUSTABLE = "adjustable"
# The type of a setting that `resume` may change: it affects speed, caps or prices, not what a run finds.
Adjustable = Annotated[Value, ADJUSTABLE]


def cores() -> int:
    """Return the number of CPU cores that this process may use, or of all cores if the system does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# The pattern of texts that name a Dask cluster: one to be started here, or the address of its scheduler.
CLUSTER = r"^(dask(:[1-9]\d*)?|(dask|tls)://[^/\s]+:\d+)$"


def _checked_workers(value: Any) -> Any:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not is_number and not (isinstance(value, str) and re.match(CLUSTER, value)):
        raise ValueError("should be a number of at least 1, dask, dask:N, dask://HOST:PORT or tls://HOST:PORT")
    return value


# Where programs are evaluated: a number of them at once on this machine, or the name of a Dask cluster.
Workers = Annotated[int | str, BeforeValidator(_checked_workers)]


def _checked_wall(value: str) -> str:
    try:
        shlex.split(value)
    except ValueError as error:
        raise ValueError(f"should be a command as a shell reads it: {error}") from None
    return value


# A command that starts another one, whose words are put behind its own.
Wall = Annotated[str, AfterValidator(_checked_wall)]


class Settings(Options):
    """All settings of a run: those of every run here, its method's in `of_method`, its proposer's in `of_proposer`."""

    label: Adjustable[str] = ""
    """Name of the group of runs with equal settings in comparisons. If empty, its method and the settings that
    differ name it, or, if these are more than two and it is one run, the run's name. It does not decide which runs form
    a group."""
    task: str
    """The task: an installed task's name, or the path of a .py or .toml task file."""
    method: str = "funsearch+behavesim"
    """The search method, which chooses the programs that prompts show and the archive keeps: a name or a .py file."""
    proposer: str = "genetic"
    """What writes the programs: openai, genetic (offline), an assistant (claude, codex, copilot, aider), command:CMD,
    folder:DIR, http:PORT, replay:RUN, or a .py file."""
    seed: int = Field(0, ge=0)
    """Seed of all random numbers of the search."""
    budget: int = Field(2000, ge=1)
    """Number of programs to generate, including rejected ones. If not set, the task's own budget."""
    window: int = Field(64, ge=1)
    """Most candidates in progress at once: candidate t is asked for once candidate t - window is registered. With more,
    prompts know fewer of the latest results. By default a tenth of a budget below 640, at least 2. It does not depend
    on workers or connections."""
    start_with: str = ""
    """Programs to try first: all of a folder in the order of their names, or the ten best of a run; empty for none.
    Each counts towards the budget in place of one request."""
    repair: int = Field(0, ge=0)
    """Most further requests for one rejected candidate; their prompt says why it was rejected. 0 asks for none."""

    race: int = Field(0, ge=0, le=10_000)
    """Judge candidates that could be the best on up to so many further search instances, drawn by number, in blocks
    that double. Scores then are estimates, which can be compared. Needs a task that gives instances by number; 0 for
    none, else at least as many as the search instances."""

    tune: float = Field(0.0, ge=0)
    """Tune the numbers of good programs by so many trials for each candidate asked for; 2 to 5 is a lot, 0 is none. A
    tuned program is a candidate of its own, which the budget does not count."""

    prompts: str = "full"
    """Wording of the prompts: full, paper (without the task's contract), small (short, for small models), or the path
    of a folder of your own texts."""
    prompt_tokens: int | None = Field(None, ge=64)
    """Most tokens of a prompt, at 2 bytes each, a person's advice not counted; parts are left out to fit. If that is
    not enough for a first prompt, the run is refused; a later prompt may still be longer. No limit if not set."""
    prompt_feedback: Literal["none", "scores", "behaviour"] = "scores"
    """What prompts say about the programs they show: nothing; scores, metrics and feedback; or also where two behave
    differently."""
    prompt_times: bool = True
    """Say in prompts what CPU time a program took beside the limit, as a number from a tenth of it on. They then depend
    on the speed of the machine. No effect if prompt_feedback is none."""
    prompt_angles: bool = True
    """Give prompts that show only the template different starting ideas in turn. No effect if prompts=paper."""
    ask_once: bool = True
    """Do not ask the same question twice: if these parents were shown together before, draw others (up to 62 tries).
    Also skip requests that cannot help, such as m2 for programs without constants, or in runs that tune. No effect if
    prompts=paper, or with a proposer that reads no prompts, as genetic. A replay does as its original did, unless
    this is set."""
    ask_each_once: bool = True
    """m1, m2, m3 and ls of EoH and EoH-S use each program of the population once before any is used again. Needs
    ask_once."""

    workers: Adjustable[Workers] = 1
    """Most programs evaluated at once on this machine. A new run takes the number of cores if this is not set. Or a
    Dask cluster: dask or dask:N (N programs at once, on this machine), dask://HOST:PORT, or tls://HOST:PORT with the
    certificates of Dask's configuration."""
    allow_other_workers: bool = False
    """Also run programs on workers of a cluster whose software or processor differs from this machine's; else they are
    refused."""
    connections: Adjustable[int] = Field(8, ge=1)
    """Most requests to the model under way at once."""
    max_cost_usd: Adjustable[float | None] = Field(None, gt=0)
    """Send no request that would bring the run's cost above this (USD) if it cost as much as the dearest so far. No
    limit if not set."""
    max_tokens: Adjustable[int | None] = Field(None, gt=0)
    """Send no request that would bring the run's tokens above this, prompt and completion together, if it took as many
    as the largest so far. No limit if not set."""
    max_calls: Adjustable[int | None] = Field(None, gt=0)
    """Send no request that could bring the run's requests above this, over all sessions, retries included. No limit if
    not set."""
    max_time_s: Adjustable[float | None] = Field(None, gt=0)
    """End the run after this many active seconds over all sessions, without the pauses; no limit if not set. Requests
    under way are given up, and made again if the run is resumed with more time."""
    until_stuck: Adjustable[int | None] = Field(None, ge=1)
    """Send no further request once this many candidates were registered since the last one that was better than all
    before it. No limit if not set."""
    until_gap: Adjustable[float | None] = Field(None, ge=0)
    """Send no further request once the best candidate's score is within this fraction of the best known one: 0.01 is
    1 %, and 0 reaches it. Refused if the task knows no best score. No limit if not set."""
    max_rejected_share: Adjustable[float] = Field(0.95, ge=0, le=1)
    """End the run when more than this share (0 to 1) of the last 100 registered candidates was rejected, once there are
    50; 1 for never."""

    timeout_s: float = Field(50.0, gt=0, le=31_536_000)
    """CPU seconds that a program may take over all search instances, besides the task's `first_call_s`; if not set, the
    task's own limit; at most a year. Wall-clock limit: 2 × (timeout_s + first_call_s) + 2 s; waiting for a core is
    mostly not counted. If other instances, such as the validation instances, are more than those of the search, its
    time grows in proportion."""
    memory_mb: int = Field(2048, ge=64)
    """Memory (MB of 2^20 bytes) that a program may allocate beyond Python and the libraries it starts with."""
    output_mb: int = Field(8, ge=1)
    """Largest size (MB of 2^20 bytes) of a program's solutions on all search instances together."""
    allow_weak_isolation: bool = False
    """Run programs even if this machine isolates them less than "strong"; else the run is refused."""
    wall: Adjustable[Wall] = ""
    """Command through which the processes of the sandbox are started, such as bwrap with its options: your own wall. If
    the self-test finds that it holds, the isolation is at least "walled". None if empty."""
    devices: tuple[str, ...] = ()
    """Paths of devices that an evaluator and its programs may use, such as /dev/nvidia0 and /dev/nvidiactl; none if
    empty. What they leave in a device's memory is out of the sandbox's reach."""

    recommend: Adjustable[bool] = True
    """Evaluate the best programs on the validation instances when a run ends, and write the best to recommended.py."""
    shortlist: int = Field(10, ge=1)
    """Most programs, besides the template, that are evaluated on the validation instances when a run ends."""
    fresh_evaluations: Adjustable[int | None] = Field(None, ge=0)
    """Most evaluations of one program on one fresh instance that choosing the recommended program may cost, if a task
    gives instances without end. None: half of the search's, budget × search instances / 2, at most 1500; 0 where that
    is too little to choose better. 0: choose on search and validation instances, without a certificate."""
    shortlist_radius: float = Field(0.3, ge=0)
    """How different shortlisted programs must be: at least this × the median distance of behaviours. 0: any
    difference."""

    measure: Literal["dtw", "erp", "mean", "cosine"] = "dtw"
    """How two trajectories are compared: dtw (dynamic time warping, the paper's), erp (edit distance with real
    penalty), mean (distance at equal steps) or cosine (of successive steps, for vectors only)."""
    truncate: float = Field(0.0, ge=0, lt=1)
    """Fraction of each trajectory's states that is left out at its end, 0 to below 1 (the paper's k)."""
    skip: int = Field(0, ge=0)
    """Number of states left out between two that are compared (the paper's n); the last one is always kept. Above 0 a
    comparison is not accelerated: some 40 to 500 times slower."""
    normaliser: Literal["constant", "pair"] = "constant"
    """What distances between states are divided by: constant (the task's normaliser), or pair (the length of the longer
    of the two states; not for vectors)."""

    prices: Adjustable[Mapping[str, Mapping[str, float]]] = {}
    """USD per million tokens, by model name: prompt and completion, and optionally cached and cache_write, which
    otherwise cost as much as prompt. They replace the list prices of the models that they name. A name fits the model's
    snapshots too; one that ends in * fits all names that begin so."""

    of_method: SerializeAsAny[Options] = Field(Options(), exclude=True)
    """The settings of the method; empty if it is not installed."""
    of_proposer: SerializeAsAny[Options] = Field(Options(), exclude=True)
    """The settings of the proposer; empty if it is not installed."""

    def flat(self) -> dict[str, Any]:
        """Return every setting by its name, those of method and proposer too, as values that JSON can hold."""
        return {name: value for part in self._parts for name, value in part.model_dump(mode="json").items()}

    @property
    def workers_here(self) -> int:
        """The number of programs evaluated at once on this machine; 1 if the setting names a cluster."""
        return self.workers if isinstance(self.workers, int) else 1

    def decisive(self) -> dict[str, Any]:
        """Return the settings of `flat` that could change what the run finds: all that are not `Adjustable`."""
        fields = {name: field for part in self._parts for name, field in type(part).model_fields.items()}
        return {name: value for name, value in self.flat().items() if ADJUSTABLE not in fields[name].metadata}

    def measuring(self, constant: float | Literal["pair"]) -> dict[str, Any]:
        """Return the keyword arguments of `BehaveSim`; `constant` is the task's normaliser."""
        normaliser = "pair" if self.normaliser == "pair" else constant
        return {"normaliser": normaliser, "measure": self.measure, "truncate": self.truncate, "skip": self.skip}

    def named(self) -> dict[str, Any]:
        """Return the value of every setting as a Python object, those of method and proposer too, by name."""
        return {name: value for part in self._parts for name, value in part if name not in ("of_method", "of_proposer")}

    @property
    def _parts(self) -> tuple[Options, Options, Options]:
        return self, self.of_method, self.of_proposer


@dataclass(frozen=True)
class Owner:
    """A part of runs that has settings, named such as "method eoh"; `options` is None if it is not installed."""

    name: str
    options: type[Options] | None

    @property
    def settings(self) -> frozenset[str]:
        """The names of its settings; empty if it is not installed."""
        fields = self.options.model_fields if self.options else {}
        return frozenset(name for name, field in fields.items() if not field.exclude)


# The owner of the settings that every run has.
RUN = Owner("every run", Settings)
# Names of the settings that every run has.
OWN = RUN.settings


def read_toml(path: Path, kind: str = "settings file") -> dict[str, Any]:
    """Return the values of a TOML file; raises UsageError, which calls it a `kind`, if it cannot be read."""
    try:
        return tomllib.loads(read_text_file(path, kind).removeprefix("\ufeff"))  # which some editors write first
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the {kind} {path} is not TOML: {error}") from None


def describe_settings(options: type[Options]) -> list[tuple[str, str, str]]:
    """Return name, default (as text) and description of every setting of a class, in the order of declaration.

    A default is '' if there is none or it is None; a description is '' if there is none or no source to read.
    """
    said = dict(
        pair for owner in reversed(options.__mro__) if issubclass(owner, Options) for pair in _descriptions(owner)
    )
    fields = options.model_fields.items()
    return [(name, _default(field.get_default()), said.get(name, "")) for name, field in fields if not field.exclude]


def _descriptions(options: type[Options]) -> Iterator[tuple[str, str]]:
    """Yield each setting of a class and the docstring below it on one line; nothing without source."""
    found = definition(options)
    for setting, text in pairwise(found.body if found else ()):
        if isinstance(setting, ast.AnnAssign) and isinstance(setting.target, ast.Name) and isinstance(text, ast.Expr):
            yield setting.target.id, " ".join(ast.literal_eval(text.value).split())


def _default(value: Any) -> str:
    if value is None or value is PydanticUndefined:
        return ""
    return json.dumps(value) if isinstance(value, bool | dict | list | tuple) else str(value)


def differences(ours: Settings, theirs: Settings) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ and are not `Adjustable`, by name, each as (our value, their value or None)."""
    left, right = ours.decisive(), theirs.decisive()
    return {name: (left.get(name), right.get(name)) for name in left | right if left.get(name) != right.get(name)}


# Defaults that follow from the budget: settings made for 2 000 candidates, and what suits fewer.
#
# A person's value always wins. A run keeps the resolved values in its settings, so that a larger budget on resume
# leaves them as they are. `docs/reference/settings.md` has the table.


# The budget (candidates) for which the declared defaults were made, most of them the paper's: from it on they hold.
FULL_BUDGET = 2000


@dataclass(frozen=True)
class BudgetDefault:
    """How the default of a setting follows from a budget below FULL_BUDGET."""

    # Name of the setting, the same in every method that has it.
    setting: str
    # The default as a share of the budget, rounded down.
    share: float
    # Least default, however small the budget is.
    least: int
    # Why it depends on the budget, for people who read the table.
    reason: str

    def value(self, budget: int, declared: int) -> int:
        """Return the default for a budget; it is never above the `declared` one, and equals it from FULL_BUDGET on."""
        if budget >= FULL_BUDGET:
            return declared
        return min(declared, max(self.least, int(self.share * budget)))


# Each is a share of the budget, so that a search of 100 candidates has the same phases as one of 2 000.
BUDGET_DEFAULTS = (
    BudgetDefault(
        "window",
        share=1 / 10,
        least=2,
        reason="A prompt knows no result of the window - 1 candidates before it. A tenth leaves ten rounds of "
        "learning; at least 2 requests go on at once.",
    ),
    BudgetDefault(
        "n_init",
        share=1 / 4,
        least=0,
        reason="Initial programs see the template alone: a quarter leaves most of the budget to the search. A "
        "tenth was no better in a few pilot runs of 30 and 100.",
    ),
    BudgetDefault(
        "initial_population",
        share=1 / 4,
        least=2,
        reason="ReEvo's initial programs see the template alone; pairs of parents come from them.",
    ),
    BudgetDefault(
        "islands",
        share=1 / 50,
        least=1,
        reason="An island learns from its own programs alone, and with few candidates it has few. With 30 candidates "
        "one and two are not told apart on unseen instances, and with one fewer prompts show the same weak program.",
    ),
    BudgetDefault(
        "samples_per_prompt",
        share=1 / 500,
        least=1,
        reason="A second reply to the same prompt cannot know the first. Few requests are better spent on new prompts.",
    ),
    BudgetDefault(
        "population",
        share=1 / 10,
        least=2,
        reason="A population that is still filling up selects nothing: ten times its size leaves time to select.",
    ),
)


def suited_to_budget(
    fields: Mapping[str, FieldInfo], budget: int, fixed: Collection[str] = frozenset()
) -> dict[str, Any]:
    """Return by name the defaults of settings, given as pydantic fields, that suit a budget; without those in `fixed`.

    Settings that BUDGET_DEFAULTS does not name, and those whose declared default is no number, are left out.
    """
    found = {}
    for each in BUDGET_DEFAULTS:
        declared = fields[each.setting].default if each.setting in fields else None
        if isinstance(declared, int) and each.setting not in fixed:
            found[each.setting] = each.value(budget, declared)
    return found
