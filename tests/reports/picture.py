"""The picture of the live view in the README: `python -m tests.reports.picture runs/RUN > docs/console.svg`."""

from __future__ import annotations

import io
import sys
from itertools import takewhile
from pathlib import Path

from rich.console import Console

from behavesim.analysis.run import Run
from behavesim.application.console import moment_of
from behavesim.events import Asked
from behavesim.reports.dashboard import Dashboard
from behavesim.store.folder import RunFolder
from behavesim.store.reading import read_events

SHARE = 0.6
"""Of the budget that had been asked for when the picture was taken."""
RATE = 18.0
WIDTH, HEIGHT = 120, 40


def picture(path: Path) -> str:
    """The live view of a run when most of its budget had been asked for, as SVG."""
    folder = RunFolder(path)
    whole = [(at, event) for _, at, event in read_events(folder.journal)]
    last = SHARE * Run(folder, whole, 0).settings.budget
    seen = takewhile(lambda pair: not (isinstance(pair[1], Asked) and pair[1].candidate >= last), whole)
    console = Console(record=True, width=WIDTH, height=HEIGHT, force_terminal=True, file=io.StringIO())
    console.print(Dashboard(moment_of(Run(folder, seen, 0), RATE)))
    return console.export_svg(title=f"behavesim run tsp --budget {round(last / SHARE)}")


if __name__ == "__main__":
    sys.stdout.write(picture(Path(sys.argv[1])))
