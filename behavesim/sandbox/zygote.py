"""The zygote: a server that has libraries, a task and one split's instances loaded, and forks a child for a candidate.

It has one thread. It must hold no secret: a candidate can read a copy of all its memory. It obeys the process at the
other end of its socket. When that end closes, it kills its children and exits.
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
from behavesim.base.errors import BehavesimError, SandboxError
from behavesim.sandbox import apart, candidate, isolation, kernel, layers, processes, remains
from behavesim.sandbox.limits import MEGABYTE, Limits
from behavesim.sandbox.messages import FORK, OUT_OF_MEMORY, REQUEST, Assignment, Ending, Ready, line
from behavesim.task import instances_of, task_from

Perform = Callable[..., None]
"""What a child runs: takes a program's source, the daemon's socket and, if it has one, the link (file descriptors)."""


@dataclass
class _Child:
    """A running candidate: `job` is the daemon's number for it, `killed` why it was killed ("" if it was not).

    `started` and `deadline` are times of the zygote's clock (s).
    """

    job: int
    pid: int
    started: float
    deadline: float
    killed: str = ""


class Zygote:
    """Forks candidates on request, enforces their limits, and reports how each ended."""

    def __init__(
        self, control: socket.socket, perform: Perform, limits: Limits, confinement: layers.Confinement
    ) -> None:
        self._control = control
        self._perform = perform
        self._limits = limits
        self._confinement = confinement
        self._clock = Clock()
        self._cores = os.cpu_count() or 1
        self._children: dict[int, _Child] = {}
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
            for pid in self._children:
                processes.kill_tree(pid)
                os.waitpid(pid, 0)
            processes.kill_strays(())

    def _serve_once(self, patience_ms: float | None) -> bool:
        for fd, _ in self._poll.poll(patience_ms):
            if fd == self._wakeup.fileno():
                if signal.SIGTERM in self._wakeup.recv(4096):
                    return False
                self._reap()
            elif not self._handle_request():
                return False
        return True

    def _handle_request(self) -> bool:
        data, fds, _, _ = socket.recv_fds(self._control, REQUEST.size, 2)
        if len(data) < REQUEST.size:
            return False
        request, job = REQUEST.unpack(data)
        if request == FORK:
            self._fork(job, fds)
        else:
            for child in self._children.values():
                if child.job == job:
                    self._kill(child, "cancelled")
        return True

    def _fork(self, job: int, fds: list[int]) -> None:
        try:
            pid = self._confinement.fork()
        except OSError as error:
            advice = "raise the limit on processes, or set fewer workers"
            said = f"no process can be had for a program ({error.strerror}); {advice}"
            self._control.sendall(line({"error": said}))
            raise
        if pid == 0:
            self._run_candidate(fds)
        for fd in fds:
            os.close(fd)
        now = self._clock()
        waits = len(fds) > 1  # for a program apart, which has the usual limit in its own zygote
        deadline = now + (self._limits.longest_s if waits else self._limits.wall_s)
        self._children[pid] = _Child(job, pid, now, deadline)

    def _run_candidate(self, fds: list[int]) -> NoReturn:
        leave = os._exit
        try:
            source = apart.receive_source(fds[0])
            self._confinement.enclose(*fds)
            self._perform(source, *fds)
            leave(0)
        except MemoryError:
            leave(OUT_OF_MEMORY)
        finally:
            leave(1)

    def _kill(self, child: _Child, why: str) -> None:
        child.killed = child.killed or why
        processes.kill_tree(child.pid)

    def _reap(self) -> None:
        for child in tuple(self._children.values()):
            if (reaped := processes.reap(child.pid)) is not None:
                status, usage = reaped
                del self._children[child.pid]
                if self._confinement.own_pids is None:  # otherwise the kernel killed all in its namespace
                    processes.kill_strays(self._children)
                cpu_s = usage.ru_utime + usage.ru_stime
                peak_bytes = usage.ru_maxrss * processes.MAXRSS_UNIT
                self._control.sendall(line(Ending(child.job, status, child.killed, cpu_s, peak_bytes)))

    def _enforce_limits(self) -> float | None:
        """Kill candidates that exceeded a limit; return how soon to look again (ms), None without candidates.

        No candidate can reach a limit earlier, even if it uses every core. The time is at most half a STEP_S: of a gap
        between two readings the clock counts no more than STEP_S.
        """
        if not self._children:
            return None
        now, soonest_s = self._clock(), STEP_S / 2
        for child in self._children.values():
            cpu_left_s = self._limits.timeout_s - processes.cpu_seconds(child.pid)
            if now >= child.deadline:
                without_s = processes.seconds_without_a_core(child.pid)
                child.deadline = child.started + min(self._limits.wall_s + without_s, self._limits.longest_s)
            if now >= child.deadline:
                self._kill(child, "wall")
            elif cpu_left_s <= 0:
                self._kill(child, "cpu")
            soonest_s = min(soonest_s, child.deadline - now, cpu_left_s / self._cores)
        return 1e3 * max(0.01, soonest_s)


def main(assignment: Assignment, control: socket.socket) -> None:
    """Load the task, confine this process, report to the daemon and serve until it closes the socket.

    If loading or confining fails, the error is sent to the daemon and raised here too.
    """
    processes.die_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the daemon, which flushes first
    try:
        perform, ready = _load(assignment) if assignment.task else _without_task(assignment)
        hidden = tuple(map(Path, ready.hidden))
        with isolation.ReachableTargets() as targets:
            found = isolation.find(layers.prepare(assignment.layers, assignment.limits, hidden), targets)
    except Exception as error:  # the daemon raises it again
        said = str(error) if isinstance(error, BehavesimError) else f"{type(error).__name__}: {error}"
        control.sendall(line({"error": said}))
        raise
    candidate.settle_randomness()
    _mute()
    gc.collect()
    kernel.trim_memory()  # what is free need not be copied
    gc.freeze()  # a collection in a fork would otherwise write to, and so copy, every loaded object
    control.sendall(line(replace(ready, isolation=found.level, notes=found.notes)))
    Zygote(control, perform, assignment.limits, found.confinement).serve()


def _mute() -> None:
    """Discard standard error from now on; until here the daemon reads it if the start fails."""
    with Path(os.devnull).open("wb") as null:
        os.dup2(null.fileno(), 2)


def _without_task(assignment: Assignment) -> tuple[Perform, Ready]:
    """Return what a child without a task does, answer calls, and the message for the daemon."""
    limit = assignment.limits.output_mb * MEGABYTE
    _preload(assignment)

    def answer(source: str, fd: int) -> None:
        apart.answer_questions(fd, source, assignment.entry_point, limit)

    return answer, Ready("", (), 0, entry_point=assignment.entry_point, hidden=assignment.hidden)


def _load(assignment: Assignment) -> tuple[Perform, Ready]:
    """Load the task; return what a child does, run a program on the instances, and the message for the daemon.

    Raises SandboxError if loading the task starts threads, TaskError if it or its instances cannot be loaded.
    """
    task = task_from(assignment.task)
    name, template, entry_point, stateless = task.name, task.template, task.entry_point, task.stateless
    online = task.online
    instances = tuple(instances_of(task, assignment.split))
    solve, files = remains.solving_only(task)
    work = candidate.Work(solve, entry_point, instances, assignment.limits.output_mb * MEGABYTE, stateless)
    _preload(assignment)
    candidate.rehearse(template, work, assignment.first_use_s)
    if processes.threads() > 1:
        raise SandboxError(f"task {name!r} starts threads when it is loaded; a fork would lose them")
    ready = Ready("", (), len(instances), online, entry_point, tuple(map(str, files)))
    return partial(candidate.perform, work), ready


def _preload(assignment: Assignment) -> None:
    for module in assignment.preloaded:
        importlib.import_module(module)


if __name__ == "__main__":
    main(Assignment.from_json(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
    os._exit(0)  # skips Python's cleanup, which has nothing to do
