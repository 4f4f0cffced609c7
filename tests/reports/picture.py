"""The README's pictures of a finished run: `python -m tests.reports.picture console|report runs/RUN > docs/….svg`."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from behavesim.analysis.run import Run
from behavesim.application.console import moment_of
from behavesim.reports.panels import Dashboard
from behavesim.state.events import Asked
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events

SHARE = 0.6
"""Of the budget that had been asked for when the picture was taken."""
RATE = 18.0
WIDTH, HEIGHT = 120, 40


def console(path: Path) -> str:
    """The live view of a run when most of its budget had been asked for, as SVG."""
    folder = RunFolder(path)
    whole = [(at, event) for _, at, event in read_events(folder.journal)]
    last = SHARE * Run(folder, whole, 0).settings.budget
    seen = takewhile(lambda pair: not (isinstance(pair[1], Asked) and pair[1].candidate >= last), whole)
    return _drawn(Dashboard(moment_of(Run(folder, seen, 0), RATE)), f"behavesim run tsp --budget {round(last / SHARE)}")


def report(path: Path) -> str:
    """The report of a run in a folder `runs`, as the command shows it, as SVG."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "behavesim", "report", path.name]
    folder = path.resolve().parents[1]
    said = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout
    return _drawn(Text.from_ansi(said), f"behavesim report {path.name}")


def _drawn(view: RenderableType, title: str) -> str:
    console = Console(record=True, width=WIDTH, height=HEIGHT, force_terminal=True, file=io.StringIO())
    console.print(view)
    return console.export_svg(title=title)


if __name__ == "__main__":
    sys.stdout.write({"console": console, "report": report}[sys.argv[1]](Path(sys.argv[2])))
