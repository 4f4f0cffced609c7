"""The evaluator of `side_by_side.py` unless a person gives one, and how the peers run: this file needs numpy alone.

`python side_by_side_task.py openevolve|shinka URL CALLS CONNECTIONS FOLDER EVALUATOR PROGRAM` runs a peer, in the
peer's environment, to its end. Both ask for whole programs; other settings are their defaults unless said below.
"""

from __future__ import annotations

import sys
from pathlib import Path

# Orders items into bins, as they come; each of the five instances has 300 items. Instances of other numbers are fresh.
EVALUATOR = '''"""Online bin packing: each item goes at once into the bin of highest priority; fewer is better."""

import importlib.util
import os

import numpy as np

CAPACITY, ITEMS, INSTANCES = 100, 300, 5


def bins_used(priority, items):
    free = np.empty(0)
    for item in items:
        fits = np.flatnonzero(free >= item)
        if fits.size:
            chosen = fits[int(np.argmax(priority(float(item), free[fits].copy())))]
            free[chosen] -= item
        else:
            free = np.append(free, CAPACITY - item)
    return len(free)


def evaluate(program_path):
    """Return the mean of the least number of bins that could do, over the number used: 1 is best."""
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    first = int(os.environ.get("BEHAVESIM_INSTANCE", "0"))
    ratios = []
    for number in range(first, first + INSTANCES) if first == 0 else [first]:
        shape, scale = 3.0, 45.0
        items = np.clip(np.random.default_rng(number).weibull(shape, ITEMS) * scale, 1, CAPACITY).astype(int)
        ratios.append(np.ceil(items.sum() / CAPACITY) / bins_used(program.priority, items))
    return {"combined_score": float(np.mean(ratios))}
'''
PROGRAM = '''import numpy as np

# EVOLVE-BLOCK-START
def priority(item, free):
    """Return how good each bin is for the item; `free` has the room that is left in each that fits."""
    left = (free - item) / 100.0
    return -0.2 * left + 0.9 * left**2 - 0.3 * np.abs(left - 0.25) + 0.1 * (left < 0.03)
# EVOLVE-BLOCK-END
'''


def run_openevolve(url: str, calls: int, connections: int, folder: Path, evaluator: Path, program: Path) -> None:
    """Run OpenEvolve with its defaults, but for whole programs, and without a cascade: there are no stages."""
    from openevolve import run_evolution
    from openevolve.config import Config, LLMModelConfig

    config = Config(max_iterations=calls, diff_based_evolution=False, log_level="WARNING")
    config.llm.api_base, config.llm.api_key = url, "none"
    config.llm.models = [LLMModelConfig(api_base=url, api_key="none", name="m", timeout=600, retries=3, retry_delay=1)]
    config.evaluator.parallel_evaluations = connections
    config.evaluator.cascade_evaluation = False
    run_evolution(program, evaluator, config, calls, str(folder / "out"), cleanup=False)


def run_shinka(url: str, calls: int, connections: int, folder: Path, evaluator: Path, program: Path) -> None:
    """Run ShinkaEvolve with its defaults but for whole programs, one model, and no embeddings, which it would ask for.

    Requests that are no candidates (its recommendations, each ten generations) are left out for the same number of
    calls.
    """
    from shinka.core import EvolutionConfig, ShinkaEvolveRunner
    from shinka.database import DatabaseConfig
    from shinka.launch import LocalJobConfig

    judge = folder / "evaluate.py"
    judge.parent.mkdir(parents=True, exist_ok=True)
    judge.write_text(SHINKA_EVALUATOR.format(folder=str(evaluator.parent), module=evaluator.stem))
    evolution = EvolutionConfig(
        num_generations=calls + 1,  # the first program is one
        llm_models=[f"local/m@{url}"],
        llm_dynamic_selection=None,
        embedding_model=None,
        meta_rec_interval=None,
        patch_types=["full"],
        patch_type_probs=[1.0],
        init_program_path=str(program),
        results_dir=str(folder / "out"),
    )
    job = LocalJobConfig(eval_program_path=str(judge))
    limits = {"max_evaluation_jobs": connections, "max_proposal_jobs": connections}
    ShinkaEvolveRunner(evolution, job, DatabaseConfig(db_path="programs.sqlite"), verbose=False, **limits).run()


SHINKA_EVALUATOR = """
import argparse
import sys

sys.path.insert(0, {folder!r})
from {module} import evaluate
from shinka.core.wrap_eval import save_json_results

parser = argparse.ArgumentParser()
parser.add_argument("--program_path")
parser.add_argument("--results_dir")
given = parser.parse_args()
try:
    metrics, error = evaluate(given.program_path), None
except Exception as raised:
    metrics, error = {{"combined_score": 0.0}}, str(raised)
save_json_results(given.results_dir, metrics, error is None, error)
"""

if __name__ == "__main__":
    run = {"openevolve": run_openevolve, "shinka": run_shinka}[sys.argv[1]]
    run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *map(Path, sys.argv[5:8]))
