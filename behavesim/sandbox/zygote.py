"""The zygote: a process that has libraries, a task and one split's instances loaded, and forks a child for a candidate.

It has one thread. It must hold no secret: a candidate can read a copy of all its memory. The daemon, at the other end
of its socket, sends it requests. When that end closes, it kills its children and exits.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NoReturn

from behavesim.base.clock import STEP_S, Clock
from behavesim.base.errors import SandboxError
from behavesim.sandbox import apart, candidate, isolation, kernel, layers, processes, remains, wire
from behavesim.sandbox.limits import MEGABYTE, Limits
from behavesim.sandbox.messages import FORK, OUT_OF_MEMORY, REQUEST, Assignment, Ending, Ready, errors_sent, line
from behavesim.sandbox.progress import Progress
from behavesim.task import instances_begun, task_from

Perform = Callable[..., None]
"""What a child runs: takes a program's source, its page of progress, its socket, and that of a link if any.

The socket is the daemon's or, for a program apart, that of the process that calls it. The link is a socket to another
process, which has the program; see `apart`.
"""


@dataclass
class _Child:
    """A running candidate; `killed` is why it was killed, "" if it was not (see `Ending`).

    `started` and `deadline` are times of the zygote's clock (s).
    """

    pid: int
    started: float
    deadline: float
    progress: Progress
    killed: str = ""


class Zygote:
    """Forks candidates on request, enforces their time limits, and reports how each ended."""

    def __init__(
        self, control: socket.socket, perform: Perform, limits: Limits, confinement: layers.Confinement
    ) -> None:
        self._control = control
        self._perform = perform
        self._limits = limits
        self._confinement = confinement
        self._clock = Clock()
        self._cores = os.cpu_count() or 1
        self._children: dict[int, _Child] = {}  # by the daemon's number for the candidate
        self._wakeup = processes.wake_on(signal.SIGCHLD, signal.SIGTERM)
        self._poll = select.poll()
        for each in (control, self._wakeup):
            self._poll.register(each, select.POLLIN)

    def serve(self) -> None:
        """Serve until the daemon closes its end of the socket or this process gets SIGTERM; then kill all children.

        Raises OSError if no child can be forked.
        """
        try:
            patience_ms = None
            while self._serve_once(patience_ms):
                patience_ms = self._enforce_limits()
        finally:
            for child in self._children.values():
                processes.kill_tree(child.pid)
                os.waitpid(child.pid, 0)
            processes.kill_strays(())

    def _serve_once(self, patience_ms: float | None) -> bool:
        """Act on requests and signals that come within `patience_ms` (None: no limit); False if it is time to end."""
        for fd, _ in self._poll.poll(patience_ms):
            if fd == self._wakeup.fileno():
                if signal.SIGTERM in self._wakeup.recv(4096):
                    return False
                self._reap()
            elif not self._handle_request():
                return False
        return True

    def _handle_request(self) -> bool:
        """Carry out one request of the daemon; False if it has closed its end of the socket."""
        data, fds, _, _ = socket.recv_fds(self._control, REQUEST.size, 2)
        if len(data) < REQUEST.size:
            return False
        request, job = REQUEST.unpack(data)
        if request == FORK:
            self._fork(job, fds)
        elif child := self._children.get(job):  # otherwise it has just ended
            self._kill(child, "cancelled")
        return True

    def _fork(self, job: int, fds: list[int]) -> None:
        """Fork a child for a candidate with the sockets `fds`; if that fails, tell the daemon and raise OSError."""
        progress = Progress()
        try:
            pid = self._confinement.fork()
        except OSError as error:
            advice = "raise the limit on processes, or set fewer workers"
            said = f"no process can be had for a program ({error.strerror}); {advice}"
            self._control.sendall(line({"error": said}))
            raise
        if pid == 0:
            self._run_candidate(fds, progress)
        progress.keep_to_one_child()
        for fd in fds:
            os.close(fd)
        now = self._clock()
        waits = len(fds) > 1  # for a program apart, which has the usual limit in its own zygote
        deadline = now + (self._limits.longest_s if waits else self._limits.wall_s)
        self._children[job] = _Child(pid, now, deadline, progress)

    def _run_candidate(self, fds: list[int], progress: Progress) -> NoReturn:
        """Receive a program from the first socket, confine this child, run `perform`, and exit.

        A second socket leads to another process, which runs the program in place of this one. The exit status is 0,
        OUT_OF_MEMORY, or 1 for another error.
        """
        leave = os._exit  # a program may replace the name in `os`, and this child must not return to the zygote's loop
        try:
            source = wire.receive_source(fds[0])
            self._confinement.enclose(*fds)
            self._perform(source, progress, *fds)
            leave(0)
        except MemoryError:
            leave(OUT_OF_MEMORY)
        finally:
            leave(1)

    def _kill(self, child: _Child, why: str) -> None:
        child.killed = child.killed or why
        processes.kill_tree(child.pid)

    def _reap(self) -> None:
        """Report each candidate that has ended to the daemon, after its remaining processes were killed."""
        for job, child in tuple(self._children.items()):
            if (reaped := processes.reap(child.pid)) is not None:
                status, usage = reaped
                del self._children[job]
                if self._confinement.own_pids is None:  # otherwise the kernel killed all in its namespace
                    processes.kill_strays([each.pid for each in self._children.values()])
                cpu_s = usage.ru_utime + usage.ru_stime
                peak_bytes = usage.ru_maxrss * processes.MAXRSS_UNIT
                got = child.progress
                reached = got.instance, got.calls, got.first_s(cpu_s)
                killed = child.killed or self._killed_by_machine(status, cpu_s, peak_bytes)
                ending = Ending(job, status, killed, cpu_s, peak_bytes, *reached)
                got.close()
                self._control.sendall(line(ending))

    def _killed_by_machine(self, status: int, cpu_s: float, peak_bytes: int) -> str:
        """Return "machine" if the kernel killed a candidate with less than half of the machine's memory; else ""."""
        # the kernel also kills for CPU time, where the zygote cannot read that
        is_killed = os.waitstatus_to_exitcode(status) == -signal.SIGKILL and cpu_s <= self._limits.timeout_s
        return "machine" if is_killed and peak_bytes < self._confinement.memory / 2 else ""

    def _enforce_limits(self) -> float | None:
        """Kill candidates that exceeded a time limit; return how soon to look again (ms), None without candidates.

        No candidate can reach a limit earlier, even if it uses every core. The time is at most half of STEP_S: the
        clock counts at most STEP_S between two readings.
        """
        if not self._children:
            return None
        now, soonest_s = self._clock(), STEP_S / 2
        for child in self._children.values():
            cpu_s = processes.cpu_seconds(child.pid)
            cpu_left_s = self._limits.most_s(child.progress.first_s(cpu_s)) - cpu_s
            if now >= child.deadline:
                self._enforce_deadline(child, now)
            elif cpu_left_s <= 0:
                self._kill(child, "cpu")
            soonest_s = min(soonest_s, child.deadline - now, cpu_left_s / self._cores)
        return 1e3 * max(0.01, soonest_s)

    def _enforce_deadline(self, child: _Child, now: float) -> None:
        """Put off a candidate's deadline by the time for which others kept it from going on; kill it if none is left.

        That is its time without a core. For a program apart it is also its time without a call, up to `wall_s`: it
        could leave the process that calls it without an answer.
        """
        without_s = processes.seconds_without_a_core(child.pid, self._confinement.all_pids)
        wall_s, longest_s = self._limits.wall_s, self._limits.longest_s
        child.deadline = child.started + min(wall_s + without_s + min(child.progress.idle_s, wall_s), longest_s)
        if now >= child.deadline:
            self._kill(child, "waited" if without_s >= longest_s / 2 else "wall")


