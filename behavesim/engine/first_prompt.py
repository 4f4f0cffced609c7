"""The first prompt of a run, before the run is made."""

from __future__ import annotations

from typing import Any

from behavesim.base.config import Settings
from behavesim.engine.admission import run_provenance
from behavesim.methods.method import Method
from behavesim.state.behaviours import Behaviours
from behavesim.state.events import Asked, Evaluated, NoteAsked, RunStarted
from behavesim.state.state import RunState
from behavesim.task import Task


def first_prompt(settings: Settings, task: Task, method: Method[Any], template: Evaluated, isolation: str) -> str:
    """Return the text of a method's first prompt; "" if it asks for nothing yet, as when it arranges groups first.

    `template` is the outcome of the task's template, `isolation` the level at which it ran. Raises TaskError if the
    task's instances cannot be hashed.
    """
    state = RunState(task.objective)
    state.apply(RunStarted(settings.flat(), run_provenance(settings, task), isolation))
    state.apply(template)
    behaviours = Behaviours()  # none is read before a program ran
    asked = method.ask(state, behaviours, 0)
    first = None if asked is None else method.prompts.completed(asked, state, behaviours)
    return first.prompt.text if isinstance(first, Asked | NoteAsked) else ""
