"""The job shop on shops that no split of `job_shop` holds, for the study of sets."""

from __future__ import annotations

from collections.abc import Sequence

from behavesim_tasks.job_shop import JobShop, Shop
from behavesim_tasks.schedule import draw_orders, draw_times

from behavesim.task import Split

SEEDS = range(32101, 32121)
"""Seeds of the shops' times, written down before any shop was drawn; 1000 more is the seed of the machines."""


class FreshJobShop(JobShop):
    """The task `job_shop` with 20 fresh shops as held-out instances: by turns 15 and 20 jobs on 15 machines."""

    def instances(self, split: Split) -> Sequence[Shop]:
        """Return the fresh shops for the split "held-out", and the instances of `job_shop` for the others."""
        if split != "held-out":
            return super().instances(split)
        sizes = [15 + 5 * (place % 2) for place in range(len(SEEDS))]
        return [
            Shop(draw_times(seed, jobs, 15), draw_orders(seed + 1000, jobs, 15))
            for jobs, seed in zip(sizes, SEEDS, strict=True)
        ]


task = FreshJobShop()
