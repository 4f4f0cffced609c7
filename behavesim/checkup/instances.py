"""Checks a task's instances: they exist, stay the same, differ between splits, and are the same in other processes."""

from __future__ import annotations

from copy import deepcopy
from itertools import combinations
from typing import Any

from behavesim.base.errors import TaskError
from behavesim.base.finding import Finding
from behavesim.state.provenance import hashes_elsewhere, instances_hash, made_otherwise, value_hash
from behavesim.task import Split, Task, TaskReference, instances_of, raised

SOLVED_HERE = 3
"""Most instances solved to see whether `solve` changes them; all would double the time of the check."""


def present(task: Task, split: Split) -> Finding:
    """Return a finding on whether a split has instances, can make them, and gives the same ones in two calls.

    It is "mend" if they cannot be made or differ, a warning if there are none.
    """
    name = f"{split} instances"
    try:
        first, second = instances_hash(task, split), instances_hash(task, split, anew=True)
        count = len(instances_of(task, split))
    except TaskError as error:
        return Finding(name, "mend", str(error))
    if not count:
        return Finding(name, "warning", f"instances({split!r}) gives none")
    if first != second:
        return Finding(name, "mend", "two calls give different instances; draw them from a fixed seed")
    return Finding(name, "ok", f"{count}, the same on every call")


def distinct(task: Task) -> Finding:
    """Return a finding on whether the splits share no instance: a shared one could hide overfitting.

    It is about the first two splits that share any: "mend" if all instances of one are in the other, else "warning".
    Raises TaskError if the instances cannot be made.
    """
    hashes = {split: {value_hash(instance) for instance in instances_of(task, split)} for split in task.splits}
    advice = "draw those of each split from a seed of its own"
    for first, second in combinations(task.splits, 2):
        shared = hashes[first] & hashes[second]
        if shared:
            among = f"{len(shared)} of {len(hashes[second])} {second} instances are among the {first} instances, too"
            is_all = shared in (hashes[first], hashes[second])
            return Finding("splits", "mend" if is_all else "warning", f"{among}; {advice}")
    return Finding("splits", "ok", "no instance belongs to two of them")


def left_as_it_was(task: Task) -> Finding:
    """Return a finding on whether `solve` leaves instances unchanged: "mend" if not.

    It runs in this process with the template, on copies of the first SOLVED_HERE search instances. Raises TaskError if
    `solve` fails or an instance cannot be copied.
    """
    namespace: dict[str, Any] = {}
    exec(task.template, namespace)
    for number, instance in enumerate(instances_of(task, "search")[:SOLVED_HERE], 1):
        try:
            copy = deepcopy(instance)
            before = value_hash(copy)
            task.solve(namespace[task.entry_point], copy)
        except Exception as error:
            raise raised(task, "solve", error) from error
        if value_hash(copy) != before:
            advice = "let it work on a copy: the function would see what is left of the instance"
            return Finding("solve", "mend", f"`solve` changes its instance (search instance {number}); {advice}")
    return Finding("solve", "ok", "it leaves its instance as it was")


async def known_again(reference: TaskReference, pristine: dict[Split, str]) -> Finding:
    """Return a finding on whether another process makes the same instances; resuming a run needs that.

    `reference` names the task; `pristine` are the hashes of each split's instances in this process. It is "mend" if the
    other process fails or has other hashes.
    """
    try:
        found = await hashes_elsewhere(reference)
    except TaskError as error:
        return Finding("another process", "mend", str(error))
    moved = [split for split in pristine if found.get(split) != pristine[split]]
    if moved:
        return Finding("another process", "mend", made_otherwise(moved[0]))
    return Finding("another process", "ok", "it has the same instances")


def unchanged(before: str, after: str) -> Finding:
    """Return a finding on whether the search's instances have equal hashes before and after use: "mend" if not."""
    if before == after:
        return Finding("use", "ok", "instances are the same after their first use, so a run can be resumed")
    advice = "keep what is computed from them in functools.cached_property, or outside"
    return Finding("use", "mend", f"instances change when they are used, so no run could be resumed; {advice}")
