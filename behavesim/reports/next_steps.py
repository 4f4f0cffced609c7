"""Say which commands to use next, after the report of a run or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from behavesim.analysis.report import RunReport
from behavesim.analysis.summary import Summary


def next_steps(run: RunReport, name: str) -> list[str]:
    """Return lines with up to three commands for a run, and what each shows; `name` is its name in a command."""
    is_untried = run.origin.has_held_out and run.top and not run.held_out
    untried = {f"report {name} --held-out": "try the best on unseen instances"} if is_untried else {}
    steps = {
        **_going_on(run.summary, name),
        **untried,
        f"report {name} --full": "islands, failures, all the rest",
        f"report {name} --html {name.split('/')[-1]}.html": "the page of the run",
    }
    return command_lines(dict(list(steps.items())[:3]))


def next_steps_of_several(names: Sequence[str]) -> list[str]:
    """Return lines with commands for several runs, and what each shows; `names` are the runs' names in a command."""
    return command_lines(
        {f"report {names[0]}": "one run by itself", f"report {' '.join(names)} --full": "all tables"}
        if len(names) <= 4
        else {f"report {names[0]}": "one run by itself", "report … --full": "all tables"}
    )


def command_lines(commands: Mapping[str, str]) -> list[str]:
    """Return a line for each command of behavesim, with what it is for; the first begins with "next:"."""
    column = max(map(len, commands), default=0)
    begins = ["next: ", *("      " for _ in commands)]
    return [
        f"{begin}behavesim {command:<{column}}  {what}"
        for begin, (command, what) in zip(begins, commands.items(), strict=False)
    ]


def _going_on(summary: Summary, name: str) -> dict[str, str]:
    if summary.state == "running":
        return {f"watch {name}": "follow it"}
    return {} if summary.state == "finished" else {f"resume {name}": "go on with it"}
