"""What is handed from one room to another is a frozen value; what changes has one owner, and is named here."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

CHANGING = {
    *(
        "RunState",
        "OpenCandidate",
        "Group",
        "Note",
        "Tally",
        "PromptHistory",
        "FreshRace",
    ),  # the state's, changed by the events that it folds
    *("Search", "Evaluations"),  # a run in progress: made of parts that are given to it, and changed by its loop
    *("RecoveredEvents", "Verification", "Verifier"),  # filled by who makes them
    *("PromptAttempts", "_Child", "_Evaluation"),  # a request or a process under way
    *("Job", "Link"),  # a program and a worker of a cluster
    "Node",  # of the tree of mcts-ahd, which its `Tree` reads from the state
    "EvaluationResult",  # which other people's evaluators change
}


UNFROZEN = re.compile(r"^@dataclass(?!.*frozen=True).*\n(?:@.*\n)*class (\w+)", re.MULTILINE)


def test_dataclasses_are_frozen_but_for_those_that_an_owner_changes() -> None:
    modules = [
        path for folder in ("behavesim", "cli", "offline", "studies", "tasks") for path in (ROOT / folder).rglob("*.py")
    ]
    assert {name for path in modules for name in UNFROZEN.findall(path.read_text())} == CHANGING
