"""The sandbox of an evaluator: a confined process, the keeper, forks the nursery, which loads it and forks evaluations.

The keeper runs no code of evaluators or programs. It kills what exceeds a limit over a whole tree of processes, and
believes the nursery's messages only about the nursery's evaluations. No evaluation can see the keeper. The nursery can,
but cannot trace it, read its memory, or stop it with a signal.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from behavesim.base.clock import Clock
from behavesim.base.errors import BehavesimError, TaskError
from behavesim.sandbox import isolation, layers, processes
from behavesim.sandbox.forking import OWN_SHARE, ForkServer, Perform, fix_seeds, prepare_for_forks
from behavesim.sandbox.layers import TreeConfinement
from behavesim.sandbox.limits import NEAR, Limits
from behavesim.sandbox.messages import (
    FORK,
    REQUEST,
    ProcessEnd,
    Ready,
    TreeAssignment,
    in_words,
    line,
    send,
    send_errors,
)

# Evaluates a program's text; returns the bytes to send to the daemon.
Evaluate = Callable[[str], bytes]


class Nursery(ForkServer):
    """Forks a child for each evaluation that the keeper requests, and reports how each ended; it enforces no limits.

    Besides what a zygote sends the daemon, it sends the keeper {"job": …} with a pidfd of each child.
    """

    def _fork(self, job: int, fds: list[int], perform: Perform, limits: Limits) -> None:
        super()._fork(job, fds, perform, limits)
        handle = os.pidfd_open(self._children[job].pid)
        socket.send_fds(self._control, [line({"job": job})], [handle])
        os.close(handle)

    def _enforce_limits(self) -> None:
        """Do nothing: the keeper enforces the limits."""


def serve_nursery(link: socket.socket, assignment: TreeAssignment, confined: TreeConfinement) -> NoReturn:
    """Confine this process, load the evaluator, and serve the keeper at the other end of `link` until it closes."""
    # an error is sent to the keeper, cut to MOST_SAID characters; the exit status is 0 either way
    try:
        processes.die_with_parent(signal.SIGKILL)
        enclosed = confined.enter_nursery()
        evaluate = _load_evaluator(assignment)
        fix_seeds()
        prepare_for_forks()
        link.sendall(line({"loaded": True}))
        Nursery(link, lambda source, _, fd: send(fd, evaluate(source)), assignment.limits, enclosed).serve()
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the evaluator's: the daemon raises it again)
        with contextlib.suppress(OSError):
            link.sendall(line({"error": in_words(error)[:MOST_SAID], "is_usage": isinstance(error, TaskError)}))
    finally:
        os._exit(0)  # no cleanup of the evaluator's, and no return to the keeper's code


def _load_evaluator(assignment: TreeAssignment) -> Evaluate:
    """Return the evaluator that the loader makes; what the loader prints goes to standard error."""
    # A BehavesimError of the loader is raised as it is; raises TaskError for any other Exception, and for SystemExit.
    module, _, name = assignment.loader.partition(":")
    loader = getattr(importlib.import_module(module), name)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            evaluate: Evaluate = loader(assignment.given)
    except BehavesimError:
        raise
    except (Exception, SystemExit) as error:  # its own code runs when it is loaded
        advice = "mend it, or install what it imports"
        raise TaskError(f"the evaluator cannot be loaded: {type(error).__name__}: {error}; {advice}") from error
    return evaluate


# Most characters of an error that the nursery sends, and that the keeper passes on.
MOST_SAID = 2_000


# Shortest pause (ms) before the next check of what evaluations use, unless a message comes; one takes about 0.2 ms.
LOOK_MS = 20.0
# The pause after a check, unless a message comes, is at least this many times as long as the check.
_SHARE = 10
# CPU seconds by which each evaluation raises the nursery's own limit: a fork takes milliseconds.
FORK_S = 1.0
# Most bytes of a message of the nursery that is not complete yet.
_LONGEST_LINE = 1 << 16
# The smallest number that is no wait status: these have 16 bits.
_NO_STATUS = 1 << 16


class NurseryFailed(Exception):
    """Raised if the nursery fails, ends, exceeds a limit or sends no valid message; its text is for the daemon.

    `is_usage` is True if the evaluator is at fault, False if the sandbox is.
    """

    def __init__(self, said: str, is_usage: bool = True) -> None:
        super().__init__(said)
        self.is_usage = is_usage


@dataclass
class _Evaluation:
    """A running evaluation; times by the keeper's clock (s)."""

    started: float
    deadline: float
    killed: str = ""  # why, as in `ProcessEnd`
    handle: int | None = None  # a pidfd of its first process, once the nursery has sent it
    pid: int = 0  # that process's number, from then on
    cpu: processes.CpuMeter = field(default_factory=processes.CpuMeter)
    # How long its threads have run or waited for a core or a disk, all together, as far as looks show; the last look.
    wanted_s: float = 0.0
    looked: float = 0.0

    def look(self, now: float, members: Mapping[int, processes.Process]) -> None:
        """Note what it did since the last look; `members` are its living processes."""
        # what they are doing now stands for the whole time; without a process it waits for the nursery
        since_s = now - max(self.started, self.looked)
        self.wanted_s += since_s * (processes.threads_awake(members) if self.pid else 1)
        self.looked = now
        self.cpu.read(members)

    def slept(self, now: float, wall_limit_s: float) -> bool:
        """Whether it would have used up `wall_limit_s` on a quiet machine, too, since it mostly slept."""
        # beside others the same work takes more CPU time; work that ended between two looks is in `cpu` only
        cpu_s = self.cpu.most_s
        lost_s = max(self.wanted_s, cpu_s) - cpu_s / NEAR
        return now - self.started - lost_s >= OWN_SHARE * wall_limit_s


