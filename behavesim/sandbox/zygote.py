"""The zygote: a process that has libraries, a task and one split's instances loaded, and forks a child for a candidate.

The daemon, at the other end of its socket, sends it requests. When that end closes, it kills its children and exits.
How it forks and reports is in `forking`.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from behavesim.base.errors import SandboxError
from behavesim.sandbox import apart, candidate, isolation, kernel, layers, processes, remains
from behavesim.sandbox.forking import ForkServer, Perform, prepare_for_forks
from behavesim.sandbox.messages import Ready, TaskAssignment, errors_sent, line
from behavesim.task import instances_begun, task_from


def main(assignment: TaskAssignment, control: socket.socket) -> None:
    """Load the task, if one is assigned, confine this process, and serve the daemon, the process that searches.

    Returns when the daemon closes the socket or this process gets SIGTERM. If loading or confining fails, the error is
    sent to the daemon and raised here too.
    """
    processes.die_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the daemon, which flushes first
    with errors_sent(control):
        for module in assignment.preloaded:
            importlib.import_module(module)
        perform, ready = _load(assignment) if assignment.task else _without_task(assignment)
        hidden = tuple(map(Path, ready.hidden))
        with isolation.attempts_to_reach_outside() as attempts:
            confined = layers.prepare(assignment.layers, assignment.limits, hidden)
            level, confinement = isolation.find(confined, attempts, assignment.outside)
    prepare_for_forks()
    control.sendall(line(replace(ready, isolation=level, notes=confinement.notes)))
    ForkServer(control, perform, assignment.limits, confinement).serve()


def _without_task(assignment: TaskAssignment) -> tuple[Perform, Ready]:
    """Return the function for children, which answers calls, and the message for the daemon, not yet with the level."""
    answer = partial(apart.answer_questions, assignment.entry_point, assignment.limits.output)
    return answer, Ready("", (), 0, entry_point=assignment.entry_point, hidden=assignment.hidden)


def _load(assignment: TaskAssignment) -> tuple[Perform, Ready]:
    """Load the task; return the function for children, which runs a program on the instances, and the message.

    The message for the daemon has no level yet. Raises SandboxError if loading the task or running its template starts
    threads, TaskError if it or its instances cannot be loaded.
    """
    task = task_from(assignment.task)
    # read here: `solving_only` may delete any of these from the task
    name, template, entry_point = task.name, task.template, task.entry_point
    runs_apart, stateless = task.runs_apart, task.stateless
    instances = tuple(instances_begun(task, assignment.split, assignment.starts))
    solve, files = remains.solving_only(task)
    work = candidate.Work(solve, entry_point, instances, assignment.limits.output, stateless)
    kernel.fill_holes()  # before the rehearsal: numpy keeps small blocks of it, which each child writes to
    candidate.rehearse(template, work, assignment.first_use_s)
    if processes.threads() > 1:
        raise SandboxError(f"task {name!r} starts threads when it is loaded; a fork would lose them")
    ready = Ready("", (), len(instances), runs_apart, entry_point, tuple(map(str, files)))
    return partial(candidate.perform, work), ready


if __name__ == "__main__":
    main(TaskAssignment.from_json(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
    os._exit(0)  # skips Python's cleanup, which has nothing to do
