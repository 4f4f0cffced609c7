"""`behavesim demo`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from behavesim.application.demonstration import play_recording, unpack_recording
from behavesim.application.held_out import reports_of
from behavesim.reports import screens
from behavesim.reports.page.html import write_page
from behavesim.reports.terminal import show_sections

from .options import RUNS, RunsDir
from .output import say, tell

# Text on stderr before the search is played back.
ABOUT = (
    "This is a recording: nothing is asked and nothing is evaluated now. A language model wrote these 30 programs for "
    "the task asp on 2026-11-22, for prompts of an earlier version; they were evaluated later, in this order."
)

Seconds = Annotated[float, typer.Option(min=0, max=3600, help="Seconds in which the recorded search is played back.")]


def demo(seconds: Seconds = 20, runs_dir: RunsDir = RUNS) -> None:
    """Play back a recorded search by a language model in the live view, and write its page; no key is needed.

    Afterwards runs/demo is a run like any other: report, show, diff, export and verify work on it. To verify it takes
    5 minutes of CPU time, as all programs run again.
    """
    folder = unpack_recording(runs_dir)
    tell(ABOUT)
    run = asyncio.run(play_recording(folder, seconds))
    (report,) = asyncio.run(reports_of([run], tell, ()))
    show_sections(screens.run_first_screen(report, {}))
    page = folder.path / "page.html"
    write_page(run, report, page)
    say(f"      behavesim diff {folder.argument} template best    what the model changed")
    say(f"the page, for a browser: {page.resolve()}")
