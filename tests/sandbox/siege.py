"""A daemon under attack, to be run as a process of its own: `python -m tests.sandbox.siege SETTINGS`.

It evaluates every attack and prints what the judge made of it; whether harm was done is for others to see.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import sys

from behavesim.sandbox import Limits, Pool, SandboxJudge
from behavesim.task import TaskReference
from behavesim.verdict import Failure, Verdict
from tests.sandbox.attack import Attack
from tests.sandbox.attacks_on_the_judge import ON_THE_JUDGE
from tests.sandbox.attacks_on_the_kernel import ON_THE_KERNEL
from tests.sandbox.attacks_on_the_machine import ON_THE_MACHINE
from tests.sandbox.attacks_on_the_search import ON_THE_SEARCH
from tests.sandbox.attacks_on_the_walls import ON_THE_WALLS
from tests.sandbox.honest import NUMPY_HEURISTIC, SCIPY_AND_NUMBA_HEURISTIC

ATTACKS: tuple[Attack, ...] = (*ON_THE_MACHINE, *ON_THE_KERNEL, *ON_THE_WALLS, *ON_THE_SEARCH, *ON_THE_JUDGE)
PATIENT = Limits(timeout_s=30, memory_mb=512)
HASTY = Limits(timeout_s=0.25, memory_mb=512)
"""For programs that may well be out of time, as all may be that no filter of calls stops; others it might condemn."""


async def siege(task: str, layers: list[str], words: dict[str, str], names: list[str]) -> dict[str, object]:
    """Evaluate the named attacks with their words filled in, and then an honest program; all attacks if none is named,
    and beside them a demanding program."""
    reference, switched_on = TaskReference(task), tuple(layers)
    attacks = [attack for attack in ATTACKS if not names or attack.name in names]
    async with (
        Pool(reference, "search", 4, PATIENT, True, switched_on) as pool,
        Pool(reference, "search", 12, HASTY, True, switched_on, preloaded=()) as hasty_pool,
    ):
        judge, hasty = (
            SandboxJudge(reference.load(), "search", pool),
            SandboxJudge(reference.load(), "search", hasty_pool),
        )
        demanding = [] if names else [asyncio.create_task(judge.evaluate(SCIPY_AND_NUMBA_HEURISTIC))]
        endless = [attack for attack in attacks if "timeout" in attack.expected or "seccomp" not in layers]
        chosen = [hasty if attack in endless else judge for attack in attacks]
        verdicts = await asyncio.gather(
            *[each.evaluate(filled(attack.source, words)) for each, attack in zip(chosen, attacks, strict=True)]
        )
        return {
            "isolation": pool.isolation,
            "notes": pool.notes,
            "outcomes": {attack.name: described(each) for attack, each in zip(attacks, verdicts, strict=True)},
            "honest": [described(await each) for each in (judge.evaluate(NUMPY_HEURISTIC), *demanding)],
        }


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
