"""A daemon under attack in the second profile; run it as `python -m tests.sandbox.tree.siege SETTINGS`."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from behavesim.base.errors import BehavesimError
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import TreePool
from behavesim.task.verdict import Failure, Sent
from tests.sandbox.tree.attacks import EVALUATORS, PROGRAMS, RAISED, RETURNED, Attack

PATIENT = Limits(timeout_s=10.0, memory_mb=256, output_mb=1)
HASTY = replace(PATIENT, timeout_s=0.05)
"""For programs that never end."""
HERE = Path(__file__).parent
LOOP = "while True: pass"


async def siege(task: str, layers: list[str], words: dict[str, str], names: list[str]) -> dict[str, Any]:
    """Evaluate the named programs, then an honest one, and then the evaluators that are named `evaluator: NAME`."""
    folder = Path(task).parent / "evaluator"
    words = {**words, "FOLDER": str(folder)}
    programs = [each for each in PROGRAMS if each.name in names]
    attacking = [each for each in EVALUATORS if f"evaluator: {each.name}" in names]
    async with AsyncExitStack() as stack:
        limits = [HASTY if "timeout" in each.expected else PATIENT for each in programs]
        pools = {
            each: await stack.enter_async_context(_pool("load", "", folder, layers, each))
            for each in dict.fromkeys((PATIENT, *limits))
        }
        pool = pools[PATIENT]
        # the two that look for one another must run at once, so order and number of workers matter
        found = await asyncio.gather(
            *[pools[limit].send(filled(each, words)) for limit, each in zip(limits, programs, strict=True)]
        )
        honest = _outcome(await pool.send("import os\nout = sum(range(10)), os.path.exists('/tmp/left')"))
        evaluators = {each.name: await _loaded(filled(each, words), folder, layers) for each in attacking}
        return {
            "isolation": pool.isolation,
            "notes": pool.notes,
            "programs": {each.name: _outcome(sent) for each, sent in zip(programs, found, strict=True)},
            "honest": honest,
            "evaluators": evaluators,
        }


def filled(attack: Attack, words: dict[str, str]) -> str:
    source = attack.source
    for word, meaning in words.items():
        source = source.replace(word, meaning)
    return source


async def _loaded(source: str, folder: Path, layers: list[str]) -> tuple[str, str, str]:
    """What came of an evaluator: whether it was loaded, what it stole or why not, and the outcome of a loop in it."""
    try:
        async with _pool("load_hostile", source, folder, layers, HASTY) as pool:
            stolen = _outcome(await pool.send("out = given"))
            return "loaded", stolen[1], _outcome(await pool.send(LOOP))[0]
    except BehavesimError as error:
        return "refused", str(error)[:300], ""


def _pool(loader: str, given: str, folder: Path, layers: list[str], limits: Limits) -> TreePool:
    place, paths = f"tests.sandbox.tree.executes:{loader}", (folder, HERE)
    hidden = (folder / "runs",)
    return TreePool(place, given, 6, limits, paths, hidden, True, tuple(layers), load_s=0.5)


def _outcome(sent: Sent | Failure) -> tuple[str, str]:
    """The kind of outcome, and what was said with it."""
    if isinstance(sent, Failure):
        return sent.reason, sent.message
    text = sent.data.decode(errors="replace")
    return (RAISED if text.startswith('{"raised"') else RETURNED), text[:2000]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(siege(**json.loads(sys.argv[1])))))
