"""The settings of a run: every knob of the search, its unit in its name, its default beside it."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, ValidationError
from pydantic_core import PydanticUndefined, from_json, to_json

from behavesim.base.errors import UsageError
from behavesim.base.text_file import read_text_file


class Options(BaseModel):
    """Settings of one owner; frozen, unknown keys are refused, and the docstring below a setting says what it does."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), allow_inf_nan=False)


T = TypeVar("T", bound=Options)
Value = TypeVar("Value")

ADJUSTABLE = "adjustable"
Adjustable = Annotated[Value, ADJUSTABLE]
"""A setting that changes how fast, how far or at what price a run goes, not what it finds; `resume` can change it."""


class Settings(Options):
    """All settings of a run: those of every run, and those of its method and its proposer. Names are flat."""

    label: Adjustable[str] = ""
    """Name of the group that this run belongs to; it has no other effect."""
    task: str
    """A task's name, or the path of a task file."""
    method: str = "funsearch+behavesim"
    """The search method, which chooses the programs to show and to keep: a name or a file's path."""
    proposer: str = "genetic"
    """Who writes the programs: openai, genetic (offline), command:CMD, folder:DIR, replay:RUN, or a proposer file."""
    seed: int = Field(0, ge=0)
    """Seed of all random numbers of the search."""
    budget: int = Field(2000, ge=1)
    """Number of programs to generate, including rejected ones."""
    window: int = Field(64, ge=1)
    """Most candidates open at once: candidate t is asked for once candidate t - window is registered."""
    start_with: str = ""
    """Programs to try first: a folder of programs, or a run, whose ten best are taken. Each replaces one request."""
    repair: int = Field(0, ge=0)
    """Number of further tries for a rejected candidate; the prompt says why it was rejected."""

    prompts: str = "full"
    """Wording of the prompts: full, paper (without the task's contract), or a folder with your own texts."""
    prompt_feedback: Literal["none", "scores", "behaviour"] = "scores"
    """What prompts say about the programs they show: nothing, scores, or also the step where behaviours differ."""
    prompt_times: bool = False
    """Show CPU times beside the scores in prompts. Prompts then depend on the speed of the machine."""
    prompt_angles: bool = False
    """Give each of the first prompts another starting idea, for models that repeat themselves."""

    workers: Adjustable[int] = Field(1, ge=1)
    """Programs evaluated at once."""
    connections: Adjustable[int] = Field(8, ge=1)
    """Most requests to the model at once."""
    max_cost_usd: Adjustable[float | None] = Field(None, gt=0)
    """Send no request that could bring the run's cost above this (USD)."""
    max_tokens: Adjustable[int | None] = Field(None, gt=0)
    """Send no request that could bring the run's tokens above this, prompt and completion together."""
    max_calls: Adjustable[int | None] = Field(None, gt=0)
    """Most requests to the model, over all sessions of the run."""
    max_time_s: Adjustable[float | None] = Field(None, gt=0)
    """End the run after this many active seconds, with what is under way; pauses between sessions do not count."""
    max_rejected_share: Adjustable[float] = Field(0.95, ge=0, le=1)
    """End the run when more than this share of the last 50 to 100 candidates was rejected; 1 means never."""

    timeout_s: float = Field(50.0, gt=0)
    """CPU seconds that a program may take over all search instances. By the clock it may take twice that and 2 s more,
    without the time in which it waits for a core. On other instances it gets the same time for each instance, and at
    least as much in total as in the search."""
    memory_mb: int = Field(2048, ge=64)
    """Memory that a program may take, in MB, in addition to what the sandbox needs."""
    output_mb: int = Field(8, ge=1)
    """Largest size of what a program returns, in MB."""
    allow_weak_isolation: bool = False
    """Run programs although this machine cannot isolate them fully."""

    recommend: Adjustable[bool] = True
    """Choose recommended.py on the validation instances when a run ends."""
    shortlist: int = Field(10, ge=1)
    """Number of programs evaluated on the validation instances."""
    shortlist_radius: float = Field(0.3, ge=0)
    """Smallest distance between any two of them, as a multiple of the median distance."""

    measure: Literal["dtw", "erp", "mean", "cosine"] = "dtw"
    """How the distances of states become a similarity of trajectories."""
    truncate: float = Field(0.0, ge=0, lt=1)
    """Fraction of each trajectory's end that is left out, from 0 to 1 (the paper's k)."""
    skip: int = Field(0, ge=0)
    """Number of states skipped between two that are compared (the paper's n)."""
    normaliser: Literal["constant", "pair"] = "constant"
    """What distances are divided by: the task's constant if it has one, or the longer solution's length."""

    prices: Adjustable[Mapping[str, Mapping[str, float]]] = {}
    """USD per million tokens by model: prompt, completion, cached, cache_write. They replace list prices."""

    of_method: SerializeAsAny[Options] = Field(Options(), exclude=True)
    of_proposer: SerializeAsAny[Options] = Field(Options(), exclude=True)

    def flat(self) -> dict[str, Any]:
        """Return every setting by its name, as plain values for JSON and TOML."""
        return {name: value for part in self._parts for name, value in part.model_dump(mode="json").items()}

    def decisive(self) -> dict[str, Any]:
        """Return the settings of `flat` that could change what the run finds: all that are not adjustable."""
        fields = {name: field for part in self._parts for name, field in type(part).model_fields.items()}
        return {name: value for name, value in self.flat().items() if ADJUSTABLE not in fields[name].metadata}

    def measuring(self, constant: float | Literal["pair"]) -> dict[str, Any]:
        """Return the arguments of `BehaveSim` for this run; `constant` is the task's normaliser."""
        normaliser = "pair" if self.normaliser == "pair" else constant
        return {"normaliser": normaliser, "measure": self.measure, "truncate": self.truncate, "skip": self.skip}

    @property
    def _parts(self) -> tuple[Options, Options, Options]:
        return self, self.of_method, self.of_proposer


