"""What `behavesim run` and `behavesim resume` print when a run ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from behavesim.analysis.replayed import beside_original
from behavesim.analysis.run import Run
from behavesim.analysis.summary_cache import kept_summary
from behavesim.application.session import Ended
from behavesim.engine.build import Launch
from behavesim.reports.next_steps import ending
from behavesim.reports.summary_tables import summary_table
from behavesim.reports.terminal import show
from behavesim.reports.words import named

from .output import print_json, say, tell
from .streams import take_loss


def report_end(launch: Launch, as_json: bool, ended: Ended) -> None:
    """Print the result of a session that ended, and what to do next; with `as_json` the result is one JSON document.

    If stdout takes no output, stderr says how to see the result later.
    """
    said = ending(ended.run, launch.settings, ended.reason)
    if as_json:
        beside = beside_original(ended.run)
        print_json({**asdict(kept_summary(ended.run)), **({} if beside is None else {"replay": asdict(beside)})})
        for line in said:
            tell(line)
    else:
        _print(ended.run, said)
    if loss := take_loss():
        tell(f"the result cannot be printed: {loss.strerror}; see it with: behavesim report {launch.folder.argument}")


def _print(run: Run, said: Sequence[str]) -> None:
    """Print the run's summary, how it differs from the run it replays, where its programs are, and the lines `said`."""
    folder, beside = run.folder, beside_original(run)
    lines = [] if beside is None else beside.lines()
    if folder.best.exists():
        which = "" if run.state.leader is None else f" ({named(run.state.leader.candidate)})"
        lines.append(f"best program: {folder.best}{which}")
    if run.recommended is not None and folder.recommended.exists():
        early = "" if run.state.has_recommended else f" (chosen from the first {run.state.recommended_of:,} candidates)"
        lines.append(f"recommended program: {folder.recommended}{early}")
    show([summary_table(kept_summary(run))])
    for line in (*lines, *said):
        say(line)
