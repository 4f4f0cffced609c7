"""The gallery's picture: `python -m tests.reports.gallery > docs/gallery.svg`.

Of each recording in DRAWN a solution of the template, above, and one of the best program: on the search instance where
its gain is the median. Both stand in the recorded run, so that no program is run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import behavesim as bs
from behavesim.application.demo import recordings, unpack_recording
from behavesim.state.events import Evaluated
from behavesim.store.reading import read_events
from behavesim.task import TaskReference
from tests.reports.tours import HEAD, MARGIN, SIDE, STYLE, frame


def routes(instance: Any, visits: NDArray[Any], longest: float) -> str:
    """The way of a vehicle, a loop for each route: it begins and ends at node 0, the square."""
    places = np.array(instance.places) * SIDE
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places[[0, *visits, 0]])
    dots = "".join(f'<circle class="cities" cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>' for x, y in places[1:])
    x, y = places[0] - 5
    return f'<path d="{path}"/>{dots}<rect class="cities" x="{x:.1f}" y="{y:.1f}" width="10" height="10"/>'


def disks(instance: Any, state: NDArray[Any], longest: float) -> str:
    """Disks in the unit square."""
    circles = state.reshape(-1, 3) * SIDE
    return "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"/>' for x, y, r in circles)


def schedule(instance: Any, jobs: NDArray[Any], longest: float) -> str:
    """A row for each machine and a bar for each step, from time 0 to `longest`; a job has one shade throughout."""
    count, steps = instance.times.shape
    free, ready, done = np.zeros(instance.machines.max() + 1), np.zeros(count), np.zeros(count, dtype=int)
    height, unit, bars = SIDE / len(free), SIDE / longest, []
    for job in jobs:
        machine, time = instance.machines[job, done[job]], instance.times[job, done[job]]
        begin = max(free[machine], ready[job])
        free[machine] = ready[job] = begin + time
        done[job] += 1
        place = f'x="{begin * unit:.1f}" y="{machine * height:.1f}" width="{time * unit:.1f}"'
        bars.append(f'<rect {place} height="{0.8 * height:.1f}" fill-opacity="{0.25 + 0.7 * job / count:.2f}"/>')
    assert (done == steps).all()
    return "".join(bars)


# By recording: what is said of a score, and how a solution is drawn from its instance, its last state and the
# score of the template there.
DRAWN: Mapping[str, tuple[str, Callable[[Any, NDArray[Any], float], str]]] = {
    "cvrp": ("routes of length", routes),
    "circle_packing": ("sum of the radii", disks),
    "job_shop": ("done after", schedule),
}


def panels(name: str, runs: Path) -> list[str]:
    """The two panels of a recording, the template's first."""
    said, draw = DRAWN[name]
    folder, task = unpack_recording(recordings()[name], runs), TaskReference(name).load()
    tried = [each for _, _, each in read_events(folder.journal, only=(Evaluated,)) if isinstance(each, Evaluated)]
    template, found = tried[0], max(tried, key=lambda each: task.objective.utility(each.score))
    gains = np.subtract(found.scores, template.scores)
    number = int(np.argsort(gains, kind="stable")[len(gains) // 2])
    instance, drawn = task.instances("search")[number], []
    for who, kind, program in (("the template", "template", template), ("what the search found", "found", found)):
        trajectory = program.trajectories[number]
        assert isinstance(trajectory, bs.Trajectory)
        shown = draw(instance, trajectory.state(len(trajectory) - 1), template.scores[number])
        head = frame(f"{name}, {who}:", f"{said} {program.scores[number]:.5g}")
        drawn.append(f'{head}<g class="{kind}">{shown}</g>')
    return drawn


def picture() -> str:
    """Two rows of panels, a column for each recording, as SVG."""
    with tempfile.TemporaryDirectory() as runs:
        columns = [panels(name, Path(runs)) for name in DRAWN]
    across, down = SIDE + 3 * MARGIN, SIDE + HEAD + 2 * MARGIN
    drawn = "\n".join(
        f'<g transform="translate({MARGIN + column * across} {HEAD + row * down})">{panel}</g>'
        for column, pair in enumerate(columns)
        for row, panel in enumerate(pair)
    )
    size = f'width="{len(columns) * across - MARGIN}" height="{2 * down}"'
    style = (
        ".template path, .template circle, .found path, .found circle { stroke-width: 1.5; fill: none }\n"
        "g.template rect { fill: #D55E00; stroke: none } g.found rect { fill: #0072B2; stroke: none }\n"
        "g .cities { fill: #333; stroke: none }\n"
        "@media (prefers-color-scheme: dark) {\n"
        "g.template rect { fill: #F0A060 } g.found rect { fill: #56B4E9 } g .cities { fill: #ddd } }\n"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}{style}</style>\n'
        f'<rect class="back" width="100%" height="100%"/>\n{drawn}\n</svg>\n'
    )


if __name__ == "__main__":
    sys.stdout.write(picture())
