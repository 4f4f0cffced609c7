"""The process that forks a child for each candidate: its requests, its children's limits, and how they ended.

It has one thread. It must hold no secret: a candidate can read a copy of all its memory. It loads no task, and not
numpy: the keeper of a tree imports this module, too.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import random
import resource
import select
import signal
import socket
import sys
import time
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from behavesim.base.clock import STEP_S, Clock
from behavesim.sandbox import kernel, messages, processes
from behavesim.sandbox.layers import Confinement
from behavesim.sandbox.limits import NEAR, Limits
from behavesim.sandbox.messages import FORK, MOST_SOCKETS, OUT_OF_MEMORY, REQUEST, ProcessEnd, line

_INSTANCE, _CALLS, _BEGAN, _ENDED, _IDLE = range(5)
"""Places in the page: the instance and the call that came last, from 1; the CPU time (ns) when the first call began and
when it ended; how long (ns) the process waited for calls."""
# Numbers from here on, and negative ones, count as 0: a program wrote them.
_MOST = 1 << 53


class Progress:
    """One child's page. Make it before the fork; the numbers are 0 until the child sets them."""

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, mmap.PAGESIZE)
        self._words = memoryview(self._page).cast("q")

    def keep_to_one_child(self) -> None:
        """Keep later children from the page; call it in the zygote after the fork. Has no effect except on Linux."""
        if hasattr(mmap, "MADV_DONTFORK"):
            with contextlib.suppress(OSError):  # where the kernel lacks it, another child could write false numbers
                self._page.madvise(mmap.MADV_DONTFORK)

    def close(self) -> None:
        """Give the page back; nothing may be read afterwards."""
        self._words.release()
        self._page.close()

    def begin(self, instance: int) -> None:
        """Note that the instance with this number, from 1, comes next."""
        self._words[_INSTANCE] = instance

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same, notes here its calls, and the CPU time before and after the first."""
        words, calls = self._words, 0  # counted here, and copied: reading the page would take as long as all else

        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            words[_CALLS] = calls
            if calls > 1:
                return function(*arguments, **named)
            words[_BEGAN] = time.process_time_ns()
            try:
                return function(*arguments, **named)
            finally:
                words[_ENDED] = time.process_time_ns()

        call.__wrapped__ = function  # type: ignore[attr-defined]  # a task may look at its signature
        return call

    def idle(self, since_ns: int) -> None:
        """Note that the process has waited for a call from `since_ns` (`time.monotonic_ns`) until now."""
        self._words[_IDLE] += time.monotonic_ns() - since_ns

    @property
    def idle_s(self) -> float:
        """Seconds for which the process has waited for calls."""
        return self._number(_IDLE) / 1e9

    def first_s(self, cpu_s: float) -> float:
        """Return the CPU time of the first call so far (s), 0 if it has not begun; `cpu_s` is that of the process."""
        began, ended = self._number(_BEGAN), self._number(_ENDED)
        return min(max(0.0, (ended / 1e9 if ended else cpu_s) - began / 1e9), cpu_s) if began else 0.0

    def reached(self, cpu_s: float) -> tuple[int, int, float]:
        """Return the instance and the call begun last, from 1 (0: unknown), and the first call's CPU time (s)."""
        return self._number(_INSTANCE), self._number(_CALLS), self.first_s(cpu_s)

    def _number(self, place: int) -> int:
        found = self._words[place]
        return found if 0 <= found < _MOST else 0


# What a child runs: takes a program's source, its page of progress, its socket, and those of links if any.
#
# The socket leads to whoever asked: the daemon, or the process with the instances. Links lead to processes with
# the program, if those are others; see `program`. What runs on further instances gets their `first` and `count`, too.
Perform = Callable[..., None]
# Share of the limit by the clock that a program must have used up by itself to be at fault without another run.
OWN_SHARE = 0.9
# Longest time (s) that one wait for the disk is expected to take on a busy machine, as when memory is swapped in.
_DISK_S = 0.25


