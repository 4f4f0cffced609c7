"""Study "visualise": two programs that differ in one word, and the tours they build (paper, figure on the TSP)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.table import COUNT, Column, Table
from behavesim.code_similarity.text import rouge
from behavesim.reports.figures import new_figure, write_figure
from behavesim.similarity import BehaveSim
from behavesim.trajectory import Trajectory

from .dataset import PAIRS, ROUTE

CITIES, SEED = 50, 2024
"""Number of cities, as in the task `tsp`, and the seed that places them, any number."""
# The pair "nearest and farthest city".
PAIR = next(pair for pair in PAIRS if pair.problem is ROUTE)
# Steps after which the routes are shown: near the beginning, in the middle, at the end.
STEPS = (5, 25, 50)


@dataclass(frozen=True)
class VisualStudy:
    """The routes of the pair "nearest and farthest city" through fifty cities in the unit square."""

    cities: NDArray[np.float64]
    """Shape (CITIES, 2): coordinates from 0 to 1."""
    routes: tuple[tuple[int, ...], tuple[int, ...]]
    """The cities' numbers in the order of the nearest-city route, and of the farthest-city route."""

    @cached_property
    def similarity(self) -> float:
        """BehaveSim of the two routes, from 0 to 1."""
        first, second = map(Trajectory.prefixes, self.routes)
        return BehaveSim(CITIES).similarity(first, second)

    def shared(self, step: int) -> int:
        """Return how many cities are among the first `step` of both routes."""
        return len(set(self.routes[0][:step]) & set(self.routes[1][:step]))

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{cities, routes, behavesim, rouge}`.

        `cities` are pairs of coordinates, and `routes` two lists of cities' numbers. `behavesim` is the similarity of
        the routes, and `rouge` that of the programs' texts, each a number from 0 to 1.
        """
        routes = [list(route) for route in self.routes]
        return {"cities": self.cities.tolist(), "routes": routes, "behavesim": self.similarity, "rouge": _likeness()}

    def tables(self) -> tuple[Table, ...]:
        """Return one table: how many cities both routes have visited after STEPS; its caption has the similarities."""
        columns = (Column("step", COUNT), Column("cities both visited", COUNT))
        rows = tuple((step, self.shared(step)) for step in STEPS)
        caption = (
            f"As texts they are {_likeness():.2f} alike (ROUGE-L), by behaviour {self.similarity:.3f} (BehaveSim)."
        )
        return (Table("routes", "nearest and farthest city", columns, rows, caption),)

    def draw(self, folder: Path) -> list[Path]:
        """Draw the routes after 5, 25 and 50 steps into routes.pdf and routes.svg; return the two paths.

        Makes the folder if it is missing; raises UsageError if matplotlib is not installed or the files cannot be
        written.
        """
        figure = new_figure(7.0, 4.8)
        grid = figure.subplots(2, len(STEPS))
        for row, (name, route) in enumerate(zip(("nearest", "farthest"), self.routes, strict=True)):
            for axes, step in zip(grid[row], STEPS, strict=True):
                # A whole route returns to its first city.
                way = self.cities[[*route[:step], *([route[0]] if step == CITIES else [])]]
                axes.plot(*self.cities.T, ".", color="0.7", markersize=4)
                axes.plot(*way.T, "-o", color=f"C{row}", markersize=3, linewidth=1)
                axes.plot(*way[0], "s", color="0.2", markersize=5)
                axes.set_title(f"{name}, step {step}", fontsize=9)
                axes.set(xticks=[], yticks=[], aspect="equal")
        return write_figure(figure, folder, "routes")


def study() -> VisualStudy:
    """Run the two programs of the pair "nearest and farthest city" on the cities."""
    cities = np.random.default_rng(SEED).random((CITIES, 2))
    distances = np.linalg.norm(cities[:, None] - cities[None], axis=2).tolist()
    first, second = (tuple(program.solve((distances,)).solution) for program in (PAIR.first, PAIR.second))
    return VisualStudy(cities, (first, second))


def _likeness() -> float:
    return rouge(PAIR.first.source, PAIR.second.source)
