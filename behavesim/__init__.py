"""Search for algorithms with language models, and compare them by what they do. The names in `__all__` are public."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Written here, as reading it from the installed metadata would be slower.
__version__ = "0.2.0"

# for type checkers; at run time `__getattr__` imports each name where it is used
if TYPE_CHECKING:
    from behavesim.analysis.metrics import Metric as Metric
    from behavesim.analysis.report import RunReport as RunReport
    from behavesim.analysis.run import Run as Run
    from behavesim.analysis.table import Unit as Unit
    from behavesim.application.python import ComparedRuns as ComparedRuns
    from behavesim.application.python import LoadedRun as LoadedRun
    from behavesim.application.python import compare as compare
    from behavesim.application.python import load_run as load_run
    from behavesim.application.python import resume as resume
    from behavesim.application.python import resume_sync as resume_sync
    from behavesim.application.python import search as search
    from behavesim.application.python import search_sync as search_sync
    from behavesim.application.python import tune as tune
    from behavesim.application.trackers import track as track
    from behavesim.application.tuning import TunedProgram as TunedProgram
    from behavesim.base.errors import BehavesimError as BehavesimError
    from behavesim.base.tokens import Usage as Usage
    from behavesim.methods.method import Method as Method
    from behavesim.methods.method import MethodSettings as MethodSettings
    from behavesim.methods.method import question as question
    from behavesim.proposers.proposer import Proposer as Proposer
    from behavesim.proposers.proposer import ProposerContext as ProposerContext
    from behavesim.proposers.proposer import ProposerSettings as ProposerSettings
    from behavesim.similarity import Archive as Archive
    from behavesim.similarity import BehaveSim as BehaveSim
    from behavesim.state.behaviours import Behaviours as Behaviours
    from behavesim.state.events import TEMPLATE as TEMPLATE
    from behavesim.state.events import Added as Added
    from behavesim.state.events import Asked as Asked
    from behavesim.state.events import NotAdded as NotAdded
    from behavesim.state.events import NoteAsked as NoteAsked
    from behavesim.state.events import Prompt as Prompt
    from behavesim.state.events import Regrouped as Regrouped
    from behavesim.state.events import Reply as Reply
    from behavesim.state.members import Member as Member
    from behavesim.state.members import OpenCandidate as OpenCandidate
    from behavesim.state.state import RunState as RunState
    from behavesim.task import Bins as Bins
    from behavesim.task import Disks as Disks
    from behavesim.task import InvalidSolution as InvalidSolution
    from behavesim.task import Objective as Objective
    from behavesim.task import Route as Route
    from behavesim.task import Score as Score
    from behavesim.task import Split as Split
    from behavesim.task import Task as Task
    from behavesim.trajectory import Samples as Samples
    from behavesim.trajectory import Trajectory as Trajectory

# Every public name, by the module that has it.
_PUBLIC = {
    "analysis.metrics": "Metric",
    "analysis.report": "RunReport",
    "analysis.run": "Run",
    "analysis.table": "Unit",
    "application.python": "compare ComparedRuns load_run LoadedRun resume resume_sync search search_sync tune",
    "application.trackers": "track",
    "application.tuning": "TunedProgram",
    "base.errors": "BehavesimError",
    "base.tokens": "Usage",
    "methods.method": "Method MethodSettings question",
    "proposers.proposer": "Proposer ProposerContext ProposerSettings",
    "similarity": "Archive BehaveSim",
    "state.behaviours": "Behaviours",
    "state.events": "Added Asked NotAdded NoteAsked Prompt Regrouped Reply TEMPLATE",
    "state.members": "Member OpenCandidate",
    "state.state": "RunState",
    "task": "Bins Disks InvalidSolution Objective Route Score Split Task",
    "trajectory": "Samples Trajectory",
}
_HOMES = {name: home for home, names in _PUBLIC.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name at first use, so that `import behavesim` is fast; raises AttributeError for others."""
    if name not in _HOMES:
        raise AttributeError(f"module 'behavesim' has no attribute {name!r}")
    return getattr(import_module(f"behavesim.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
