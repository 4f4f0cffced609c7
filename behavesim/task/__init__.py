"""Tasks: the problems that programs solve, and the trusted code that scores solutions."""

from behavesim.task.answers import (
    as_integer,
    as_integers,
    as_number,
    as_numbers,
    as_permutation,
    as_subset,
    first_greatest,
)
from behavesim.task.calls import InWords, further_instances, instances_of, rank_words
from behavesim.task.reference import TaskReference, installed_tasks
from behavesim.task.score import Metrics, Score
from behavesim.task.task import (
    SPLITS,
    Bins,
    Direction,
    Disks,
    InvalidSolution,
    Objective,
    Route,
    Solution,
    Split,
    Task,
    as_arrays,
)

__all__ = [
    "SPLITS",
    "Bins",
    "Direction",
    "Disks",
    "InWords",
    "InvalidSolution",
    "Metrics",
    "Objective",
    "Route",
    "Score",
    "Solution",
    "Split",
    "Task",
    "TaskReference",
    "as_arrays",
    "as_integer",
    "as_integers",
    "as_number",
    "as_numbers",
    "as_permutation",
    "as_subset",
    "first_greatest",
    "further_instances",
    "installed_tasks",
    "instances_of",
    "rank_words",
]
