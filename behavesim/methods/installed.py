"""From a method's name, or the path of its file, to the method."""

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
    """The class of a method; raises UsageError where it cannot be had, or is none."""
    found = METHODS.load(name)
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise UsageError(f"`method` of {name} must be a subclass of behavesim.Method, not {found!r}")
    return found


def method_owner(name: str) -> Owner:
    """The owner of a method's settings, by the method's name or file; raises UsageError where it cannot be had."""
    return Owner(f"method {name}", method_type(name).settings_type)


def method(settings: Settings, task: Task, takes_notes: bool = False) -> Method[Any]:
    """The method that the settings name, for one run; `takes_notes` says whether its proposer writes texts."""
    brief = Brief(settings.seed, Prompts.of_run(settings, task), takes_notes)
    return method_type(settings.method)(settings.of_method, brief)
