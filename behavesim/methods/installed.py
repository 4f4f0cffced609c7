"""Finds a method by its name or by the path of its file."""

from __future__ import annotations

from typing import Any

from behavesim.base.config import Settings
from behavesim.methods.method import Brief, Method
from behavesim.prompts.prompts import Prompts
from behavesim.state.settings import METHODS
from behavesim.task import Task


def method_type(name: str) -> type[Method[Any]]:
    """Return a method's class; raises UsageError if there is none of that name or path, or it is no Method."""
    return METHODS.load_type(name, Method)


def method_of(settings: Settings, task: Task, takes_notes: bool = False) -> Method[Any]:
    """Return the method of a run; `takes_notes` says whether its proposer answers requests for texts.

    Raises UsageError if there is no such method, or if the wording of its prompts cannot be loaded.
    """
    brief = Brief(settings.seed, Prompts.of_run(settings, task), takes_notes)
    return method_type(settings.method)(settings.of_method, brief)