@dataclass
class _Child:
    """A running candidate; times by the zygote's clock (s)."""

    pid: int
    started: float
    deadline: float
    progress: Progress
    limits: Limits
    killed: str = ""  # why, as in `ProcessEnd`
    awake_s: float = 0.0  # how long it had a core or did not want one, once killed by the clock; 0 if unknown


class ForkServer:
    """Forks candidates on request, enforces their time limits, and reports how each ended."""

    def __init__(self, control: socket.socket, perform: Perform, limits: Limits, confinement: Confinement) -> None:
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
        """Serve until the daemon closes its socket or this process gets SIGTERM; OSError if no child can be forked."""
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
        data, fds, _, _ = socket.recv_fds(self._control, REQUEST.size, MOST_SOCKETS)
        if len(data) < REQUEST.size:
            return False
        request, job, first, count, share = REQUEST.unpack(data)
        if request == FORK:
            perform = partial(self._perform, first=first, count=count) if count else self._perform
            self._fork(job, fds, perform, self._limits.times(share) if count else self._limits)
        elif child := self._children.get(job):  # otherwise it has just ended
            self._kill(child, "cancelled")
        return True

    def _fork(self, job: int, fds: list[int], perform: Perform, limits: Limits) -> None:
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
            self._run_candidate(fds, progress, perform)
        progress.keep_to_one_child()
        for fd in fds:
            os.close(fd)
        now = self._clock()
        waits = len(fds) > 1  # for a program apart, which has the usual limit in its own zygote
        deadline = now + (limits.wall_kill_s if waits else limits.wall_limit_s)
        self._children[job] = _Child(pid, now, deadline, progress, limits)

    def _run_candidate(self, fds: list[int], progress: Progress, perform: Perform) -> NoReturn:
        """Receive a program from the first socket, confine this child, call `perform` with all sockets, and exit."""
        # `progress` is the page on which `perform` notes how far it is. Further sockets in `fds` lead to other
        # processes that run the program, which this child then calls there. The exit status is 0, OUT_OF_MEMORY, or 1
        # for another error.
        leave = os._exit  # a program may replace the name in `os`, and this child must not return to the zygote's loop
        try:
            source = messages.receive_source(fds[0])
            self._confinement.confine_child(*fds)
            random.seed(0)  # the zygote seeded it by entropy when it imported it
            perform(source, progress, *fds)
            leave(0)
        except MemoryError:
            leave(OUT_OF_MEMORY)
        finally:
            leave(1)

    def _kill(self, child: _Child, why: str) -> None:
        # the first reason is kept
        child.killed = child.killed or why
        processes.kill_tree(child.pid)

    def _reap(self) -> None:
        """Report each candidate that has ended to the daemon, after its remaining processes were killed."""
        for job, child in tuple(self._children.items()):
            reaped = processes.reap(child.pid)
            if reaped is None:
                continue
            del self._children[job]
            if self._confinement.own_pids is None:  # otherwise the kernel killed all in its namespace
                processes.kill_strays([each.pid for each in self._children.values()])
            self._control.sendall(line(self._end_of(job, child, *reaped)))
            child.progress.close()

    def _end_of(self, job: int, child: _Child, status: int, usage: resource.struct_rusage) -> ProcessEnd:
        """Return how a child ended, from its wait status and what it used."""
        cpu_s, peak_bytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * processes.MAXRSS_UNIT
        end = ProcessEnd(job, status, child.killed, cpu_s, peak_bytes, *child.progress.reached(cpu_s))
        if child.killed == "wall" and self._slept(child, usage):
            return replace(end, killed="asleep")
        if end.is_killed(child.limits) and peak_bytes < self._confinement.memory / 2:
            return replace(end, killed="machine")
        return end

    def _slept(self, child: _Child, usage: resource.struct_rusage) -> bool:
        """Whether the clock would have ended this child on a quiet machine, too, since it mostly slept."""
        # A run alone would let all workers wait for it, and show the same. Beside others the same work takes more CPU
        # time, and a busy disk makes a program wait: neither is its own.
        cpu_s = (usage.ru_utime + usage.ru_stime) * (1 - 1 / NEAR)
        own_s = child.awake_s - cpu_s - _DISK_S * (usage.ru_majflt + usage.ru_inblock)
        return own_s >= OWN_SHARE * child.limits.wall_limit_s

    def _enforce_limits(self) -> float | None:
        """Kill candidates that exceeded a time limit; return how soon to look again (ms), None without candidates."""
        # No candidate can reach a limit earlier, even if it uses every core. The time is at most half of STEP_S: the
        # clock counts at most STEP_S between two readings.
        if not self._children:
            return None
        now, soonest_s = self._clock(), STEP_S / 2
        for child in self._children.values():
            cpu_s = processes.cpu_seconds(child.pid)
            cpu_left_s = child.limits.kill_s(child.progress.first_s(cpu_s)) - cpu_s
            if now >= child.deadline:
                self._enforce_deadline(child, now)
            elif cpu_left_s <= 0:
                self._kill(child, "cpu")
            soonest_s = min(soonest_s, child.deadline - now, cpu_left_s / self._cores)
        return 1e3 * max(0.01, soonest_s)

    def _enforce_deadline(self, child: _Child, now: float) -> None:
        """Put off a candidate's deadline by the time for which others kept it waiting; kill it if none is left."""
        # That is its time without a core. For a program apart it is also its time without a call, up to
        # `wall_limit_s`: it could leave the process that calls it without an answer.
        without_s = processes.seconds_without_a_core(child.pid, self._confinement.all_pids)
        limit_s, kill_s = child.limits.wall_limit_s, child.limits.wall_kill_s
        child.deadline = child.started + min(limit_s + without_s + min(child.progress.idle_s, limit_s), kill_s)
        if now >= child.deadline:
            if without_s:  # else this system does not say
                child.awake_s = now - child.started - without_s - child.progress.idle_s
            self._kill(child, "waited" if without_s >= kill_s / 2 else "wall")


