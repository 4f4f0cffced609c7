"""A daemon under attack, to be run as a process of its own: `python -m tests.sandbox.siege SETTINGS`.

It evaluates every attack and prints what the judge made of it; whether harm was done is for others to see.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import sys

from behavesim.protocols import Failure, Verdict
from behavesim.sandbox import Judge, Limits, Pool
from behavesim.task import TaskReference
from tests.sandbox.attack import Attack
from tests.sandbox.attacks_on_the_machine import ON_THE_MACHINE
from tests.sandbox.attacks_on_the_search import ON_THE_SEARCH
from tests.sandbox.honest import NUMPY_HEURISTIC, SCIPY_AND_NUMBA_HEURISTIC

ATTACKS: tuple[Attack, ...] = (*ON_THE_MACHINE, *ON_THE_SEARCH)
PATIENT = Limits(timeout_s=30, memory_mb=512)
HASTY = Limits(timeout_s=0.25, memory_mb=512)
"""For programs that may well be out of time; with so little, a busy machine would condemn others too."""


async def siege(task: str, layers: list[str], words: dict[str, str], names: list[str]) -> dict[str, object]:
    """Evaluate the named attacks, all if none is named, with their words filled in; then honest programs."""
    reference, switched_on = TaskReference(task), tuple(layers)
    attacks = [attack for attack in ATTACKS if not names or attack.name in names]
    async with (
        Pool(reference, "search", 4, PATIENT, True, switched_on) as pool,
        Pool(reference, "search", 12, HASTY, True, switched_on, preloaded=()) as hasty_pool,
    ):
        judge, hasty = Judge(reference.load(), "search", pool), Judge(reference.load(), "search", hasty_pool)
        demanding = asyncio.create_task(judge.evaluate(SCIPY_AND_NUMBA_HEURISTIC))
        chosen = [hasty if "timeout" in attack.expected else judge for attack in attacks]
        verdicts = await asyncio.gather(
            *[each.evaluate(filled(attack.source, words)) for each, attack in zip(chosen, attacks, strict=True)]
        )
        return {
            "isolation": pool.isolation,
            "notes": pool.notes,
            "outcomes": {attack.name: described(each) for attack, each in zip(attacks, verdicts, strict=True)},
            "honest": [described(await judge.evaluate(NUMPY_HEURISTIC)), described(await demanding)],
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
