"""The README's picture of two tours: `python -m tests.reports.tours runs/RUN > docs/tours.svg`.

The run is one of `tsp`. The picture draws the tours of the template and of the best program, one city after the other,
on the instance of the search on which the gain is the median. Where nothing moves, it shows both tours as they end.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import behavesim as bs
from behavesim.task import TaskReference

SIDE, MARGIN, HEAD = 240, 16, 34
SECONDS = 10.0
STYLE = f"""
text {{ font: 13px sans-serif; fill: #333 }}
.panel {{ fill: #fff; stroke: #ccc }}
.tour {{ fill: none; stroke-width: 2; stroke-dasharray: 1 }}
@keyframes draw {{ from {{ stroke-dashoffset: 1 }} 80% {{ stroke-dashoffset: 0 }} to {{ stroke-dashoffset: 0 }} }}
@media (prefers-reduced-motion: no-preference) {{ .tour {{ animation: draw {SECONDS:g}s linear infinite }} }}
"""


def picture(run: bs.LoadedRun) -> str:
    """Both tours side by side, as SVG."""
    assert run.best is not None
    gains = np.subtract(run.template.scores, run.best.scores)
    instance = int(np.argsort(gains)[len(gains) // 2])
    task = TaskReference("tsp").load()
    route = task.picture(task.instances("search")[instance])
    assert isinstance(route, bs.Route)
    places = np.array(route.places) * SIDE
    tours = [each[instance] for each in run.trajectories([bs.TEMPLATE, run.best.candidate])]
    panels = [
        _panel(places, tour.state(len(tour) - 1), name, column)
        for column, (tour, name) in enumerate(zip(tours, ("template", "best program"), strict=True))
        if isinstance(tour, bs.Trajectory)
    ]
    size = f'width="{2 * SIDE + 5 * MARGIN}" height="{SIDE + HEAD + 2 * MARGIN}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>',
            '<rect width="100%" height="100%" fill="#fff"/>',
            *panels,
            "</svg>\n",
        ]
    )


def _panel(places: NDArray[Any], tour: NDArray[Any], name: str, column: int) -> str:
    corners = places[np.append(tour, tour[0])]
    length = np.linalg.norm(np.diff(corners, axis=0), axis=1).sum() / SIDE
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>' for x, y in places)
    left = MARGIN + column * (SIDE + 3 * MARGIN)
    return (
        f'<g transform="translate({left} {HEAD})"><text y="-14">{name}: tour of length {length:.2f}</text>'
        f'<rect class="panel" x="-8" y="-8" width="{SIDE + 16}" height="{SIDE + 16}"/>'
        f'<path class="tour" pathLength="1" stroke="{("#D55E00", "#0072B2")[column]}" d="{path}"/>{dots}</g>'
    )


if __name__ == "__main__":
    sys.stdout.write(picture(bs.load_run(Path(sys.argv[1]))))
