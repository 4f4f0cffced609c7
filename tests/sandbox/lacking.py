"""Runs both sandboxes on a kernel that lacks some calls: `python -m tests.sandbox.lacking TASK CASES` prints JSON.

A filter makes the calls fail before a sandbox starts. Each case is a list of [call, argument, error]: the call fails
if its argument (the option of prctl, the kind of a limit that is set) has that value, or always if it is null.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import struct
import sys
from typing import Any

from behavesim.base.errors import SandboxError
from behavesim.sandbox import kernel, seccomp
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool, TreePool
from behavesim.task import TaskReference
from behavesim.task.verdict import Sent, Solved

NUMBERS = {
    **{name: numbers[0] or 0 for name, numbers in kernel._NUMBERS.items()},
    **{"prlimit64": 302, "prctl": 157, "capset": 126, "pidfd_open": 434},
}
"""Numbers of calls on x86-64."""
HONEST = "def order(points):\n    return points.argsort()\n"


def lack(calls: list[tuple[str, int | None, str]]) -> None:
    """Make calls fail in this process and all that it starts."""
    answers: dict[int, seccomp.Answer] = {}
    for name, value, error in reversed(calls):
        refused = (*seccomp._REFUSE[:3], 0x00050000 | getattr(errno, error))
        rest = answers.get(NUMBERS[name], (seccomp._GRANT,))
        match name:
            case _ if value is None:
                answer: seccomp.Answer = (refused,)
            case "prlimit64":  # a null pointer only asks for the limit
                asks = (seccomp._argument(2), (seccomp._IF_EQUAL, 0, 1, 0), seccomp._GRANT)
                answer = (*asks, seccomp._argument(1), (seccomp._IF_EQUAL, 0, 1, value), refused, *rest)
            case _:
                answer = (seccomp._argument(0), (seccomp._IF_EQUAL, 0, 1, value), refused, *rest)
        answers[NUMBERS[name]] = answer
    code = b"".join(struct.pack("<HBBI", *each) for each in seccomp._instructions(answers, (seccomp._GRANT,)))
    kernel.prepare_prctl(38, 1)()
    seccomp.installation(code)()


async def tried(task: str) -> dict[str, Any]:
    """The level, the notes and what came of an honest program, of both sandboxes."""
    limits = Limits(timeout_s=10.0, memory_mb=512)
    async with Pool(TaskReference(task), "search", 1, limits, allow_weak_isolation=True, preloaded=()) as pool:
        solved = await pool.evaluate(HONEST)
        found = {"functions": [pool.isolation, list(pool.notes), isinstance(solved, Solved) or str(solved)]}
    try:
        loader = "behavesim.sandbox.keeper:load_echo"
        async with TreePool(loader, "hello", 1, limits, allow_weak_isolation=True) as tree:
            sent = await tree.send("")
            echoed = isinstance(sent, Sent) and sent.data == b"hello\n"
            found["evaluators"] = [tree.isolation, list(tree.notes), echoed or str(sent)]
    except SandboxError as error:
        found["evaluators"] = ["none", [], str(error)]
    return found


def main(task: str, cases: dict[str, list[tuple[str, int | None, str]]]) -> None:
    """Try each case in a fork, and print a line for each: its name and what came of it, as JSON."""
    for name, calls in cases.items():
        if os.fork() == 0:
            lack(calls)
            sys.stdout.write(json.dumps([name, asyncio.run(tried(task))]) + "\n")
            sys.stdout.flush()
            os._exit(0)
        os.wait()


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
