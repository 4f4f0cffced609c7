"""Fixed seeds for what programs draw without giving a seed."""

from __future__ import annotations

import random
import sys
import types
from typing import Any


def fix_seeds() -> None:
    """Fix seeds in this process and its forks for programs that seed nothing: numpy's global generator is seeded by 0.

    New generators without a seed (`random.Random()`, `numpy.random.default_rng()`) get fixed seeds, too, and so does
    `random.seed()`. The state of the module `random` stays as it is: call `random.seed(0)` in each fork. Import
    numpy.random before, if programs use it: what is not imported yet is not seeded.
    """
    random.Random.seed = _seed_never_by_entropy  # type: ignore[method-assign]
    random.seed = types.MethodType(_seed_never_by_entropy, random.seed.__self__)  # type: ignore[attr-defined]
    if drawn := sys.modules.get("numpy.random"):
        drawn.bit_generator.randbits = random.Random(0).getrandbits  # for default_rng()
        drawn.seed(0)


_seed = random.Random.seed  # the original, before `fix_seeds`


def _seed_never_by_entropy(self: random.Random, a: Any = None, version: int = 2) -> None:
    """Seed a generator as `random.Random.seed` does, but by 0 where that would draw a seed from the system."""
    _seed(self, 0 if a is None else a, version)
