"""The first page's picture: `python -m tests.reports.tours runs/RUN > docs/tours.svg`.

The run is one of `tsp`. On the left are the tours of the template and of the recommended program, city by city, on a
held-out instance of 50 cities: of these the one whose gain is nearest to the certificate's. On the right is the
certificate: the gain on each fresh instance of the race, their mean and its interval; the template is the line at 0.
Tours are pale until they are drawn, so that a picture that does not move shows them, too.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import behavesim as bs
from behavesim.application.evaluation import evaluate_programs
from behavesim.state.events import FreshScored
from behavesim.state.race import Certificate
from behavesim.store.reading import read_events
from behavesim.task import TaskReference
from behavesim.task.verdict import Verdict

SIDE, MARGIN, HEAD = 240, 16, 52
CITIES = 50
SECONDS = 10.0
STYLE = f"""
text {{ font: 13px sans-serif; fill: #333 }}
.back, .panel {{ fill: #fff }}
.panel {{ stroke: #ccc }}
.cities {{ fill: #333 }}
.tick {{ text-anchor: end; font-size: 11px }}
.tour {{ fill: none; stroke-width: 2; stroke-dasharray: 1 }}
.pale {{ fill: none; stroke-width: 2; stroke-opacity: .25 }}
.template {{ stroke: #D55E00 }}
.found {{ stroke: #0072B2 }}
.gain {{ fill: #0072B2; fill-opacity: .45 }}
.interval {{ fill: #0072B2; fill-opacity: .25 }}
.line {{ stroke-width: 2 }}
@media (prefers-color-scheme: dark) {{
text, .cities {{ fill: #ddd }}
.back, .panel {{ fill: #0d1117 }}
.panel {{ stroke: #555 }}
.template {{ stroke: #F0A060 }}
.found {{ stroke: #56B4E9 }}
.gain, .interval {{ fill: #56B4E9 }}
}}
@keyframes draw {{ from {{ stroke-dashoffset: 1 }} to {{ stroke-dashoffset: 0 }} }}
@media (prefers-reduced-motion: no-preference) {{ .tour {{ animation: draw {SECONDS:g}s linear }} }}
"""


def picture(run: bs.LoadedRun) -> str:
    """Both tours side by side and, if the run has one, the certificate, as SVG."""
    found = run.recommended or run.best
    assert found is not None and found.source is not None and run.template.source is not None
    panels = _tours(run, run.template.source, found.source)
    if run.certificate is not None and run.certificate.interval is not None:
        panels.append(_certificate(run, run.certificate, run.certificate.interval))
    drawn = "\n".join(
        f'<g transform="translate({MARGIN + number * (SIDE + 3 * MARGIN)} {HEAD})">{panel}</g>'
        for number, panel in enumerate(panels)
    )
    size = f'width="{len(panels) * (SIDE + 3 * MARGIN) - MARGIN}" height="{SIDE + HEAD + 2 * MARGIN}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>\n'
        f'<rect class="back" width="100%" height="100%"/>\n{drawn}\n</svg>\n'
    )


def _tours(run: bs.LoadedRun, template_source: str, source: str) -> list[str]:
    task = TaskReference("tsp").load()
    programs = [("template", template_source), ("found", source)]
    verdicts = [each.verdict for each in asyncio.run(evaluate_programs(run.settings, task, programs, "held-out"))]
    template, found = (each for each in verdicts if isinstance(each, Verdict))
    gains = 1 - np.divide(found.scores, template.scores)
    usual = gains.mean() if run.certificate is None else run.certificate.gain
    instances = task.instances("held-out")
    of_size = [number for number, each in enumerate(instances) if len(each.distances) == CITIES]
    number = min(of_size, key=lambda each: abs(gains[each] - usual))
    route = task.picture(instances[number])
    assert isinstance(route, bs.Route)
    places = np.array(route.places) * SIDE
    drawn = []
    for name, kind, verdict in (("template", "template", template), ("recommended program", "found", found)):
        tour = verdict.trajectories[number]
        assert isinstance(tour, bs.Trajectory)
        length = f"a tour of length {verdict.scores[number]:.2f}"
        said = f"{name}:", length if kind == "template" else f"{length}, {100 * gains[number]:.1f} % shorter"
        drawn.append(frame(*said) + _tour(places, tour.state(len(tour) - 1), kind))
    return drawn


def frame(first: str, second: str) -> str:
    """Two lines of text above an empty panel."""
    return (
        f'<text y="-32">{first}</text><text y="-15">{second}</text>'
        f'<rect class="panel" x="-8" y="-8" width="{SIDE + 16}" height="{SIDE + 16}"/>'
    )


def _tour(places: NDArray[Any], tour: NDArray[Any], kind: str) -> str:
    corners = places[np.append(tour, tour[0])]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners)
    dots = "".join(f'<circle class="cities" cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>' for x, y in places)
    return f'<path class="pale {kind}" d="{path}"/><path class="tour {kind}" pathLength="1" d="{path}"/>{dots}'


def _certificate(run: bs.LoadedRun, certificate: Certificate, interval: tuple[float, float]) -> str:
    """A dot for each fresh instance, up is better; the template is the line at 0."""
    gains: list[float] = []
    for _, _, event in read_events(run.folder.journal):
        if isinstance(event, FreshScored):
            template, found = event.scores[bs.TEMPLATE], event.scores[certificate.candidate]
            gains += (np.subtract(template, found) / template).tolist()
    low, high = min(0.0, *gains), max(0.0, *gains)

    def height(gain: float) -> float:
        return SIDE * (1 - (gain - low) / (high - low))

    dots = "".join(
        f'<circle class="gain" cx="{SIDE * (number + 0.5) / len(gains):.1f}" cy="{height(gain):.1f}" r="3"/>'
        for number, gain in enumerate(gains)
    )
    least, most = interval
    band = f'<rect class="interval" y="{height(most):.1f}" width="{SIDE}" height="{height(least) - height(most):.1f}"/>'
    lines = "".join(
        f'<line class="line {kind}" x2="{SIDE}" y1="{height(gain):.1f}" y2="{height(gain):.1f}"/>'
        for kind, gain in (("template", 0.0), ("found", certificate.gain))
    )
    shorter = sum(gain > 0 for gain in gains)
    said = (
        f"{len(gains)} further maps: {100 * certificate.gain:.1f} % shorter",
        f"[{100 * least:.1f}, {100 * most:.1f}]; longer or equal on {len(gains) - shorter}",
    )
    ticks = "".join(
        f'<text class="tick" x="-12" y="{height(at / 100) + 4:.1f}">{at} %</text>'
        for at in range(10 * int(10 * low), int(100 * high) + 1, 10)
    )
    return frame(*said) + band + lines + dots + ticks


if __name__ == "__main__":
    sys.stdout.write(picture(bs.load_run(Path(sys.argv[1]))))
