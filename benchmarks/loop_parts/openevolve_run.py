"""Runs OpenEvolve: `python openevolve_run.py URL CANDIDATES CONNECTIONS FOLDER`.

It asks for whole programs, without a cascade of evaluations and without artifacts, as its documentation recommends for
speed. It has CONNECTIONS processes. All other settings are its defaults.
"""

from __future__ import annotations

import sys
from pathlib import Path

import walks
from openevolve import run_evolution
from openevolve.config import Config, LLMModelConfig

EVALUATOR = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import walks


def evaluate(path):
    names = {{}}
    with open(path) as file:
        exec(compile(file.read(), path, "exec"), names)
    return {{"combined_score": -walks.mean_length(names[walks.ENTRY_POINT])}}
"""


def main(url: str, candidates: int, connections: int, folder: Path) -> None:
    """Run to the end: ask the server at `url` for so many candidates; programs and checkpoints go into `folder`."""
    config = Config(max_iterations=candidates, diff_based_evolution=False, log_level="WARNING")
    config.llm.api_base, config.llm.api_key = url, "none"
    config.llm.models = [LLMModelConfig(api_base=url, api_key="none", name="m", timeout=60, retries=3, retry_delay=1)]
    config.evaluator.parallel_evaluations = connections
    config.evaluator.cascade_evaluation = config.evaluator.enable_artifacts = False
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "evaluator.py").write_text(EVALUATOR)
    (folder / "first.py").write_text(f"# EVOLVE-BLOCK-START\n{walks.TEMPLATE}# EVOLVE-BLOCK-END\n")
    run_evolution(folder / "first.py", folder / "evaluator.py", config, candidates, str(folder / "out"), cleanup=False)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
