"""The referee: a trusted process that has the task, reads what programs sent, and turns it into verdicts.

It never runs a program. The search starts it once. It loads the task, then forks children that wait for requests and
answer them one after another in their main thread: so `signal.alarm` works in a task, and a child that takes too much
can be killed and replaced in a few milliseconds. The search's side is in `judge`.

A request and its reply are a line and bytes (`messages.encode_pair`):

    VERDICT, frame  → verdict or failure as JSON, trajectories
    BLOCK first count share, frame → the same on further instances, without trajectories
    IMPROVE, frame  → scores before and after `Task.improve`, or failure, as JSON
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from behavesim.base.errors import SandboxError, TaskError
from behavesim.sandbox import messages, processes
from behavesim.sandbox.forking import ForkServer, Progress, prepare_for_forks
from behavesim.sandbox.frames import as_message, read_solutions
from behavesim.sandbox.layers import Confinement
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.messages import Ready, RefereeAssignment, encode_pair, line, send_errors
from behavesim.task import InvalidSolution, Split, Task, TaskReference, further_instances
from behavesim.task.calls import begin_instances, call_task, number_from
from behavesim.task.score import Metrics, Score, join_feedback, limit_metrics, mean_metrics
from behavesim.task.verdict import Block, Failure, Solved, Verdict
from behavesim.trajectory import AlgorithmRun, Samples, Trajectory, pack, trajectories_of

# Most states of one trajectory; a program with more is rejected.
#
# Comparing two takes time and memory in proportion to the product of their lengths.
MOST_STATES = 5000
# Most numbers in all trajectories of a program together: they take up to 8 MB in the journal.
MOST_NUMBERS = 1 << 20
# Largest absolute value of a coordinate in a trajectory of vectors; a program with a larger one is rejected.
#
# Within it, sums of squared differences stay finite.
LARGEST_COORDINATE = 1e100
# The reason of a failure if scoring a program's solutions takes too much time or memory, or ends the referee.
COSTLY = "costly-score"
VERDICT, IMPROVE, BLOCK = b"verdict", b"improve", b"block"
"""The kinds of requests."""


def encode_block(block: Block) -> bytes:
    """Return the kind of a request for a verdict on a block of further instances."""
    return b"%s %d %d %r" % (BLOCK, *block)


def decode_block(kind: bytes) -> Block | None:
    """Return the block that a kind of request names; None if it is for the instances of the split."""
    name, *words = kind.split()
    return Block(int(words[0]), int(words[1]), float(words[2])) if name == BLOCK else None


class Scorer:
    """Answers requests on the instances of one split; it has the task and no process of its own."""

    def __init__(self, task: Task, split: Split, limits: Limits, starts: int = 1, further: int = 0) -> None:
        self.task = task
        self._instances = begin_instances(task, split, starts)
        self._further = further_instances(task, split, further, len(self._instances)) if further else []
        self._limits = limits

    @property
    def instances(self) -> int:
        """The number of solutions that a program sends."""
        return len(self._instances)

    def answer(self, kind: bytes, frame: bytes | memoryview) -> bytes:
        """Return the message that replies to a request; what the task's code raises is a failure in the reply."""
        try:
            return (
                encode_pair(self._improve(frame), b"") if kind == IMPROVE else self._verdict(frame, decode_block(kind))
            )
        except MemoryError:  # in the code around the task's own
            return encode_pair(_encoded(_too_much_memory(self.task)), b"")

    def _verdict(self, frame: bytes | memoryview, block: Block | None) -> bytes:
        instances = self._instances
        if block is not None:
            at = block.first - len(instances)
            instances = self._further[at : at + block.size]
        solved = read_solutions(frame, len(instances))
        verdict = solved if isinstance(solved, Failure) else verdict_on(self.task, instances, solved, block is None)
        if isinstance(verdict, Failure):
            return encode_pair(_encoded(verdict), b"")
        return encode_pair(_encoded(verdict), pack(verdict.trajectories))

    def _improve(self, frame: bytes | memoryview) -> bytes:
        solved = read_solutions(frame, len(self._instances))
        plain = solved if isinstance(solved, Failure) else verdict_on(self.task, self._instances, solved)
        if isinstance(plain, Failure) or isinstance(solved, Failure):
            return _encoded(plain)
        began = time.process_time()
        try:
            pairs = zip(self._instances, solved.solutions, strict=True)
            better = [call_task(self.task, "improve", self.task.improve, *each) for each in pairs]
        except (InvalidSolution, TaskError) as error:
            refused = f"`improve` of task {self.task.name!r} refuses a valid solution: {error}"
            said = str(error) if isinstance(error, TaskError) else refused
            return json.dumps({"task_error": said}).encode()
        improving_s = time.process_time() - began
        kept = tuple(each for each in better if each is not None)
        if len(kept) < len(self._instances):
            return json.dumps({"scores": plain.scores, "improved": [], "improving_s": 0.0}).encode()
        improved = verdict_on(self.task, self._instances, Solved(kept, 0.0))
        if isinstance(improved, Failure):
            said = f"`improve` of task {self.task.name!r} spoils a valid solution: {improved.message}"
            return json.dumps({"task_error": said}).encode()
        return json.dumps({"scores": plain.scores, "improved": improved.scores, "improving_s": improving_s}).encode()