OWN = frozenset(Settings.model_fields) - {"of_method", "of_proposer"}
"""Names of the settings that every run has."""


@dataclass(frozen=True)
class Owner:
    """The part that settings belong to, named as in "method eoh"; `options` is None if the part is not installed."""

    name: str
    options: type[Options] | None


def validated(values: Mapping[str, Any], method: Owner, proposer: Owner) -> Settings:
    """Return settings from plain values by flat names; raises UsageError naming the first that does not fit.

    If an owner's options are None, unknown settings are ignored: they may be that owner's.
    """
    rest = {key: value for key, value in values.items() if key not in OWN}
    parts = {"of_method": method, "of_proposer": proposer}
    of: dict[str, Options] = {}
    for part, owner in parts.items():
        names = set(owner.options.model_fields) if owner.options else set()
        taken = {key: rest.pop(key) for key in list(rest) if key in names}
        of[part] = _checked(owner.options or Options, taken)
    if rest and method.options and proposer.options:
        raise UnknownSetting(next(iter(rest)))
    return _checked(Settings, {**{key: value for key, value in values.items() if key in OWN}, **of})


def lost_in_files(settings: Settings, method: Owner, proposer: Owner) -> tuple[str, Any] | None:
    """Return the first setting, and its value, that a run could not read back from its TOML file or its journal.

    None if there is none. Own methods and proposers may declare any type, and pydantic does not check defaults.
    """
    flat = settings.flat()
    values = {name: value for part in settings._parts for name, value in part if name in flat}
    for name, value in values.items():
        if value is not None and not _is_kept(flat[name]):
            return name, value
    again = validated({name: value for name, value in flat.items() if value is not None}, method, proposer)
    back = {name: value for part in again._parts for name, value in part}
    return next(((name, value) for name, value in values.items() if back[name] != value), None)


def _is_kept(value: Any) -> bool:
    """Whether TOML and JSON both give a value back as it is: None, NaN, infinity and lone surrogates are lost."""
    import tomli_w

    try:
        text = tomli_w.dumps({"value": value}).encode().decode()
        return bool(tomllib.loads(text)["value"] == value == from_json(to_json(value), allow_inf_nan=False))
    except (TypeError, ValueError):
        return False


class UnknownSetting(UsageError):
    """A setting that is unknown to every run, to the chosen method and to the chosen proposer."""

    def __init__(self, key: str) -> None:
        super().__init__(f"there is no setting {key!r}; `behavesim settings` lists them all")
        self.key = key


def _checked(model: type[T], values: Mapping[str, Any]) -> T:
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        wanted = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        raise UsageError(f"setting {key} {wanted}, not {first['input']!r}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Return the table of a settings file; raises UsageError where it cannot be read."""
    try:
        return tomllib.loads(read_text_file(path, "settings file"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the settings file {path} is not TOML: {error}") from None


def assignment(text: str) -> tuple[str, Any]:
    """Return a setting and its value from `key=value`; the value is TOML, else text. Raises UsageError."""
    key, separator, value = text.partition("=")
    if not separator:
        raise UsageError(f"--set takes key=value, not {text!r}")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


def described(options: type[Options]) -> list[tuple[str, str, str]]:
    """Return name, default and description of every setting of an owner; a required setting has the default ''."""
    said = dict(pair for owner in reversed(options.__mro__) if issubclass(owner, Options) for pair in _said(owner))
    fields = options.model_fields.items()
    return [(name, _default(field.get_default()), said.get(name, "")) for name, field in fields if not field.exclude]


def _said(options: type[Options]) -> Iterator[tuple[str, str]]:
    """Yield each setting of a class and the docstring below it; read from the source, as Python does not keep it."""
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(options))).body
    except OSError:  # nobody has its source
        return
    assert isinstance(definition, ast.ClassDef), "settings are a class"
    for setting, text in pairwise(definition.body):
        if isinstance(setting, ast.AnnAssign) and isinstance(setting.target, ast.Name) and isinstance(text, ast.Expr):
            yield setting.target.id, inspect.cleandoc(ast.literal_eval(text.value))


def _default(value: Any) -> str:
    """Return a default as people write it; '' where it is unset or required."""
    if value is None or value is PydanticUndefined:
        return ""
    return json.dumps(value) if isinstance(value, bool | dict | list | tuple) else str(value)


def differences(ours: Settings, theirs: Settings) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ and could change what a run finds, each with both values."""
    left, right = ours.decisive(), theirs.decisive()
    return {name: (left.get(name), right.get(name)) for name in left | right if left.get(name) != right.get(name)}
