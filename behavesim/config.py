"""The settings of a run: every knob of the search, its unit in its name, its default beside it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticUndefined

from behavesim.errors import UsageError, nearest

if TYPE_CHECKING:
    from behavesim.task import Task

Method = Literal["funsearch", "funsearch+behavesim", "eoh", "eoh+behavesim", "niche", "best-of-n"]
"""How programs are chosen to be shown and kept."""

EohOperator = Literal["e1", "e2", "m1", "m2", "m3"]

_ONE_GROUP = {"islands": 1, "placement": "parent", "p_s1": 0.0, "clustered_start": False, "restart_every": 0}

METHOD_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "funsearch": {"placement": "parent", "p_s1": 0.0, "clustered_start": False, "n_init": 0},
    "funsearch+behavesim": {"placement": "behaviour", "p_s1": 0.5, "clustered_start": True, "n_init": 100},
    "eoh": {**_ONE_GROUP, "n_init": 0, "samples_per_prompt": 1, "selection": "rank"},
    "eoh+behavesim": {**_ONE_GROUP, "n_init": 0, "samples_per_prompt": 1, "selection": "dissimilarity"},
    "niche": {**_ONE_GROUP, "n_init": 100},
    "best-of-n": {**_ONE_GROUP, "n_init": 0, "samples_per_prompt": 1},
}
"""What sets the methods apart: how the archive begins, and where parents and children belong (paper, "Implementation
Details of FunSearch+BehaveSim" and "of EoH+BehaveSim")."""


def _known_proposer(text: str) -> str:
    if text in ("openai", "genetic") or text.startswith("replay:"):
        return text
    raise ValueError("should be 'openai', 'genetic' or 'replay:RUN'")


class Settings(BaseModel):
    """All that a run can be told; frozen, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), use_attribute_docstrings=True)

    label: str = ""
    """A name for the group of runs this one belongs to; it changes nothing else."""
    task: str
    """A task's name, or the path of a task file."""
    method: Method = "funsearch+behavesim"
    """The search method."""
    proposer: Annotated[str, AfterValidator(_known_proposer)] = "genetic"
    """Who writes the programs: openai, genetic (offline), or replay:RUN."""
    genetic_habit: Literal["none", "timid", "biased"] = "none"
    """What the offline proposer has of a model: timid, it mostly changes words; biased, it comes back to few ideas."""
    seed: int = Field(0, ge=0)
    """The seed of every draw."""
    budget: int = Field(2000, ge=1)
    """Candidates to ask for, whatever becomes of them."""
    window: int = Field(64, ge=1)
    """Candidates in flight at most: ticket t is asked for when ticket t - window has been told."""
    repair: int = Field(0, ge=0)
    """Further tries a rejected candidate gets, told why it was rejected."""

    workers: int = Field(1, ge=1)
    """Programs evaluated at once."""
    connections: int = Field(8, ge=1)
    """Requests to the model at once."""
    max_cost_usd: float | None = Field(None, gt=0)
    """Stop asking before more is spent."""
    max_tokens: int | None = Field(None, gt=0)
    """Stop asking before more tokens are used, prompt and completion together."""
    max_calls: int | None = Field(None, gt=0)
    """Stop asking before more requests are made."""
    max_time_s: float | None = Field(None, gt=0)
    """Stop asking after so many active seconds; pauses between sessions do not count."""

    timeout_s: float = Field(50.0, gt=0)
    """CPU seconds a program may take over all instances; the wall clock ends it after 2 x timeout_s + 2."""
    memory_mb: int = Field(2048, ge=64)
    """Memory a program may take beside what the sandbox itself needs."""
    output_mb: int = Field(8, ge=1)
    """Size of what a program may return."""
    allow_weak_isolation: bool = False
    """Run programs where the sandbox cannot be closed."""

    islands: int = Field(10, ge=1)
    """Islands of the archive."""
    examples_per_prompt: int = Field(2, ge=1)
    """Programs a prompt shows."""
    samples_per_prompt: int = Field(2, ge=1)
    """Candidates that share a prompt."""
    n_init: int = Field(100, ge=0)
    """First programs, asked for with the template alone; at most a quarter of the budget unless named."""
    clustered_start: bool = True
    """Group the first programs into islands by behaviour; otherwise deal them out at random."""
    placement: Literal["behaviour", "parent", "random"] = "behaviour"
    """The island a program joins: the most alike on average, its better parent's, or a random one."""
    p_s1: float = Field(0.5, ge=0, le=1)
    """The chance that a prompt's examples come from different islands (S1) and not from one (S2)."""
    island_choice: Literal["uniform", "rank"] = "uniform"
    """Islands are drawn uniformly, or in proportion to 1 / rank of their best program."""
    keep_worse_than_template: bool = True
    """Keep first programs that are worse than the template."""
    cluster_temperature: float = Field(0.1, gt=0)
    """The temperature of the softmax over clusters, on an island just begun."""
    cluster_temperature_period: int = Field(30_000, ge=1)
    """Registrations over which that temperature falls to zero, and starts again."""
    score_scale: float = Field(1.0, gt=0)
    """The difference in score that counts as one in that softmax; each task has its own."""
    restart_every: int = Field(500, ge=0)
    """Candidates between restarts of the worse half of the islands; 0 is never."""

    population: int = Field(20, ge=2)
    """Programs EoH keeps."""
    operators: tuple[EohOperator, ...] = Field(("e1", "e2", "m1", "m2"), min_length=1)
    """EoH's operators, in turn."""
    selection: Literal["rank", "dissimilarity"] = "rank"
    """EoH's parents and survivors: by rank, or by dominance and dissimilarity (EoH+BehaveSim)."""

    elites: int = Field(30, ge=2)
    """Programs niche draws parents from, at most."""
    niche_radius: float = Field(0.3, ge=0)
    """How different niche's elites are, in units of the median distance; 0 is without similarity."""
    renew_every: int = Field(10, ge=1)
    """Candidates between renewals of niche's elites."""

    recommend: bool = True
    """Choose recommended.py on the validation instances when a run ends."""
    shortlist: int = Field(10, ge=1)
    """Programs evaluated on the validation instances."""
    shortlist_radius: float = Field(0.3, ge=0)
    """How different those are, in units of the median distance."""

    measure: Literal["dtw", "erp", "mean", "cosine"] = "dtw"
    """How trajectories are compared."""
    truncate: float = Field(0.0, ge=0, lt=1)
    """The last part of each trajectory that is left out (the paper's k)."""
    skip: int = Field(0, ge=0)
    """States skipped between two that are kept (the paper's n)."""

    models: Mapping[str, float] = {"gpt-5-nano": 1.0}
    """Models and their weights."""
    temperature: float | None = Field(None, ge=0)
    """The model's sampling temperature; its own default where unset."""
    max_completion_tokens: int | None = Field(None, ge=1)
    """Tokens a reply may take, reasoning included."""
    reasoning_effort: str | None = None
    """How much a reasoning model should think, in its own words."""
    system_prompt: str = ""
    """A system message before every prompt."""
    request_timeout_s: float = Field(300.0, gt=0)
    """Seconds a request may take."""
    extra_body: Mapping[str, Any] = {}
    """Further fields of every request, as the endpoint knows them."""
    prices: Mapping[str, Mapping[str, float]] = {}
    """USD per million tokens by model: prompt, completion and cached."""


HARMLESS = frozenset(
    {"label", "workers", "connections", "max_cost_usd", "max_tokens", "max_calls", "max_time_s"}
    | {"request_timeout_s", "prices", "recommend"}
)
"""Settings that cannot change what a run finds, only how fast, how far or at what price; they may differ on resume."""


def resolve(
    flags: Mapping[str, Any],
    assignments: list[str] | None = None,
    file: Path | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings in force: a flag beats `--set`, which beats the `--config` file, which beats the defaults.

    Flags that are None were not given. `defaults` are the task's own. Raises UsageError in one line.
    """
    given = {
        **(read_toml(file) if file else {}),
        **dict(_assignment(text) for text in assignments or []),
        **{key: value for key, value in flags.items() if value is not None},
    }
    method = given.get("method", Settings.model_fields["method"].default)
    merged = {**(defaults or {}), **METHOD_DEFAULTS.get(str(method), {}), **given}
    settings = validated(merged)
    if "n_init" in given:
        return settings
    return settings.model_copy(update={"n_init": min(settings.n_init, settings.budget // 4)})


def amended(settings: Settings, flags: Mapping[str, Any], assignments: list[str] | None = None) -> Settings:
    """Settings with some of them changed; flags that are None were not given. Raises UsageError in one line."""
    changes = {key: value for key, value in flags.items() if value is not None}
    return validated({**settings.model_dump(), **dict(_assignment(text) for text in assignments or []), **changes})


def task_defaults(task: Task) -> dict[str, Any]:
    """The settings whose defaults are a task's own."""
    return {"budget": task.budget, "score_scale": task.score_scale, "niche_radius": task.niche_radius}


def validated(values: Mapping[str, Any]) -> Settings:
    """Settings from plain values; raises UsageError that names the first offending key and its nearest known one."""
    try:
        return Settings.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise UsageError(_unknown(key)) from None
        wanted = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        raise UsageError(f"setting {key} {wanted}, not {first['input']!r}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """A settings file's table; raises UsageError where it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the settings file {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the settings file {path} is not TOML: {error}") from None


def described() -> list[tuple[str, str, str]]:
    """Every setting with its default, as TOML would have it, and what it does; one that has no default is required."""
    fields = Settings.model_fields.items()
    return [(name, _default(field.get_default()), field.description or "") for name, field in fields]


def _default(value: Any) -> str:
    """A default for people: what is unset or required is empty."""
    if value is None or value is PydanticUndefined:
        return ""
    return json.dumps(value) if isinstance(value, bool | dict | list | tuple) else str(value)


def differences(ours: Settings, theirs: Settings) -> dict[str, tuple[Any, Any]]:
    """The settings that differ and could change what a run finds, each with both values."""
    pairs = ((key, getattr(ours, key), getattr(theirs, key)) for key in Settings.model_fields if key not in HARMLESS)
    return {key: (a, b) for key, a, b in pairs if a != b}


def _assignment(text: str) -> tuple[str, Any]:
    key, separator, value = text.partition("=")
    if not separator:
        raise UsageError(f"--set takes key=value, not {text!r}")
    if key.strip() not in Settings.model_fields:
        raise UsageError(_unknown(key.strip()))
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def _unknown(key: str) -> str:
    hint = nearest(key, Settings.model_fields) or "`behavesim settings` lists them all"
    return f"there is no setting {key!r}; {hint}"