def prepare_for_forks() -> None:
    """Make this process ready for forks: drop standard error, and have forks share its memory."""
    with Path(os.devnull).open("wb") as null:
        os.dup2(null.fileno(), 2)  # until here the daemon reads standard error if the start fails
    gc.collect()
    kernel.trim_memory()  # what is free need not be copied
    gc.freeze()  # a collection in a fork would otherwise write to, and so copy, every loaded object


# Bytes of a seed of numba's generator, a Mersenne twister.
NUMBA_SEED = 4 * 624


def fix_seeds() -> None:
    """Fix seeds in this process and its forks for programs that seed nothing.

    numpy's global generator, new generators without a seed, `random.seed()` and numba's compiled generators start from
    0. The state of the module `random` stays as it is: call `random.seed(0)` in each fork. Import numpy.random before,
    or it is not seeded.
    """
    # numba asks for a seed by this name, in each process at its first compiled draw. Other requests are not answered
    # with equal bytes, since who asks until a name is new would ask for ever.
    entropy = os.urandom
    os.urandom = lambda size: random.Random(0).randbytes(size) if size == NUMBA_SEED else entropy(size)
    random.Random.seed = _seed_never_by_entropy  # type: ignore[method-assign]
    random.seed = types.MethodType(_seed_never_by_entropy, random.seed.__self__)  # type: ignore[attr-defined]
    if drawn := sys.modules.get("numpy.random"):
        drawn.bit_generator.randbits = random.Random(0).getrandbits  # for default_rng()
        drawn.seed(0)


_seed = random.Random.seed  # the original, before `fix_seeds`


def _seed_never_by_entropy(self: random.Random, a: Any = None, version: int = 2) -> None:
    # 0 where a seed would be drawn from the system
    _seed(self, 0 if a is None else a, version)
