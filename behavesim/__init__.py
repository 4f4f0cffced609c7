"""Search for algorithms with language models, and compare them by what they do. The names in `__all__` are public."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Written here, as reading it from the installed metadata would be slower.
__version__ = "0.1.0"

if TYPE_CHECKING:
    from behavesim.analysis.metrics import Metric
    from behavesim.analysis.report import RunReport
    from behavesim.analysis.run import Run
    from behavesim.analysis.table import Unit
    from behavesim.application.python import (
        ComparedRuns,
        LoadedRun,
        compare,
        load_run,
        resume,
        resume_sync,
        search,
        search_sync,
        tune,
    )
    from behavesim.application.trackers import track
    from behavesim.application.tuning import TunedProgram
    from behavesim.base.errors import BehavesimError
    from behavesim.base.tokens import Usage
    from behavesim.methods.method import Method, MethodSettings, question
    from behavesim.proposers.proposer import Proposer, ProposerContext, ProposerSettings
    from behavesim.similarity import Archive, BehaveSim
    from behavesim.state.behaviours import Behaviours
    from behavesim.state.events import TEMPLATE, Added, Asked, NotAdded, NoteAsked, Prompt, Regrouped, Reply
    from behavesim.state.members import Member, OpenCandidate
    from behavesim.state.state import RunState
    from behavesim.task import Bins, Disks, InvalidSolution, Objective, Route, Score, Split, Task
    from behavesim.trajectory import Samples, Trajectory

# where `__getattr__` finds each public name; type checkers read the imports above instead
_HOMES = {
    "Added": "state.events",
    "Archive": "similarity",
    "Asked": "state.events",
    "BehaveSim": "similarity",
    "Behaviours": "state.behaviours",
    "BehavesimError": "base.errors",
    "Bins": "task",
    "ComparedRuns": "application.python",
    "Disks": "task",
    "InvalidSolution": "task",
    "LoadedRun": "application.python",
    "Member": "state.members",
    "Metric": "analysis.metrics",
    "Method": "methods.method",
    "MethodSettings": "methods.method",
    "NotAdded": "state.events",
    "NoteAsked": "state.events",
    "Objective": "task",
    "OpenCandidate": "state.members",
    "Prompt": "state.events",
    "Proposer": "proposers.proposer",
    "ProposerContext": "proposers.proposer",
    "ProposerSettings": "proposers.proposer",
    "Regrouped": "state.events",
    "Reply": "state.events",
    "Route": "task",
    "Run": "analysis.run",
    "RunReport": "analysis.report",
    "RunState": "state.state",
    "Samples": "trajectory",
    "Score": "task",
    "Split": "task",
    "TEMPLATE": "state.events",
    "Task": "task",
    "Trajectory": "trajectory",
    "TunedProgram": "application.tuning",
    "Unit": "analysis.table",
    "Usage": "base.tokens",
    "compare": "application.python",
    "load_run": "application.python",
    "question": "methods.method",
    "resume": "application.python",
    "resume_sync": "application.python",
    "search": "application.python",
    "search_sync": "application.python",
    "track": "application.trackers",
    "tune": "application.python",
}

__all__ = [
    "TEMPLATE",
    "Added",
    "Archive",
    "Asked",
    "BehaveSim",
    "BehavesimError",
    "Behaviours",
    "Bins",
    "ComparedRuns",
    "Disks",
    "InvalidSolution",
    "LoadedRun",
    "Member",
    "Method",
    "MethodSettings",
    "Metric",
    "NotAdded",
    "NoteAsked",
    "Objective",
    "OpenCandidate",
    "Prompt",
    "Proposer",
    "ProposerContext",
    "ProposerSettings",
    "Regrouped",
    "Reply",
    "Route",
    "Run",
    "RunReport",
    "RunState",
    "Samples",
    "Score",
    "Split",
    "Task",
    "Trajectory",
    "TunedProgram",
    "Unit",
    "Usage",
    "compare",
    "load_run",
    "question",
    "resume",
    "resume_sync",
    "search",
    "search_sync",
    "track",
    "tune",
]


def __getattr__(name: str) -> Any:
    """Import a public name at first use, so that `import behavesim` is fast; raises AttributeError for others."""
    if name not in _HOMES:
        raise AttributeError(f"module 'behavesim' has no attribute {name!r}")
    return getattr(import_module(f"behavesim.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
