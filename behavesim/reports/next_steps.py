"""Say which commands to use next, after the report of a run or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from behavesim.analysis.report import RunReport
from behavesim.analysis.summary import Summary

MOST_NAMES = 4
"""Largest number of runs that a command names: with more it would take several lines of a terminal."""


def next_steps(run: RunReport, name: str) -> dict[str, str]:
    """Return up to three commands for a run, with what each shows; `name` is the run's name in a command."""
    is_untried = run.origin.has_held_out and run.top and not run.held_out
    steps = {
        **_going_on(run.summary, name),
        **({f"report {name} --held-out": "on unseen instances"} if is_untried else {}),
        f"report {name} --full": "all sections",
        f"report {name} --html page.html": "as a page",
    }
    return dict(list(steps.items())[:3])


def next_steps_of_several(names: Sequence[str]) -> dict[str, str]:
    """Return commands for several runs, with what each shows; `names` are the runs' names in a command."""
    of_all = {f"report {' '.join(names)} --full": "all tables"} if len(names) <= MOST_NAMES else {}
    return {f"report {names[0]}": "one run by itself", **of_all}


def command_lines(commands: Mapping[str, str], across: int) -> list[str]:
    """Return a line for each command of behavesim, with what it shows; the first begins with "next:".

    What they show is left out if a line would be longer than `across` characters.
    """
    column = max(map(len, commands), default=0)
    whole = [f"behavesim {command:<{column}}  {what}" for command, what in commands.items()]
    begins = ["next: ", *("      " for _ in commands)]
    is_fitting = max(map(len, whole), default=0) + len(begins[0]) <= across
    shown = whole if is_fitting else [f"behavesim {command}" for command in commands]
    return [f"{begin}{line}" for begin, line in zip(begins, shown, strict=False)]


def _going_on(summary: Summary, name: str) -> dict[str, str]:
    if summary.state == "running":
        return {f"watch {name}": "follow it"}
    return {} if summary.state == "finished" else {f"resume {name}": "go on with it"}