def verdict_on(task: Task, instances: Sequence[Any], solved: Solved, is_compared: bool = True) -> Verdict | Failure:
    """Return the verdict on a program's solutions, one for each of the instances, or the failure found in them.

    It has trajectories, on `Task.compared` instances, if `is_compared`.
    It is `non-finite` if a score is no finite number, `costly-score` if memory does not suffice. It is
    `invalid-solution` if the task refuses a solution, its code raises anything else or returns no score (the message
    names the method), or if a trajectory cannot be compared.
    """
    pairs = list(zip(instances, solved.solutions, strict=True))
    try:
        found_scores = [call_task(task, "score", task.score, *pair) for pair in pairs]
        scores = tuple(number_from(task, "score", each) for each in found_scores)
        mean = number_from(task, "mean_score", call_task(task, "mean_score", task.mean_score, scores))
        if not all(math.isfinite(score) for score in (*scores, mean)):
            return Failure("non-finite", f"a score must be finite; the scores are {scores[:5]}", solved.cpu_s)
        compared = pairs[: task.compared] if is_compared else []
        found = [call_task(task, "trajectory", task.trajectory, *pair) for pair in compared]
        trajectories, extras = check_trajectories(task, found), _extras(task, found_scores)
        return Verdict(mean, scores, trajectories, solved.cpu_s, *extras, solved.counted_s)
    except (InvalidSolution, TaskError) as error:
        return _failure_of(task, error, solved.cpu_s)


def _failure_of(task: Task, error: Exception, cpu_s: float = 0.0) -> Failure:
    if isinstance(error.__cause__, MemoryError):
        return _too_much_memory(task, str(error), cpu_s)
    return Failure("invalid-solution", as_message(str(error) or "the task says no more"), cpu_s)


def _too_much_memory(task: Task, said: str = "", cpu_s: float = 0.0) -> Failure:
    words = said or f"the solutions cannot be read and scored by task {task.name!r}"
    return Failure(COSTLY, as_message(f"{words}: more memory than memory_mb"), cpu_s)


def _extras(task: Task, found: Sequence[object]) -> tuple[Metrics, str]:
    """Return the mean metrics and the joined feedback of a program from what `score` returned on each instance."""
    # Both are empty if it returned no Score.
    if not any(isinstance(each, Score) for each in found):
        return {}, ""
    told = [each if isinstance(each, Score) else Score(0.0) for each in found]
    # a metric may be of a class whose conversion to a number raises anything
    metrics = call_task(task, "score", lambda: [limit_metrics(dict(each.metrics)) for each in told])
    if strange := [type(each.feedback).__name__ for each in told if not isinstance(each.feedback, str)]:
        raise TaskError(f"the feedback of `score` of task {task.name!r} must be text, not {strange[0]}")
    return mean_metrics(metrics), join_feedback([each.feedback for each in told])


