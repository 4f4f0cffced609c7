"""Writes the requests to each model, without the parameters that the model has refused before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from behavesim.base.errors import UsageError
from behavesim.proposers.openai_settings import OpenAISettings, ResponseFormat
from behavesim.proposers.reply_grammar import program_grammar
from behavesim.task import Task
from behavesim.task.evaluated import EvaluatorTask

TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")
"""Names of the parameter that limits tokens: most endpoints know the first, OpenAI's reasoning models the second."""
RESPONSES = "/responses"
"""The path of OpenAI's Responses API; as a refused parameter of a model, it says that this API alone serves it."""

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


class Dialect:
    """Builds the body of each request, without the parameters that `refuse` recorded for the model."""

    def __init__(self, settings: OpenAISettings, task: Task, host: str) -> None:
        """`host` is the endpoint's host name.

        Raises UsageError if `response_format` is not "text" and the task asks for anything else than a function.
        """
        self._settings, self._form = settings, _form(settings.response_format, task)
        # OpenAI's reasoning models know no `max_tokens`; most other endpoints know nothing else.
        self._limits = TOKEN_LIMITS[::-1] if host.endswith("openai.com") else TOKEN_LIMITS
        self._refused: defaultdict[str, set[str]] = defaultdict(set)

    def body(self, model: str, prompt: str, number: int) -> dict[str, Any]:
        """Return the JSON body of a request for one completion of `prompt`, without parameters that are unset.

        The reply to a candidate's prompt is held to `response_format`; `number` is below 0 for a note, which is prose.
        If the model refused the system role, the system prompt is put before the prompt in the user's message.
        """
        settings, refused = self._settings, self._refused[model]
        if RESPONSES in refused:
            return self._response_body(model, prompt, number)
        system, messages = settings.system_prompt, [{"role": "user", "content": prompt}]
        if system and "system" in refused:
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
        """Return the model of a request's `body`, and the parameters that may be left out if the model refuses them.

        The name "system" stands for the system role: its text can go into the user's message. The service tier is not
        optional: in another tier the request may cost twice as much. Nor is what a person wrote into `extra_body`, such
        as a provider that must not keep prompts. RESPONSES stands for chat completions, outside of batches.
        """
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
    """Return the fields of a request for a program that hold its reply to the form wanted; empty for "text".

    Raises UsageError if the task asks for anything else than a function: then no form is known.
    """
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
