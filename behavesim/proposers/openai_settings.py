"""Settings of runs that ask a language model, the bodies of their requests, and the grammar for replies."""

from __future__ import annotations

import ast
import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from behavesim.base.config import Adjustable
from behavesim.base.errors import UsageError
from behavesim.base.text import parse
from behavesim.programs.functions import functions_in, signature
from behavesim.proposers.proposer import Chooser, ProposerSettings, best_for_its_price, weighted
from behavesim.proposers.retry import RetryLimits
from behavesim.state.state import RunState
from behavesim.task import Task
from behavesim.task.evaluated import EvaluatorTask

# URL of OpenAI's own endpoint.
OPENAI = "https://api.openai.com/v1"

# Default model: OpenAI's cheapest in November 2026 without an announced shutdown.
MODEL = "gpt-6-luna"

# Third part of the random seed for choosing a model; a number that no other choice about a candidate uses.
MODEL_PURPOSE = 101

# What a reply is held to: nothing, a JSON schema in OpenAI's or in llama.cpp's form, or a grammar (llama.cpp).
ResponseFormat = Literal["text", "json_schema", "json_object", "grammar"]


def base_url() -> str:
    """Return the endpoint's URL: OPENAI_BASE_URL if it is set and not empty, else OpenAI's own."""
    return os.environ.get("OPENAI_BASE_URL") or OPENAI


