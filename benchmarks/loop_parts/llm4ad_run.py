"""Runs LLM4AD's FunSearch: `python llm4ad_run.py URL CANDIDATES CONNECTIONS FOLDER`.

Evaluations fork instead of spawning, which LLM4AD leaves to choose, and CONNECTIONS threads send requests. All other
settings are its defaults.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import walks
from llm4ad.base import Evaluation
from llm4ad.method.funsearch import FunSearch
from llm4ad.method.funsearch.profiler import FunSearchProfiler
from llm4ad.tools.llm.llm_api_openai import OpenAIAPI


class Walks(Evaluation):
    """The task of `walks` for LLM4AD."""

    def __init__(self) -> None:
        super().__init__(walks.TEMPLATE, walks.DESCRIPTION, timeout_seconds=20)

    def evaluate_program(self, program_str: str, callable_func: Any, **kwargs: Any) -> float:
        """Return the negative mean length of the program's tours: higher is better."""
        return -walks.mean_length(callable_func)


def main(url: str, candidates: int, connections: int, folder: Path) -> None:
    """Run to the end: ask the server at `url` for so many candidates, and write the log into `folder`."""
    FunSearch(
        OpenAIAPI(url, "none", "plain"),
        Walks(),
        FunSearchProfiler(str(folder), log_style="simple", create_random_path=False),
        num_samplers=connections,
        num_evaluators=os.cpu_count() or 1,
        max_sample_nums=candidates,
        fork_proc=True,
    ).run()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
