"""Finds a method by its name or by the path of its file."""

from __future__ import annotations

from typing import Any

from behavesim.base.config import Owner, Settings
from behavesim.base.errors import UsageError
from behavesim.base.plugins import Kind
from behavesim.methods.method import Brief, Method
from behavesim.prompts.prompts import Prompts
from behavesim.task import Task

METHODS = Kind("method", UsageError)


def method_type(name: str) -> type[Method[Any]]:
    """Return a method's class; raises UsageError if there is none of that name or path, or it is no Method."""
    found = METHODS.load(name)
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise UsageError(f"`method` of {name} must be a subclass of behavesim.Method, not {found!r}")
    return found


def method_owner(name: str) -> Owner:
    """Return the owner of a method's settings; raises UsageError if there is no such method."""
    return Owner(f"method {name}", method_type(name).settings_type)


def method(settings: Settings, task: Task, takes_notes: bool = False) -> Method[Any]:
    """Return the method of one run; `takes_notes` says whether its proposer answers requests for texts."""
    brief = Brief(settings.seed, Prompts.of_run(settings, task), takes_notes)
    return method_type(settings.method)(settings.of_method, brief)