def main(assignment: Assignment, control: socket.socket) -> None:
    """Load the task, if one is assigned, confine this process, report to the daemon and serve it.

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
            level, confinement = isolation.find(layers.prepare(assignment.layers, assignment.limits, hidden), attempts)
    settle()
    control.sendall(line(replace(ready, isolation=level, notes=confinement.notes)))
    Zygote(control, perform, assignment.limits, confinement).serve()


def settle() -> None:
    """Make this process ready for forks: fix random seeds, drop standard error, and have forks share its memory."""
    candidate.settle_randomness()
    with Path(os.devnull).open("wb") as null:
        os.dup2(null.fileno(), 2)  # until here the daemon reads standard error if the start fails
    gc.collect()
    kernel.trim_memory()  # what is free need not be copied
    gc.freeze()  # a collection in a fork would otherwise write to, and so copy, every loaded object


def _without_task(assignment: Assignment) -> tuple[Perform, Ready]:
    """Return the function for children, which answers calls, and the message for the daemon, without the level yet."""
    answer = partial(apart.answer_questions, assignment.entry_point, assignment.limits.output_mb * MEGABYTE)
    return answer, Ready("", (), 0, entry_point=assignment.entry_point, hidden=assignment.hidden)


def _load(assignment: Assignment) -> tuple[Perform, Ready]:
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
    work = candidate.Work(solve, entry_point, instances, assignment.limits.output_mb * MEGABYTE, stateless)
    candidate.rehearse(template, work, assignment.first_use_s)
    if processes.threads() > 1:
        raise SandboxError(f"task {name!r} starts threads when it is loaded; a fork would lose them")
    ready = Ready("", (), len(instances), runs_apart, entry_point, tuple(map(str, files)))
    return partial(candidate.perform, work), ready


if __name__ == "__main__":
    main(Assignment.from_json(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
    os._exit(0)  # skips Python's cleanup, which has nothing to do
