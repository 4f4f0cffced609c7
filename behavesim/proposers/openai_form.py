"""The form that replies are held to, where an endpoint can do that: a JSON schema or a grammar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from behavesim.base.errors import UsageError
from behavesim.proposers.grammar import program_grammar
from behavesim.task import Task
from behavesim.task.evaluated import EvaluatorTask

ResponseFormat = Literal["text", "json_schema", "json_object", "grammar"]
"""What a reply is held to: nothing, a JSON schema in OpenAI's or in llama.cpp's form, or a grammar (llama.cpp)."""

_SCHEMA = {
    "type": "object",
    "properties": {
        "idea": {"type": "string", "description": "the idea of the program in a sentence"},
        "program": {"type": "string", "description": "the complete Python program, imports included"},
    },
    "required": ["idea", "program"],
    "additionalProperties": False,
}


def form_fields(wanted: ResponseFormat, task: Task) -> Mapping[str, Any]:
    """Return the fields of a request for a program that hold its reply to the form wanted; empty for `text`.

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
