"""What `behavesim run` and `behavesim resume` print when a run ends."""

from __future__ import annotations

from dataclasses import asdict

from behavesim.analysis.glance import kept_summary
from behavesim.analysis.replayed import beside_original
from behavesim.application.session import Ended
from behavesim.engine.build import Launch
from behavesim.reports.ending import ending
from behavesim.reports.program import named
from behavesim.reports.replay import replay_lines
from behavesim.reports.summary import summary_table
from behavesim.reports.terminal import drawn, screen

from .output import print_json, tell


def report_end(launch: Launch, as_json: bool, ended: Ended) -> None:
    """Print the result of a run that ended, and what to do next; `as_json` prints one JSON document."""
    folder, run = launch.folder, ended.run
    said = ending(run, launch.settings, ended.reason)
    found, beside = kept_summary(run), beside_original(run)
    if as_json:
        document = asdict(found)
        print_json(document if beside is None else {**document, "replay": asdict(beside)})
        for line in said:
            tell(line)
        return
    console = screen()
    console.print(drawn(summary_table(found)))
    for line in [] if beside is None else replay_lines(beside):
        console.print(line, soft_wrap=True)
    if folder.best.exists():
        which = "" if run.state.leader is None else f" ({named(run.state.leader.candidate)})"
        console.print(f"best program: {folder.best}{which}", soft_wrap=True)
    if folder.recommended.exists():
        console.print(f"recommended program: {folder.recommended}", soft_wrap=True)
    for line in said:
        console.print(line, soft_wrap=True)
