"""Search for algorithms with language models, and know them by what they do."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from behavesim.analysis.run import Run, load_run
    from behavesim.errors import BehavesimError
    from behavesim.similarity import Archive, BehaveSim
    from behavesim.task import InvalidSolution, Objective, Split, Task
    from behavesim.trajectory import Trajectory

_HOMES = {
    "Archive": "similarity",
    "BehaveSim": "similarity",
    "BehavesimError": "errors",
    "InvalidSolution": "task",
    "Objective": "task",
    "Run": "analysis.run",
    "Split": "task",
    "Task": "task",
    "Trajectory": "trajectory",
    "load_run": "analysis.run",
}

__all__ = [
    "Archive",
    "BehaveSim",
    "BehavesimError",
    "InvalidSolution",
    "Objective",
    "Run",
    "Split",
    "Task",
    "Trajectory",
    "load_run",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its room at first use, so that importing behavesim costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'behavesim' has no attribute {name!r}")
    return getattr(import_module(f"behavesim.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
