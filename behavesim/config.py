"""The settings of a run: every knob of the search, its unit in its name, its default beside it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from behavesim.errors import UsageError

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

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    task: str
    method: Method = "funsearch+behavesim"
    proposer: Annotated[str, AfterValidator(_known_proposer)] = "genetic"
    seed: int = Field(0, ge=0)
    budget: int = Field(2000, ge=1)
    window: int = Field(64, ge=1)
    repair: int = Field(0, ge=0)

    workers: int = Field(1, ge=1)
    connections: int = Field(8, ge=1)
    max_cost_usd: float | None = Field(None, gt=0)
    max_tokens: int | None = Field(None, gt=0)
    max_calls: int | None = Field(None, gt=0)
    max_time_s: float | None = Field(None, gt=0)

    timeout_s: float = Field(50.0, gt=0)
    memory_mb: int = Field(2048, ge=64)
    output_mb: int = Field(8, ge=1)
    allow_weak_isolation: bool = False

    islands: int = Field(10, ge=1)
    examples_per_prompt: int = Field(2, ge=1)
    samples_per_prompt: int = Field(2, ge=1)
    n_init: int = Field(100, ge=0)
    clustered_start: bool = True
    placement: Literal["behaviour", "parent", "random"] = "behaviour"
    p_s1: float = Field(0.5, ge=0, le=1)
    island_choice: Literal["uniform", "rank"] = "uniform"
    keep_worse_than_template: bool = True
    cluster_temperature: float = Field(0.1, gt=0)
    cluster_temperature_period: int = Field(30_000, ge=1)
    score_scale: float = Field(1.0, gt=0)
    restart_every: int = Field(500, ge=0)

    population: int = Field(20, ge=2)
    operators: tuple[EohOperator, ...] = Field(("e1", "e2", "m1", "m2"), min_length=1)
    selection: Literal["rank", "dissimilarity"] = "rank"

    elites: int = Field(30, ge=2)
    niche_radius: float = Field(0.3, ge=0)
    renew_every: int = Field(10, ge=1)

    recommend: bool = True
    shortlist: int = Field(10, ge=1)
    shortlist_radius: float = Field(0.3, ge=0)

    measure: Literal["dtw", "erp", "mean", "cosine"] = "dtw"
    truncate: float = Field(0.0, ge=0, lt=1)
    skip: int = Field(0, ge=0)

    models: Mapping[str, float] = {"gpt-5-nano": 1.0}
    temperature: float | None = Field(None, ge=0)
    max_completion_tokens: int | None = Field(None, ge=1)
    reasoning_effort: str | None = None
    system_prompt: str = ""
    request_timeout_s: float = Field(300.0, gt=0)
    extra_body: Mapping[str, Any] = {}
    prices: Mapping[str, Mapping[str, float]] = {}


HARMLESS = frozenset(
    {"workers", "connections", "max_cost_usd", "max_tokens", "max_calls", "max_time_s", "request_timeout_s", "prices"}
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
    near = difflib.get_close_matches(key, Settings.model_fields, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else "the README lists them all"
    return f"there is no setting {key!r}; {hint}"
