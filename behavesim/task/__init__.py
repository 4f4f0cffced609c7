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
from behavesim.task.calls import (
    called,
    instances_begun,
    instances_made_anew,
    instances_of,
    number_from,
    picture_of,
    raised,
)
from behavesim.task.objective import Direction, Objective
from behavesim.task.pictures import Bins, Disks, Picture, Route
from behavesim.task.reference import TASKS, TaskReference, installed_tasks, task_from
from behavesim.task.score import Metrics, Score
from behavesim.task.task import SPLITS, InvalidSolution, Solution, Split, Task, TaskKind, as_arrays
from behavesim.task.words import InWords, ranked

__all__ = [
    "SPLITS",
    "TASKS",
    "Bins",
    "Direction",
    "Disks",
    "InWords",
    "InvalidSolution",
    "Metrics",
    "Objective",
    "Picture",
    "Route",
    "Score",
    "Solution",
    "Split",
    "Task",
    "TaskKind",
    "TaskReference",
    "as_arrays",
    "as_integer",
    "as_integers",
    "as_number",
    "as_numbers",
    "as_permutation",
    "as_subset",
    "called",
    "first_greatest",
    "installed_tasks",
    "instances_begun",
    "instances_made_anew",
    "instances_of",
    "number_from",
    "picture_of",
    "raised",
    "ranked",
    "task_from",
]
