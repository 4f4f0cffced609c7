"""The process that the daemon starts for evaluations: it confines itself, forks the nursery and becomes its keeper."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

from behavesim.sandbox import isolation, processes
from behavesim.sandbox.messages import Ready, TreeAssignment, errors_sent
from behavesim.sandbox.tree import confinement, nursery
from behavesim.sandbox.tree.keeper import Keeper


def main(assignment: TreeAssignment, control: socket.socket) -> None:
    """Confine this process, fork the nursery, which loads the evaluator, and serve the daemon as its keeper.

    The daemon is the process that searches, at the other end of `control`. Returns when the daemon closes the socket,
    this process gets SIGTERM, or the nursery fails. If confining fails, the error is sent to the daemon and raised here
    too.
    """
    processes.die_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the daemon, which flushes first
    with errors_sent(control), isolation.attempts_to_reach_outside() as attempts:
        paths = (tuple(map(Path, assignment.readable)), tuple(map(Path, assignment.hidden)))
        devices = tuple(map(Path, assignment.devices))
        confined = confinement.prepare(assignment.layers, assignment.limits, *paths, assignment.workers, devices)
        level, confined = isolation.find_of_tree(confined, attempts, assignment.outside)
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        for each in (control, ours):
            each.close()
        nursery.serve(theirs, assignment, confined)
    theirs.close()
    # the level was found before anything of the evaluator ran
    Keeper(control, ours, pid, assignment.limits, assignment.load_s, Ready(level, confined.notes, 1)).serve()


if __name__ == "__main__":
    main(TreeAssignment.from_json(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
    os._exit(0)  # skips Python's cleanup, which has nothing to do