class Keeper:
    """Passes requests on to a nursery and endings back, and kills trees of processes that exceed a limit.

    The nursery is the process `nursery`, which loads the evaluator and forks a child for each evaluation. `control`
    leads to the daemon and `link` to the nursery. Loading may take `load_s` seconds of CPU time and as much memory as
    an evaluation; then `ready` is sent to the daemon. `has_devices` is whether evaluations use devices such as a GPU.
    """

    def __init__(
        self,
        control: socket.socket,
        link: socket.socket,
        nursery: int,
        limits: Limits,
        load_s: float,
        ready: Ready,
        has_devices: bool = False,
    ) -> None:
        self._control, self._link, self._nursery = control, link, nursery
        self._limits, self._load_s, self._ready = limits, load_s, ready
        self._has_devices = has_devices
        self._clock = Clock()
        self._running: dict[int, _Evaluation] = {}  # by the daemon's number
        self._rest = b""
        self._is_loaded = False
        self._loaded_memory = 0  # bytes that the nursery holds once it has loaded: evaluations share them
        self._nursery_cpu = processes.CpuMeter()
        self._nursery_may_s = load_s
        self._wakeup = processes.wake_on(signal.SIGCHLD, signal.SIGTERM)
        self._poll = select.poll()
        for each in (control, link, self._wakeup):
            self._poll.register(each, select.POLLIN)

    def serve(self) -> None:
        """Serve until the daemon closes its socket, this process gets SIGTERM, or the nursery fails; then kill all."""
        # if the nursery fails, an error is sent to the daemon
        try:
            patience_ms: float | None = LOOK_MS
            while self._serve_once(patience_ms):
                patience_ms = self._enforce_limits()
        except NurseryFailed as error:
            self._control.sendall(line({"error": str(error), "is_usage": error.is_usage}))
        finally:
            for each in self._running.values():
                _kill(each, "cancelled")
            processes.kill_tree(self._nursery)
            os.waitpid(self._nursery, 0)
            processes.kill_strays(())

    def _serve_once(self, patience_ms: float | None) -> bool:
        """Act on requests, messages and signals that come within `patience_ms` (None: any); False if it must end."""
        for fd, _ in self._poll.poll(patience_ms):
            if fd == self._control.fileno():
                if not self._obey():
                    return False
            elif fd == self._link.fileno():
                self._listen()
            elif signal.SIGTERM in self._wakeup.recv(4096):
                return False
        return True

    def _obey(self) -> bool:
        data, fds, _, _ = socket.recv_fds(self._control, REQUEST.size, 2)
        if len(data) < REQUEST.size:
            return False
        request, job, *_ = REQUEST.unpack(data)
        if request == FORK:
            try:
                socket.send_fds(self._link, [data], fds, socket.MSG_DONTWAIT)
            except OSError as error:
                raise NurseryFailed(f"the evaluator's process takes no more programs: {error.strerror}") from error
            now = self._clock()
            self._running[job] = _Evaluation(now, now + self._limits.wall_limit_s)
            self._nursery_may_s += FORK_S
        elif each := self._running.get(job):  # otherwise it has just ended
            _kill(each, "cancelled")
        for fd in fds:
            os.close(fd)
        return True

    def _listen(self) -> None:
        data, fds, _, _ = socket.recv_fds(self._link, _LONGEST_LINE, 4, socket.MSG_DONTWAIT)
        *lines, self._rest = (self._rest + data).split(b"\n")
        try:
            if len(self._rest) > _LONGEST_LINE:
                raise ValueError("a line without an end")
            for each in lines:
                self._hear(json.loads(each), fds)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise NurseryFailed(
                "the evaluator's process sent broken data to the sandbox: does it write to file descriptors that it "
                "did not open?"
            ) from error
        finally:
            for fd in fds:
                os.close(fd)
        if not data:
            raise NurseryFailed("the evaluator ended its own process")

    def _hear(self, message: Mapping[str, object], fds: list[int]) -> None:
        """Act on one message of the nursery; `fds` came with it, or with another message received together with it."""
        # If it is not a valid message, raises ValueError, TypeError, LookupError, AttributeError or OverflowError.
        if "error" in message:
            raise NurseryFailed(str(message["error"])[:MOST_SAID], message.get("is_usage") is True)
        if "loaded" in message:
            self._be_loaded()
        elif "status" in message:
            self._end(ProcessEnd(**message))  # type: ignore[arg-type]  # checked there
        else:
            each, handle = self._running[int(str(message["job"]))], fds.pop()
            if each.handle is not None:
                raise ValueError("an evaluation has one first process")
            each.handle, each.pid = handle, processes.pid_of(handle)
            if each.killed:
                _kill(each, each.killed)

    def _be_loaded(self) -> None:
        tree = processes.with_descendants(self._nursery, processes.all_processes())
        # the nursery itself, and if it has namespaces of its own the process that waits for it
        if any(process.threads > 1 for process in tree.values()):
            raise NurseryFailed(
                "the evaluator starts threads when it is loaded; a fork would lose them. Start them in it"
            )
        if len(tree) > 2:
            raise NurseryFailed("the evaluator starts processes when it is loaded; start them when it is called")
        if not self._is_loaded:
            self._is_loaded = True
            self._loaded_memory = sum(process.resident for process in tree.values())
            self._control.sendall(line(self._ready))

    def _end(self, ending: ProcessEnd) -> None:
        is_status = isinstance(ending.status, int) and 0 <= ending.status < _NO_STATUS
        if not (is_status and math.isfinite(ending.cpu_s) and ending.cpu_s >= 0):
            raise ValueError("no ending")
        each = self._running.pop(ending.job)
        if each.handle is not None:
            os.close(each.handle)
        cpu_s = max(ending.cpu_s, each.cpu.most_s)  # the kernel counts no process that nobody waited for
        self._control.sendall(line(ProcessEnd(ending.job, ending.status, each.killed, cpu_s, int(ending.peak_bytes))))

    def _enforce_limits(self) -> float | None:
        """Kill evaluations that exceeded a limit; return how soon to check again (ms)."""
        # Returns None if the evaluator is loaded and no evaluation runs.
        if self._is_loaded and not self._running:
            return None
        began, seen = self._clock(), processes.all_processes()
        for each in self._running.values():
            if why := self._exceeded(each, processes.with_descendants(each.pid, seen) if each.pid else {}):
                _kill(each, why)
        self._limit_nursery(seen)
        return max(LOOK_MS, 1e3 * _SHARE * (self._clock() - began))

    def _exceeded(self, each: _Evaluation, members: dict[int, processes.Process]) -> str:
        """Return the first limit that an evaluation, whose processes are `members`, exceeds; "" if none."""
        # It is one of "processes", "cpu", "wall" or "waited" or "asleep", "memory", "files", in this order.
        # processes come first: of very many it takes long to find out more
        if sum(process.threads for process in members.values()) > layers.MOST_PROCESSES:
            return "processes"
        now = self._clock()
        each.look(now, members)
        first_s = processes.cpu_seconds(each.pid) if each.pid else 0.0  # exact, where `members` count in ticks
        if max(each.cpu.most_s, first_s) >= self._limits.kill_s(0.0):
            return "cpu"
        if now >= each.deadline:
            without_s = sum(map(processes.seconds_without_a_core, members))
            each.deadline = each.started + min(self._limits.wall_limit_s + without_s, self._limits.wall_kill_s)
            if now >= each.deadline:
                if without_s >= self._limits.wall_kill_s / 2:
                    return "waited"
                # what seems to sleep may wait for a device that another evaluation uses
                is_asleep = not self._has_devices and each.slept(now, self._limits.wall_limit_s)
                return "asleep" if is_asleep else "wall"
        if processes.holds_more(members, self._limits.memory + self._loaded_memory):
            return "memory"
        # few processes cannot have so many
        has_many = len(members) * layers.OPEN_FILES_OF_TREE > layers.MOST_FILES
        return "files" if has_many and processes.open_files(members) > layers.MOST_FILES else ""

    def _limit_nursery(self, seen: Mapping[int, processes.Process]) -> None:
        """Raise NurseryFailed if the nursery, without its evaluations, exceeds a limit."""
        now, kept_s = self._clock(), self._limits.wall_kill_s
        if any(
            (each.pid == 0 and now >= each.deadline) or now >= each.started + kept_s + 1
            for each in self._running.values()
        ):
            raise NurseryFailed("the evaluator keeps the sandbox from starting and ending programs")
        own = processes.with_descendants(self._nursery, seen, {each.pid for each in self._running.values()})
        # evaluations are among the children that it waited for
        without_reaped = {pid: replace(process, reaped_s=0.0) for pid, process in own.items()}
        if self._nursery_cpu.read(without_reaped) > self._nursery_may_s:
            raise NurseryFailed(f"the evaluator was not loaded after {self._load_s:g} s of CPU time")
        if processes.holds_more(own, self._limits.memory + self._loaded_memory):
            raise NurseryFailed(f"the evaluator takes more than {self._limits.memory_mb} MB of memory to load")
        if sum(process.threads for process in own.values()) > layers.MOST_PROCESSES:
            raise NurseryFailed(f"the evaluator starts more than {layers.MOST_PROCESSES} processes when loaded")


