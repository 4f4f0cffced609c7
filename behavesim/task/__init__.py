"""What the search is asked to solve, and how trusted code judges a solution."""

from behavesim.task.calls import instances_made_anew, instances_of, number_from, picture_of, raised
from behavesim.task.objective import Direction, Objective
from behavesim.task.pictures import Bins, Disks, Picture, Route
from behavesim.task.reference import TASKS, TaskReference, installed_tasks, task_from
from behavesim.task.task import SPLITS, InvalidSolution, Solution, Split, Task, as_arrays

__all__ = [
    "SPLITS",
    "TASKS",
    "Bins",
    "Direction",
    "Disks",
    "InvalidSolution",
    "Objective",
    "Picture",
    "Route",
    "Solution",
    "Split",
    "Task",
    "TaskReference",
    "as_arrays",
    "installed_tasks",
    "instances_made_anew",
    "instances_of",
    "number_from",
    "picture_of",
    "raised",
    "task_from",
]
