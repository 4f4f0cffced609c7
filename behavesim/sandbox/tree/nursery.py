"""The nursery: a process that loads an evaluator once, and forks a child for each program.

It is confined before it loads anything. The evaluator may change what this process does, so the keeper, which started
it, checks its messages. The keeper alone enforces limits and talks to the daemon.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import NoReturn

from behavesim.base.errors import BehavesimError, TaskError
from behavesim.sandbox import processes
from behavesim.sandbox.forking import ForkServer, prepare_for_forks
from behavesim.sandbox.messages import TreeAssignment, in_words, line
from behavesim.sandbox.tree.confinement import TreeConfinement
from behavesim.sandbox.wire import send

Evaluate = Callable[[str], bytes]
"""Evaluates a program's text; returns the bytes to send to the daemon."""


class Nursery(ForkServer):
    """Forks a child for each evaluation that the keeper requests, and reports how each ended; it enforces no limits.

    It sends the keeper what a zygote sends the daemon, and one more line of JSON for each forked child: {"job": …},
    together with a pidfd of the child.
    """

    def _fork(self, job: int, fds: list[int]) -> None:
        """Fork a child, and send the keeper a pidfd of it."""
        super()._fork(job, fds)
        handle = os.pidfd_open(self._children[job].pid)
        socket.send_fds(self._control, [line({"job": job})], [handle])
        os.close(handle)

    def _enforce_limits(self) -> None:
        """Do nothing: the keeper enforces the limits."""


def serve(link: socket.socket, assignment: TreeAssignment, confined: TreeConfinement) -> NoReturn:
    """Confine this process, load the evaluator, and serve the keeper at the other end of `link` until it closes.

    An Exception or SystemExit of any of this is sent to the keeper, cut to MOST_SAID characters. With or without an
    error, the process exits with status 0.
    """
    try:
        processes.die_with_parent(signal.SIGKILL)
        enclosed = confined.enter_nursery()
        evaluate = _load(assignment)
        prepare_for_forks()
        link.sendall(line({"loaded": True}))
        Nursery(link, lambda source, _, fd: send(fd, evaluate(source)), assignment.limits, enclosed).serve()
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the evaluator's: the daemon raises it again)
        with contextlib.suppress(OSError):
            link.sendall(line({"error": in_words(error)[:MOST_SAID], "is_usage": isinstance(error, TaskError)}))
    finally:
        os._exit(0)  # no cleanup of the evaluator's, and no return to the keeper's code


def _load(assignment: TreeAssignment) -> Evaluate:
    """Return the evaluator that the loader makes; what the loader prints goes to standard error.

    A BehavesimError of the loader is raised as it is; raises TaskError for any other Exception, and for SystemExit.
    """
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


MOST_SAID = 2_000
"""Most characters of an error that the nursery sends, and that the keeper passes on."""