def check_trajectories(task: Task, found: Sequence[AlgorithmRun]) -> tuple[AlgorithmRun, ...]:
    """Return `found`, what a task's `trajectory` returned for each instance, as a tuple if it can be compared.

    Raises TaskError for other types, more than MOST_STATES states in one or MOST_NUMBERS numbers in all, or a
    coordinate beyond LARGEST_COORDINATE.
    """
    must = f"`trajectory` of task {task.name!r} must"
    if strange := [type(each).__name__ for each in found if not isinstance(each, Trajectory | Samples)]:
        advice = f"return a behavesim.Trajectory, such as Trajectory.prefixes(decisions), not {strange[0]}"
        raise TaskError(f"{must} {advice}")
    runs = [run for each in found for run in trajectories_of(each)]
    if (longest := max(map(len, runs), default=0)) > MOST_STATES:
        raise TaskError(f"{must} give at most {MOST_STATES} states, got {longest}; keep every so many")
    if (numbers := sum(run.data.size for run in runs)) > MOST_NUMBERS:
        raise TaskError(f"{must} give at most {MOST_NUMBERS} numbers over all instances, got {numbers}")
    if any(run.kind == "vectors" and np.abs(run.data).max() > LARGEST_COORDINATE for run in runs):
        raise TaskError(f"{must} give coordinates within ±{LARGEST_COORDINATE:g}")
    return tuple(found)


def _encoded(verdict: Verdict | Failure) -> bytes:
    """Return a verdict without its trajectories and times, or a failure, as JSON."""
    if isinstance(verdict, Failure):
        return json.dumps({"failure": [verdict.reason, verdict.message]}).encode()
    kept = ("score", "scores", "metrics", "feedback")
    return json.dumps({name: getattr(verdict, name) for name in kept}).encode()


# ---- the process


@dataclass(frozen=True)
class _Open(Confinement):
    """No layer, but limits: the children run no program."""

    control: socket.socket | None = None  # to the search

    def fork(self) -> int:
        """Fork a child, which must then call `confine_child`."""
        return os.fork()

    def confine_child(self, *_: int) -> None:
        """Give this child a session and signals of its own, end it with its parent, and limit its memory."""
        signal.set_wakeup_fd(-1)
        for each in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)
        os.setsid()  # what `score` starts is killed with this process
        processes.die_with_parent(signal.SIGKILL)
        if self.control:
            self.control.close()  # or the search could not see the server's death
        _limit(resource.RLIMIT_CORE, 0)
        if processes.LINUX:
            # not the address space: what `score` starts, such as Java, reserves far more of it than it uses
            _limit(resource.RLIMIT_DATA, processes.data_memory() + self.limits.memory)


def _limit(kind: int, bound: int) -> None:
    """Lower the soft limit `kind` (RLIMIT_…) of this process to `bound`, or to its hard limit if that is lower."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (bound if hard == resource.RLIM_INFINITY else min(bound, hard), hard))


def judge_in_turn(scorer: Scorer, limits: Limits, source: str, progress: Progress, fd: int) -> None:
    """Answer the requests that come through the socket `fd` until it closes, each within `limits.score_s` (CPU)."""
    own = str(os.getpid()).encode()
    messages.send(fd, messages.SIZE.pack(len(own)) + own)
    while True:
        try:
            kind, frame = messages.decode_pair(messages.receive_message(fd))
        except ConnectionError:
            return
        # beyond it the kernel ends this process by SIGXCPU, and the search starts another
        block = decode_block(kind)
        may_s = limits.score_s if block is None else limits.times(block.share).score_s
        _limit(resource.RLIMIT_CPU, math.ceil(time.process_time() + may_s))
        messages.send(fd, scorer.answer(kind, frame))


def main(assignment: RefereeAssignment, control: socket.socket) -> None:
    """Load the task with the instances of the split, and fork children that judge, until the search ends."""
    processes.die_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the search, which ends this process
    limits = assignment.limits
    with send_errors(control, usage=TaskError):
        task = TaskReference(assignment.task).load()
        scorer = Scorer(task, assignment.split, limits, assignment.starts, assignment.further)
        if processes.threads() > 1:
            raise SandboxError(f"task {task.name!r} starts threads when it is loaded; a fork would lose them")
    prepare_for_forks()
    control.sendall(line(Ready("", (), scorer.instances)))
    perform = partial(judge_in_turn, scorer, limits)
    # `own_pids` is not None: or the server would kill children of its own that the task has started
    confined = _Open(limits, os.getpid(), address_space=0, tasks=0, own_pids=0, control=control)
    ForkServer(control, perform, Limits(math.inf), confined).serve()


if __name__ == "__main__":
    main(RefereeAssignment.from_json(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
    os._exit(0)  # skips Python's cleanup, which has nothing to do