def _kill(each: _Evaluation, why: str) -> None:
    """Note why an evaluation is killed, unless a reason is noted, and kill its first process and that one's group."""
    # With a namespace of its own, all its processes die with the first. Without a pidfd yet, the reason is only noted.
    each.killed = each.killed or why
    if each.handle is None:
        return  # killed as soon as the nursery names it
    try:
        signal.pidfd_send_signal(each.handle, signal.SIGKILL)
    except ProcessLookupError:
        return
    processes.kill_tree(each.pid)


def main(assignment: TreeAssignment, control: socket.socket) -> None:
    """Confine this process, fork the nursery, which loads the evaluator, and serve the daemon as its keeper.

    Returns when the daemon closes its socket, this process gets SIGTERM, or the nursery fails. An error of confining is
    sent to the daemon and raised here too.
    """
    processes.die_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the daemon, which flushes first
    with send_errors(control), isolation.attempts_to_reach_outside() as attempts:
        paths = (tuple(map(Path, assignment.readable)), tuple(map(Path, assignment.hidden)))
        devices = tuple(map(Path, assignment.devices))
        confined = layers.prepare_tree(assignment.layers, assignment.limits, *paths, assignment.workers, devices)
        level, confined = isolation.find(confined, isolation.OF_TREES, attempts, assignment.outside)
    own_socket, nursery_socket = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        for each in (control, own_socket):
            each.close()
        serve_nursery(nursery_socket, assignment, confined)
    nursery_socket.close()
    # the level was found before anything of the evaluator ran
    ready, has_devices = Ready(level, confined.notes, 1), bool(assignment.devices)
    Keeper(control, own_socket, pid, assignment.limits, assignment.load_s, ready, has_devices).serve()


def load_echo(given: str) -> Callable[[str], bytes]:
    """Return a function that returns `given` and a line break, in UTF-8, for every program."""
    answer = f"{given}\n".encode()
    return lambda program: answer


if __name__ == "__main__":
    main(TreeAssignment.from_json(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
    os._exit(0)  # skips Python's cleanup, which has nothing to do
