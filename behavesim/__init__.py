"""Search for algorithms with language models, and know them by what they do."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from behavesim.base.version import __version__ as __version__

if TYPE_CHECKING:
    from behavesim.analysis.metric import Metric
    from behavesim.analysis.report import RunReport
    from behavesim.analysis.run import Run
    from behavesim.analysis.table import Unit
    from behavesim.application.loaded import LoadedRun, load_run
    from behavesim.application.python import resume, resume_sync, search, search_sync
    from behavesim.base.errors import BehavesimError
    from behavesim.base.tokens import Usage
    from behavesim.methods.comparison import Comparison
    from behavesim.methods.method import Method, MethodSettings, question
    from behavesim.proposers.proposer import Errand, Proposer, ProposerSettings
    from behavesim.similarity import Archive, BehaveSim
    from behavesim.state.events import TEMPLATE, Added, Asked, NotAdded, NoteAsked, Prompt, Regrouped, Reply
    from behavesim.state.members import Member, OpenCandidate
    from behavesim.state.state import RunState
    from behavesim.task import Bins, Disks, InvalidSolution, Objective, Route, Split, Task
    from behavesim.trajectory import Samples, Trajectory

_HOMES = {
    "Added": "state.events",
    "Archive": "similarity",
    "Asked": "state.events",
    "BehaveSim": "similarity",
    "BehavesimError": "base.errors",
    "Bins": "task",
    "Comparison": "methods.comparison",
    "Disks": "task",
    "Errand": "proposers.proposer",
    "InvalidSolution": "task",
    "LoadedRun": "application.loaded",
    "Member": "state.members",
    "Metric": "analysis.metric",
    "Method": "methods.method",
    "MethodSettings": "methods.method",
    "NotAdded": "state.events",
    "NoteAsked": "state.events",
    "Objective": "task",
    "OpenCandidate": "state.members",
    "Prompt": "state.events",
    "Proposer": "proposers.proposer",
    "ProposerSettings": "proposers.proposer",
    "Regrouped": "state.events",
    "Reply": "state.events",
    "Route": "task",
    "Run": "analysis.run",
    "RunReport": "analysis.report",
    "RunState": "state.state",
    "Samples": "trajectory",
    "Split": "task",
    "TEMPLATE": "state.events",
    "Task": "task",
    "Trajectory": "trajectory",
    "Unit": "analysis.table",
    "Usage": "base.tokens",
    "load_run": "application.loaded",
    "resume_sync": "application.python",
    "resume": "application.python",
    "search_sync": "application.python",
    "search": "application.python",
    "question": "methods.method",
}

__all__ = [
    "TEMPLATE",
    "Added",
    "Archive",
    "Asked",
    "BehaveSim",
    "BehavesimError",
    "Bins",
    "Comparison",
    "Disks",
    "Errand",
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
    "ProposerSettings",
    "Regrouped",
    "Reply",
    "Route",
    "Run",
    "RunReport",
    "RunState",
    "Samples",
    "Split",
    "Task",
    "Trajectory",
    "Unit",
    "Usage",
    "load_run",
    "question",
    "resume",
    "resume_sync",
    "search",
    "search_sync",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its room at first use, so that importing behavesim costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'behavesim' has no attribute {name!r}")
    return getattr(import_module(f"behavesim.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
