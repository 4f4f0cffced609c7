"""Study "visualise": two programs that differ in one word, and the tours they build (paper, figure on the TSP)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.table import COUNT, Column, Table
from behavesim.code_similarity.rouge import rouge
from behavesim.reports.figures import write_figure
from behavesim.similarity import BehaveSim
from behavesim.studies.dataset import PAIRS
from behavesim.trajectory import Trajectory

CITIES, SEED = 50, 2024
STEPS = (5, 25, 50)


@dataclass(frozen=True)
class VisualStudy:
    """The routes of the pair "nearest and farthest city" through fifty cities in the unit square."""

    cities: NDArray[np.float64]
    routes: tuple[tuple[int, ...], tuple[int, ...]]

    @cached_property
    def similarity(self) -> float:
        """BehaveSim of the two routes."""
        first, second = map(Trajectory.prefixes, self.routes)
        return BehaveSim(CITIES).similarity(first, second)

    def shared(self, step: int) -> int:
        """Return how many cities both routes have visited after `step` steps."""
        return len(set(self.routes[0][:step]) & set(self.routes[1][:step]))

    def document(self) -> dict[str, Any]:
        """`{cities, routes, behavesim, rouge}`."""
        routes = [list(route) for route in self.routes]
        return {"cities": self.cities.tolist(), "routes": routes, "behavesim": self.similarity, "rouge": _likeness()}

    def tables(self) -> tuple[Table, ...]:
        """One table: the similarity of the two, and the number of cities they share after some steps."""
        columns = (Column("step", COUNT), Column("cities both visited", COUNT))
        rows = tuple((step, self.shared(step)) for step in STEPS)
        caption = (
            f"As texts they are {_likeness():.2f} alike (ROUGE-L), by behaviour {self.similarity:.3f} (BehaveSim)."
        )
        return (Table("routes", "nearest and farthest city", columns, rows, caption),)

    def draw(self, folder: Path) -> list[Path]:
        """Draw the routes after 5, 25 and 50 steps as routes.pdf and routes.svg; returns the paths."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.0, 4.8), layout="constrained")
        grid = figure.subplots(2, len(STEPS))
        for row, (name, route) in enumerate(zip(("nearest", "farthest"), self.routes, strict=True)):
            for axes, step in zip(grid[row], STEPS, strict=True):
                way = self.cities[[*route[:step], *([route[0]] if step == CITIES else [])]]
                axes.plot(*self.cities.T, ".", color="0.7", markersize=4)
                axes.plot(*way.T, "-o", color=f"C{row}", markersize=3, linewidth=1)
                axes.plot(*way[0], "s", color="0.2", markersize=5)
                axes.set_title(f"{name}, step {step}", fontsize=9)
                axes.set(xticks=[], yticks=[], aspect="equal")
        return write_figure(figure, folder, "routes")


def study() -> VisualStudy:
    """Run both programs on the cities."""
    pair = next(pair for pair in PAIRS if pair.problem.name == "route")
    cities = np.random.default_rng(SEED).random((CITIES, 2))
    distances = np.linalg.norm(cities[:, None] - cities[None], axis=2).tolist()
    first, second = (tuple(program.solve((distances,)).solution) for program in (pair.first, pair.second))
    return VisualStudy(cities, (first, second))


def _likeness() -> float:
    pair = next(pair for pair in PAIRS if pair.problem.name == "route")
    return rouge(pair.first.source, pair.second.source)
