"""A daemon under attack, to be run as a process of its own: `python -m tests.sandbox.siege SETTINGS`.

It evaluates every attack and prints what the judge made of it; whether harm was done is for others to see.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import sys
from contextlib import AsyncExitStack

from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool
from behavesim.task import TaskReference
from behavesim.task.verdict import Failure, Verdict
from tests.sandbox.attack import Attack
from tests.sandbox.attacks_on_the_judge import ON_THE_JUDGE
from tests.sandbox.attacks_on_the_kernel import BY_NUMBER, ON_THE_KERNEL
from tests.sandbox.attacks_on_the_machine import ON_THE_MACHINE
from tests.sandbox.attacks_on_the_search import ON_THE_SEARCH
from tests.sandbox.attacks_on_the_walls import ON_THE_WALLS
from tests.sandbox.fakes import judge_with
from tests.sandbox.honest import NUMPY_HEURISTIC, SCIPY_AND_NUMBA_HEURISTIC

ATTACKS: tuple[Attack, ...] = (*ON_THE_MACHINE, *ON_THE_KERNEL, *ON_THE_WALLS, *ON_THE_SEARCH, *ON_THE_JUDGE)
PATIENT = Limits(timeout_s=30, memory_mb=512)
HASTY = Limits(timeout_s=0.05, memory_mb=512)
"""For programs that never end."""
WARY = Limits(timeout_s=0.25, memory_mb=512)
"""For programs that may well wait for ever where no filter of calls stops them."""
SCIENTIFIC = ("scipy.optimize", "scipy.spatial")
"""What the demanding program imports."""


async def siege(task: str, layers: list[str], words: dict[str, str], names: list[str]) -> dict[str, object]:
    """Evaluate the named attacks with their words filled in, and then an honest program; where isolation is strong, a
    demanding program beside them."""
    reference = TaskReference(task)
    attacks = [attack for attack in (*ATTACKS, *BY_NUMBER) if attack.name in names]
    limits = [limits_for(attack, layers) for attack in attacks]
    async with AsyncExitStack() as stack:
        pools = {
            each: Pool(
                reference, "search", 12, each, True, tuple(layers), scientific=SCIENTIFIC if each == PATIENT else ()
            )
            for each in dict.fromkeys((PATIENT, *limits))
        }
        judges = {each: await stack.enter_async_context(judge_with(reference, pool)) for each, pool in pools.items()}
        judge = judges[PATIENT]
        demanding = [asyncio.create_task(judge.evaluate(SCIPY_AND_NUMBA_HEURISTIC))] if "user" in layers else []
        verdicts = await asyncio.gather(
            *[judges[each].evaluate(filled(attack.source, words)) for each, attack in zip(limits, attacks, strict=True)]
        )
        return {
            "isolation": pools[PATIENT].isolation,
            "notes": pools[PATIENT].notes,
            "outcomes": {attack.name: described(each) for attack, each in zip(attacks, verdicts, strict=True)},
            "honest": [described(await each) for each in (judge.evaluate(NUMPY_HEURISTIC), *demanding)],
        }


def limits_for(attack: Attack, layers: list[str]) -> Limits:
    if "timeout" in attack.expected:
        return HASTY
    return PATIENT if "seccomp" in layers else WARY


def filled(source: str, words: dict[str, str]) -> str:
    for word, meaning in {**words, "DAEMON": str(os.getpid())}.items():
        source = source.replace(word, meaning)
    return source


def described(verdict: Verdict | Failure) -> dict[str, object]:
    if isinstance(verdict, Failure):
        return dataclasses.asdict(verdict)
    return {"reason": "score", "score": verdict.score, "message": ""}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(siege(**json.loads(sys.argv[1])))))
