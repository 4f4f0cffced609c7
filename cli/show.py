"""`behavesim show`."""

from __future__ import annotations

from typing import Annotated

import typer

from behavesim.analysis.candidate_details import CandidateDetails, candidate_details
from behavesim.reports.candidate_screen import show_candidate

from .options import RUNS, AsJson, CandidateName, NamedRun, RunsDir, number_called, read_run
from .output import print_result


def show(
    run: NamedRun,
    candidate: CandidateName,
    prompt: Annotated[bool, typer.Option("--prompt", help="Also print the prompt.")] = False,
    reply: Annotated[bool, typer.Option("--reply", help="Also print the reply.")] = False,
    runs_dir: RunsDir = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show a program of a run: its score, its origin, and the programs whose behaviour is most similar."""
    read = read_run(runs_dir, run)
    found = candidate_details(read, number_called(read, candidate))
    print_result(found, as_json, CandidateDetails.document, lambda found: show_candidate(found, prompt, reply))