def has_endpoint() -> bool:
    """Whether the environment names an endpoint (OPENAI_BASE_URL), or a key for OpenAI's own (OPENAI_API_KEY)."""
    return bool(os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"))


class OpenAISettings(ProposerSettings):
    """The settings of a proposer that asks language models through an OpenAI-compatible endpoint.

    Raises ValueError if `batch` and `service_tier` are both set, or if the weights in `models` are not valid.
    """

    models: Mapping[str, float] = {MODEL: 1.0}
    """Models by name, each with a weight of 0 or more: how often it is asked, relative to the others."""
    choose_models: Literal["weights", "bandit"] = "weights"
    """How `models` are chosen: by their weights, or by what they brought so far for each dollar (bandit)."""
    strong_model: str = ""
    """A model for every `strong_every`-th candidate, such as a better and dearer one; empty for none."""
    strong_every: int = Field(10, ge=1)
    """Which candidates `strong_model` writes: with 10, the tenth, the twentieth, and so on."""
    temperature: float | None = Field(None, ge=0)
    """The model's sampling temperature: the higher, the more its replies vary. If unset, the endpoint's default."""
    max_completion_tokens: int | None = Field(None, ge=1)
    """Maximum number of tokens of a reply, reasoning included; if unset, the endpoint's limit."""
    reasoning_effort: str | None = None
    """How much a reasoning model reasons, in the endpoint's words, such as low; if unset, the endpoint's default."""
    system_prompt: str = ""
    """Text of a system message that is sent before every prompt; empty for none."""
    service_tier: Adjustable[str | None] = None
    """The endpoint's service tier, which decides speed and price, such as flex; if unset, the endpoint's default."""
    batch: Adjustable[bool] = False
    """Whether prompts are asked in batches, at half the price with some vendors; replies may take up to 24 hours."""
    request_timeout_s: Adjustable[float | None] = Field(None, gt=0)
    """Time limit of a request in seconds; a slower one is sent again. If unset, 300, or 900 in service tier flex."""
    response_format: ResponseFormat = "text"
    """What replies are held to: text (nothing), json_schema, json_object (with llama.cpp's schema) or grammar
    (llama.cpp's). An endpoint that refuses it is asked without it."""
    extra_body: Mapping[str, Any] = {}
    """Further fields of every request, by the endpoint's own names; they replace fields of the same names."""

    @field_validator("models")
    @classmethod
    def _has_weights(cls, models: Mapping[str, float]) -> Mapping[str, float]:
        if not (all(weight >= 0 for weight in models.values()) and 0 < sum(models.values()) < float("inf")):
            raise ValueError("should give each model a weight of 0 or more, and at least one a weight above 0")
        if not all(name.strip() for name in models):  # as `--model $MODEL` of a variable that is not set
            raise ValueError("should name each model")
        return models

    @field_validator("extra_body")
    @classmethod
    def _replaces_no_prompt(cls, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        if taken := {"model", "messages", "input"} & fields.keys():  # another model has another price
            raise ValueError(f"should leave out {min(taken)!r}, which a run fills in itself (a model is --model NAME)")
        return fields

    @model_validator(mode="after")
    def _has_one_price(self) -> Self:
        if self.batch and self.service_tier:
            raise ValueError("batch has its own price; use it without service_tier")
        return self

    def leaves_requests(self) -> bool:
        """Whether open requests outlive the process: True if prompts are asked in batches."""
        return self.batch

    def models_asked(self) -> tuple[str, ...]:
        """Return the names in `models`, also those with weight 0, and `strong_model`."""
        return tuple(dict.fromkeys((*self.models, *filter(None, [self.strong_model]))))

    def model_of(self, seed: int, number: int, state: RunState | None = None) -> str:
        """Return the model for a candidate or note: `strong_model`, or one drawn with the run's `seed` and `number`.

        It is drawn by weight, or, if a `state` is given, by what the models with a weight above 0 have brought so far.
        """
        if self.strong_model and number >= 0 and (number + 1) % self.strong_every == 0:
            return self.strong_model
        if len(self.models) == 1:
            return next(iter(self.models))
        # A note's number is negative, and a seed must not be.
        rng = np.random.default_rng([seed, number % 2**32, MODEL_PURPOSE])
        if state is None:
            return weighted(self.models, rng)
        return best_for_its_price(state, sorted(model for model, weight in self.models.items() if weight), rng)

    def chooser(self, seed: int) -> Chooser | None:
        """Return what chooses the model of a question by the run's state, for the bandit; None for weights."""
        if self.choose_models == "weights":
            return None
        return lambda state, number: self.model_of(seed, number, state)

    def retry_limits(self) -> RetryLimits:
        """Return the limits for failed and slow requests."""
        # flex is slow and sometimes unavailable: OpenAI advises 900 s, and outages may take longer, too
        is_flex = self.service_tier == "flex"
        limits = RetryLimits(request_s=900.0, outage_s=3600.0, start_s=900.0) if is_flex else RetryLimits()
        return replace(limits, request_s=self.request_timeout_s or limits.request_s)


# Names of the parameter that limits tokens: most endpoints know the first, OpenAI's reasoning models the second.
TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
# The path of OpenAI's Responses API; as a refused parameter of a model, it says that this API alone serves it.
RESPONSES = "/responses"

_SCHEMA = {
    "type": "object",
    "properties": {
        "idea": {"type": "string", "description": "the idea of the program in a sentence"},
        "program": {"type": "string", "description": "the complete Python program, imports included"},
    },
    "required": ["idea", "program"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Terms:
    """What the refusal of a request can be about."""

    model: str = ""
    """The model that was asked; "" if none was."""
    optional: Collection[str] = ()
    """The parameters that the request could do without."""


class RequestBuilder:
    """Builds the body of each request, without the parameters that `refuse` recorded for the model."""

    def __init__(self, settings: OpenAISettings, task: Task, host: str) -> None:
        """Raise UsageError if `response_format` is not "text" and the task asks for anything else than a function."""
        self._settings, self._form = settings, _form(settings.response_format, task)
        # OpenAI's reasoning models know no `max_tokens`; most other endpoints know nothing else.
        self._limits = TOKEN_LIMITS[::-1] if host.endswith("openai.com") else TOKEN_LIMITS
        self._refused: defaultdict[str, set[str]] = defaultdict(set)

    def body(self, model: str, prompt: str, number: int) -> dict[str, Any]:
        """Return the JSON body of a request for one completion of `prompt`.

        The reply to a candidate's prompt is held to `response_format`; `number` is below 0 for a note, which is prose.
        """
        settings, refused = self._settings, self._refused[model]
        if RESPONSES in refused:
            return self._response_body(model, prompt, number)
        system, messages = settings.system_prompt, [{"role": "user", "content": prompt}]
        if system and "system" in refused:  # the text must reach the model all the same
            messages[0]["content"] = f"{system}\n\n{prompt}"
        elif system:
            messages.insert(0, {"role": "system", "content": system})
        # if both names were refused, the limit is left out below
        limit = next((name for name in self._limits if name not in refused), self._limits[0])
        wanted = {
            "temperature": settings.temperature,
            "reasoning_effort": settings.reasoning_effort,
            "service_tier": settings.service_tier,
            limit: settings.max_completion_tokens,
            **(self._form if number >= 0 else {}),
            **settings.extra_body,
        }
        chosen = {name: value for name, value in wanted.items() if value is not None and name not in refused}
        return {"model": model, "messages": messages, **chosen}

    def _response_body(self, model: str, prompt: str, number: int) -> dict[str, Any]:
        """Return what `body` does, as the Responses API has it. A grammar is left out, since it knows none."""
        settings, refused = self._settings, self._refused[model]
        form = (self._form if number >= 0 else {}).get("response_format")
        system, role = settings.system_prompt, "instructions"
        wanted = {
            role: system or None,
            "temperature": settings.temperature,
            "reasoning": settings.reasoning_effort and {"effort": settings.reasoning_effort},
            "service_tier": settings.service_tier,
            "max_output_tokens": settings.max_completion_tokens,
            "text": form and {"format": {"type": form["type"], **form.get("json_schema", {})}},
            "store": False,  # chat completions are not kept by default, and these are
            **settings.extra_body,
        }
        chosen = {name: value for name, value in wanted.items() if value is not None and name not in refused}
        return {"model": model, "input": f"{system}\n\n{prompt}" if system and role in refused else prompt, **chosen}

    def sent(self, prompt: str) -> str:
        """Return all text that a request for `prompt` sends, by which its tokens are estimated."""
        return f"{self._settings.system_prompt}{prompt}"

    def terms(self, body: Mapping[str, Any]) -> Terms:
        """Return a request's model and the parameters that may be left out if the model refuses them.

        "system" stands for the system role: its text can go into the user's message. RESPONSES stands for chat
        completions.
        """
        # The tier is needed: in another one the request may cost twice as much. So is what a person wrote into
        # `extra_body`, such as a provider that must not keep prompts.
        needed = {"model", "messages", "input", "service_tier", *self._settings.extra_body}
        optional = set(body.keys() - needed)
        if "messages" in body:
            optional |= {"system"} if body["messages"][0]["role"] == "system" else set()
            optional |= set() if self._settings.batch else {RESPONSES}
        return Terms(body["model"], optional)

    def refuse(self, model: str, parameter: str) -> bool:
        """Leave a parameter out of all later requests to a model; return whether it was not left out before."""
        # all requests under way may be refused at once, and one notice is enough
        news = parameter not in self._refused[model]
        self._refused[model].add(parameter)
        return news


def _form(wanted: ResponseFormat, task: Task) -> Mapping[str, Any]:
    if wanted == "text":
        return {}
    if isinstance(task, EvaluatorTask) and not task.calls_a_function:
        raise UsageError(f"response_format={wanted} needs a task that asks for a Python function; use text")
    if wanted == "grammar":
        return {"grammar": program_grammar(task.template, task.entry_point)}
    if wanted == "json_object":
        return {"response_format": {"type": "json_object", "schema": _SCHEMA}}
    named = {"name": "program", "strict": True, "schema": _SCHEMA}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


# The grammar, in llama.cpp's notation GBNF, of short Python programs that define a task's function. A model that is
# held to it cannot forget the function, change its parameters or invent names: a program may use its parameters, the
# names in _OWN, and common functions of Python and numpy. It may still fail: a name may have no value yet, and a limit
# on tokens may cut the program off. Lines, expressions and brackets are bounded, so that a model that repeats itself
# ends.

# Most statements in a row: of the function, in a block in it, and in a block in that.
STATEMENTS = (10, 4, 2)
# How deep brackets may stand in brackets.
BRACKETS = 2
# Names, separated by spaces, that a program may give values.
_OWN = "a b best c cost d found i index j k n order result s score scores total value values x y"
# Python's functions that a program may call, separated by spaces.
_CALLED = "abs all any enumerate float int len list max min range round set sorted sum tuple zip"
# Functions that a program may call, by their module; each module counts only if the template imports it.
_OF_MODULES = {
    "math": "ceil cos exp floor hypot log sin sqrt tanh",
    "numpy": "abs all any arange argmax argmin argsort array clip concatenate cos cumsum diff dot exp floor full isin "
    "log log1p max maximum mean median min minimum nonzero ones outer percentile power prod roll sign sin sort sqrt "
    "std sum tanh unique var where zeros",
}
# Attributes and methods of arrays and lists that a program may use, separated by spaces.
_OF_VALUES = "T all any append argmax argmin argsort copy max mean min pop shape size sort std sum tolist"
_FIXED = """
number ::= ("0" | [1-9] [0-9]{0,3}) ("." [0-9]{1,4})?
compared ::= " < " | " > " | " <= " | " >= " | " == " | " != " | " in "
operator ::= " + " | " - " | " * " | " / " | " // " | " % " | " ** "
target ::= (own | own "[" value0 "]") (" = " | " += " | " -= ") | own ", " own " = "
"""
_VALUE = """
value{d} ::= "-"? atom{d} (operator atom{d}){{0,2}}
atom{d} ::= name after{d}{{0,2}} | number{deep}
"""
_DEEP = """
after{d} ::= "." attribute ("(" arguments{d}? ")")? | "[" index{d} "]"
index{d} ::= value{less} (", " value{less})? | value{less}? ":" value{less}? | value{less} compared value{less}
list{d} ::= "[" (value{less} (", " value{less}){{0,3}})? "]"
all{d} ::= "[" value{less} " for " own " in " value{less} "]"
called{d} ::= function "(" arguments{d}? ")"
arguments{d} ::= value{less} (", " value{less}){{0,2}} (", " named{d})? | named{d}
named{d} ::= "axis=" value{less} | "key=lambda " own ": " value{less}
"""


def program_grammar(template: str, entry_point: str) -> str:
    """Return the grammar of replies: one fenced block with the template's imports, its signature, and a short body.

    Raises KeyError if the template does not define `entry_point`, SyntaxError if it is no Python.
    """
    imports = [each for each in parse(template).body if isinstance(each, ast.Import | ast.ImportFrom)]
    function = functions_in(template)[entry_point]
    head = "\n".join(["```python", *map(ast.unparse, imports), "", f"{signature(function)}:"])
    given = function.args
    parameters = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    rules = [
        f'root ::= {json.dumps(head)} {_block_rule(0)} {json.dumps(_indentation(0))} "return " value "\\n```"',
        f"value ::= value{BRACKETS}",
        "condition ::= value1 (compared value1)?",
        f"own ::= {_one_of(_OWN.split())}",
        f"name ::= {_one_of([*parameters, *_OWN.split()])}",
        f"function ::= {_one_of([*_CALLED.split(), *_imported_functions(imports)])}",
        f"attribute ::= {_one_of(_OF_VALUES.split())}",
        *_statement_rules(),
        _FIXED.strip(),
        *_value_rules(),
    ]
    return "\n".join(rules) + "\n"


def _imported_functions(imports: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[str]:
    """Yield the functions that imports make known: those imported by name, and of modules those in _OF_MODULES."""
    for each in imports:
        for name in each.names:
            if isinstance(each, ast.ImportFrom):
                yield name.asname or name.name
            else:
                module = name.asname or name.name
                yield from (f"{module}.{found}" for found in _OF_MODULES.get(name.name, "").split())


def _statement_rules() -> Iterator[str]:
    """Yield the rules of a statement for each depth of STATEMENTS, with the indentation of its lines."""
    for depth in range(len(STATEMENTS)):
        simple = f'{json.dumps(_indentation(depth))} (target value | "return " value)'
        if depth + 1 == len(STATEMENTS):
            yield f"statement{depth} ::= {simple}"
            continue
        block, here = _block_rule(depth + 1), json.dumps(_indentation(depth))
        yield f"statement{depth} ::= {simple} | {here} loop{depth} | {here} choice{depth}"
        yield f'loop{depth} ::= "for " own (", " own)? " in " value ":" {block}'
        yield f'choice{depth} ::= "if " condition ":" {block} ({here} "else:" {block})?'


def _value_rules() -> Iterator[str]:
    """Yield the rules of values, by how deep their brackets go."""
    yield _VALUE.format(d=0, deep="").strip()
    yield 'after0 ::= "." attribute | "[" (name | number) "]"'
    for depth in range(1, BRACKETS + 1):
        less = depth - 1
        deep = f' | list{depth} | all{depth} | called{depth} | "(" value{less} ")"'
        yield _VALUE.format(d=depth, deep=deep).strip()
        yield _DEEP.format(d=depth, less=less).strip()


def _block_rule(depth: int) -> str:
    """Return the right side of a block's rule; only the function's body (depth 0) may have no statement."""
    return f"statement{depth}{{{0 if depth == 0 else 1},{STATEMENTS[depth]}}}"


def _indentation(depth: int) -> str:
    return "\n" + "    " * (depth + 1)


def _one_of(names: list[str]) -> str:
    return " | ".join(map(json.dumps, names))
