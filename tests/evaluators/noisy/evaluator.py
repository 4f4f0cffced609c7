"""OpenEvolve's kind, in two stages: a rough look at a noisy function, then a thorough one."""

import random
import runpy


def evaluate(program_path):
    raise RuntimeError("the stages are called, not this")


def evaluate_stage1(program_path):
    return {"rough": mean_of(program_path, 4), "looks": 4, "note": "a rough look"}


async def evaluate_stage2(program_path):
    thorough = mean_of(program_path, 400)
    return {"looks": 400, "combined_score": thorough, "stderr": f"{thorough:.3f} of 1"}


def mean_of(program_path, looks):
    x = runpy.run_path(program_path)["choose"]()
    noise = random.Random(7)
    return sum(1 - (x - 0.3) ** 2 + noise.gauss(0, 0.01) for _ in range(looks)) / looks
