"""Runs a program again, alone, as long as its ending may be the machine's fault and not its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from behavesim.base.errors import SandboxError
from behavesim.sandbox.limits import MEGABYTE, Limits
from behavesim.state.protocols import Postponed

if TYPE_CHECKING:
    from behavesim.sandbox.connection import Ran
    from behavesim.sandbox.runner import Runner

PAUSES_S = (0.0, 10.0, 60.0)
"""Seconds of waiting before each of three tries in which the program runs alone, after its first run was in doubt.

The last is a minute: other work on the machine may need that long until it gives back time and memory."""
_ADVICE = {
    "clock": "let other work on this machine end, then resume",
    "memory": "free memory, then resume; or go on with a smaller memory_mb (--fork NEW-ID)",
}
"""What a person can do, by the reason for which programs are put off."""


async def settled(
    runner: Runner,
    limits: Limits,
    source: str,
    postponed: Postponed,
    question: bytes = b"",
    may_signal: bool = False,
) -> Ran:
    """Return what comes of a program, or of calls of it, once the machine had no part in how it ended.

    A program is put off if it ended by the clock, for lack of the machine's memory, or just above its limit on CPU
    time. It is run again while no other one runs. `postponed` is called before each such try. `limits` are those that
    `runner` enforces. `question` holds the encoded calls that the program is to answer; empty if it runs on every
    instance. `may_signal` is whether programs may kill their own processes. Waits until there is a place. Cancelling
    kills the program. Raises SandboxError if the machine is still in doubt after the last try, or if the sandbox itself
    fails, TaskError if an evaluator can no longer be loaded.
    """
    ran = await runner.run(source, question)
    reason, words = doubt(ran, limits, False, may_signal)
    for pause_s in PAUSES_S:
        if not reason:
            return ran
        postponed(reason, words)
        await asyncio.sleep(pause_s)
        ran = await runner.run(source, question, alone=True)
        reason, words = doubt(ran, limits, True, may_signal)
    if not reason:
        return ran
    raise SandboxError(
        f"the machine cannot say whether a program is within its limits, tried {len(PAUSES_S)} times alone: {words}; "
        + _ADVICE[reason]
    )


def doubt(ran: Ran, limits: Limits, is_alone: bool, may_signal: bool) -> tuple[str, str]:
    """Return why a program's ending may be the machine's fault: "clock", "memory" or "cpu", and words for people.

    Both are empty if the ending is the program's own, as when it slept until its time by the clock was over (killed
    "asleep"): it would on any machine, and a run alone would let all workers wait for it. `is_alone` is whether no
    other program ran meanwhile. After a run alone, CPU time decides; the limit is longer if other processes kept the
    machine busy (`Ending.beside_others`). Time by the clock decides, too, unless the program had no core for most of
    it. A killed process is at fault then if it had half of the machine's memory, or if `may_signal`: it may have killed
    itself.
    """
    for ending in filter(None, (ran.program, ran.ending)):
        allowed_s, spent = limits.allowed_s(ending.first_s), limits.spent(ending.cpu_s, ending.first_s)
        if ending.killed == "waited" or (ending.killed == "wall" and not is_alone):
            return "clock", f"its time by the clock was over, after {spent}"
        is_machines = ending.killed == "machine" and not (is_alone and may_signal)
        if is_machines or (ending.is_killed(limits) and not is_alone):
            held = ending.peak_bytes // MEGABYTE
            return "memory", f"the machine or container had no more memory when it held {held} of {limits.memory_mb} MB"
        if not is_alone and not ending.killed and ending.cpu_s > allowed_s:
            return "cpu", f"it took {spent}, just above its limit"
    return "", ""
