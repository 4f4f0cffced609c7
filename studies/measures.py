"""Studies "measures", four ways to compare trajectories (paper, appendix "Choice of …"), and "stochastic"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from behavesim.analysis.table import DISTANCE, RATIO, Cell, Column, Table
from behavesim.similarity import BehaveSim
from behavesim.similarity.pairs import Measure
from behavesim.trajectory import Trajectory, fixed_seed, sample

from .figures import new_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Eight optimisers on Rosenbrock's function; their iterates are the trajectories.


# Shape (2,): a point of the plane.
Point = NDArray[np.float64]
# Shape (steps, 2): the points an optimiser visited, the start first.
Iterates = NDArray[np.float64]

# Random starts are drawn from the square [-BOX, BOX]².
BOX = 2.0
# The first two starts: the usual one of the literature, and another.
FIXED = ((-1.2, 1.0), (-1.5, -1.0))
# Number of starts of each optimiser: those of FIXED, and random ones.
STARTS = 10
# Steps of SGD and Adam, which have no stopping rule.
STEPS = 500
SGD_RATE, LONGEST_GRADIENT = 1e-3, 50.0
"""Step size of SGD, and the norm to which a longer gradient is cut."""
ADAM_RATE, ADAM_DECAY = 0.05, (0.9, 0.999)
"""Step size of Adam, and its usual decay rates of the mean and of the square."""
# The point where Rosenbrock's function is 0, its minimum.
OPTIMUM = (1.0, 1.0)


def starts(seed: int = 2026) -> list[Point]:
    """Return ten starts: the two FIXED ones and eight drawn uniformly from the box with `seed`."""
    rng = np.random.default_rng(seed)
    return [*map(np.array, FIXED), *rng.uniform(-BOX, BOX, (STARTS - len(FIXED), 2))]


def _by_scipy(method: str, start: Point, derivatives: int = 0, **options: Any) -> Iterates:
    """Return the iterates of scipy's `minimize` on Rosenbrock's function, start first."""
    # `derivatives` is the number of derivatives that the method is given: 0, 1 or 2.
    from scipy.optimize import minimize, rosen, rosen_der, rosen_hess

    iterates = [start.copy()]
    minimize(
        rosen,
        start,
        method=method,
        jac=rosen_der if derivatives else None,
        hess=rosen_hess if derivatives > 1 else None,
        callback=lambda x: iterates.append(np.array(x)),  # a copy: scipy may use the array again
        options=options,
    )
    return np.array(iterates)


def _sgd(start: Point) -> Iterates:
    """Return the iterates of gradient descent. It clips the gradient: else starts in the box's corners diverge."""
    from scipy.optimize import rosen_der

    iterates = [start]
    for _ in range(STEPS):
        gradient = rosen_der(iterates[-1])
        length = float(np.linalg.norm(gradient))  # 0 at the optimum, so not to be divided by
        iterates.append(iterates[-1] - SGD_RATE * gradient * min(1.0, LONGEST_GRADIENT / max(length, 1e-300)))
    return np.array(iterates)


def _adam(start: Point) -> Iterates:
    """Return the iterates of Adam (Kingma and Ba 2015)."""
    from scipy.optimize import rosen_der

    iterates, mean, square = [start], np.zeros(2), np.zeros(2)
    for step in range(1, STEPS + 1):
        gradient = rosen_der(iterates[-1])
        mean = ADAM_DECAY[0] * mean + (1 - ADAM_DECAY[0]) * gradient
        square = ADAM_DECAY[1] * square + (1 - ADAM_DECAY[1]) * gradient**2
        unbiased = mean / (1 - ADAM_DECAY[0] ** step), square / (1 - ADAM_DECAY[1] ** step)
        iterates.append(iterates[-1] - ADAM_RATE * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8))
    return np.array(iterates)


# Functions from a start to the iterates, keyed by the optimisers' names in the paper.
#
# NelderMead and NelderMead-Adaptive find the same iterates here: in two dimensions both have the same coefficients.
OPTIMISERS: Mapping[str, Callable[[Point], Iterates]] = {
    "CG": lambda start: _by_scipy("CG", start, derivatives=1),
    "Newton-CG": lambda start: _by_scipy("Newton-CG", start, derivatives=2),
    "SGD": _sgd,
    "Adam": _adam,
    "BFGS": lambda start: _by_scipy("BFGS", start, derivatives=1),
    "L-BFGS-B": lambda start: _by_scipy("L-BFGS-B", start, derivatives=1),
    "NelderMead": lambda start: _by_scipy("Nelder-Mead", start),
    "NelderMead-Adaptive": lambda start: _by_scipy("Nelder-Mead", start, adaptive=True),
}

# The names of all trajectory measures that BehaveSim has.
MEASURES: tuple[Measure, ...] = get_args(Measure)
# All pairs of two measures, as indices (i, j) into MEASURES with i < j.
EACH_TWO = tuple(combinations(range(len(MEASURES)), 2))
# Number of states to which every trajectory is resampled: at very unequal lengths only DTW is meaningful.
LENGTH = 50

# Shape (measures, pairs of optimisers).
Similarities = NDArray[np.float64]


@dataclass(frozen=True)
class MeasuresStudy:
    """The similarity of each pair of optimisers by each measure, averaged over starts."""

    pairs: tuple[tuple[str, str], ...]
    """The names of the two optimisers of each pair."""
    similarities: Similarities
    """In the order of MEASURES and of `pairs`."""

    def correlations(self) -> dict[str, NDArray[np.float64]]:
        """Return Kendall's tau (`kendall`) and Spearman's rho (`spearman`) of each two measures.

        Both have shape (measures, measures), in the order of MEASURES; they correlate the similarities of all pairs of
        optimisers.
        """
        from scipy.stats import kendalltau, spearmanr

        return {
            name: np.array([[test(a, b).statistic for b in self.similarities] for a in self.similarities])
            for name, test in (("kendall", kendalltau), ("spearman", spearmanr))
        }

    def nearest(self, optimiser: str, measure: Measure) -> str:
        """Return the optimiser most similar to this one by a measure; raises ValueError for unknown names."""
        row = self.similarities[MEASURES.index(measure)]
        own = [(row[place], *pair) for place, pair in enumerate(self.pairs) if optimiser in pair]
        _, a, b = max(own)
        return b if a == optimiser else a

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{measures, pairs, correlations, nearest_to_cg}`.

        Each of `pairs` has its similarity by each measure. `correlations` has under `kendall` and `spearman` a list of
        `{measures: [a, b], value}`, one for each two measures. `nearest_to_cg` has by measure the name of the optimiser
        most similar to CG.
        """
        rows = [
            {"pair": list(pair), **dict(zip(MEASURES, self.similarities[:, place].tolist(), strict=True))}
            for place, pair in enumerate(self.pairs)
        ]
        correlations = {
            name: [{"measures": [MEASURES[i], MEASURES[j]], "value": float(matrix[i, j])} for i, j in EACH_TWO]
            for name, matrix in self.correlations().items()
        }
        nearest = {measure: self.nearest("CG", measure) for measure in MEASURES}
        return {"measures": list(MEASURES), "pairs": rows, "correlations": correlations, "nearest_to_cg": nearest}

    def tables(self) -> tuple[Table, ...]:
        """Return two tables: the correlations of measures, and the similarity of each pair of optimisers."""
        columns = (Column("pair"), *(Column(measure, RATIO) for measure in MEASURES))
        rows: list[tuple[Cell, ...]] = [
            (f"{a}, {b}", *self.similarities[:, place].tolist()) for place, (a, b) in enumerate(self.pairs)
        ]
        caption = "Nearest to CG: " + ", ".join(f"{self.nearest('CG', m)} ({m})" for m in MEASURES) + "."
        return self._correlations(), Table("pairs", "similarity of optimisers", columns, tuple(rows), caption)

    def draw(self, folder: Path) -> list[Path]:
        """Draw the correlations and the optimisers' ways from the first start.

        Writes correlations and rosenbrock as .pdf and .svg into the folder, which is made if missing, and returns the
        four paths. Raises UsageError if matplotlib is not installed or they cannot be written.
        """
        correlations = new_figure(7.0, 3.4)
        for axes, (name, matrix) in zip(correlations.subplots(1, 2), self.correlations().items(), strict=True):
            axes.imshow(matrix, vmin=0, vmax=1, cmap="viridis")
            axes.set_xticks(range(len(MEASURES)), MEASURES)
            axes.set_yticks(range(len(MEASURES)), MEASURES)
            axes.set_title(name.capitalize(), fontsize=10)
            for (i, j), value in np.ndenumerate(matrix):  # black on the bright end of the colours
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", color="black" if value > 0.6 else "white")
        return [*write_figure(correlations, folder, "correlations"), *write_figure(_ways(), folder, "rosenbrock")]

    def _correlations(self) -> Table:
        kendall, spearman = self.correlations().values()
        columns = (Column("measures"), Column("Kendall's tau", RATIO), Column("Spearman's rho", RATIO))
        rows = tuple(
            (f"{MEASURES[i]}, {MEASURES[j]}", float(kendall[i, j]), float(spearman[i, j])) for i, j in EACH_TWO
        )
        caption = "The paper: mean, dtw and erp correlate highly with one another, and cosine comparatively little."
        return Table("correlations", "rank correlations of measures", columns, rows, caption)


def compare_measures() -> Iterator[Similarities]:
    """Yield, for each of the ten starts, the unclipped similarities of all pairs of optimisers by each measure."""
    return map(_at, starts())


def study(rows: Iterable[Similarities]) -> MeasuresStudy:
    """Return the mean of the similarities over the starts; `rows` are what `compare_measures` yields, at least one."""
    return MeasuresStudy(tuple(combinations(OPTIMISERS, 2)), np.mean(list(rows), axis=0))


def thin_iterates(iterates: Iterates) -> Iterates:
    """Return LENGTH of the iterates, at evenly spaced indices with first and last; if there are fewer, some repeat."""
    return np.asarray(iterates[np.linspace(0, len(iterates) - 1, LENGTH).round().astype(int)])


def _at(start: Point) -> Similarities:
    paths = {name: thin_iterates(run(start)) for name, run in OPTIMISERS.items()}
    greatest = _greatest_distance(paths)
    trajectories = {name: Trajectory.vectors(path) for name, path in paths.items()}
    # Unclipped: at 0 the rank correlations would take different pairs for equal.
    by = [BehaveSim(greatest, measure, clip=False, gap=OPTIMUM) for measure in MEASURES]
    pairs = [(trajectories[a], trajectories[b]) for a, b in combinations(OPTIMISERS, 2)]
    return np.array([[measure.similarity(x, y) for x, y in pairs] for measure in by])


def _greatest_distance(paths: Mapping[str, Iterates]) -> float:
    """Return the largest distance between any two states of all paths, or between a state and OPTIMUM."""
    # The box of starts is no bound: optimisers leave it.
    states = np.concatenate([*paths.values(), [OPTIMUM]])
    return float(np.linalg.norm(states[:, None] - states[None], axis=2).max())


def _ways() -> Figure:
    from scipy.optimize import rosen

    x, y = np.meshgrid(np.linspace(-2, 2, 200), np.linspace(-1.5, 3, 200))
    figure = new_figure(7.0, 3.8)
    for axes, (name, run) in zip(figure.subplots(2, 4).flat, OPTIMISERS.items(), strict=True):
        axes.contour(x, y, np.log1p(rosen(np.stack([x, y]))), 12, colors="0.8", linewidths=0.6)
        axes.plot(*run(starts()[0]).T, "-", color="C0", linewidth=1)
        axes.plot(*starts()[0], "s", color="0.2", markersize=4)
        axes.plot(*OPTIMUM, "*", color="C3", markersize=8)
        axes.set_title(name, fontsize=9)
        axes.set(xticks=[], yticks=[], xlim=(-2, 2), ylim=(-1.5, 3))
    return figure


# Study "stochastic": how alike BehaveSim finds randomised algorithms, by samples of runs and by a fixed seed.


# Number of runs of an algorithm in a sample; their states at each step are compared as a distribution.
SAMPLES = 32
# Number of repetitions of each comparison, each with its own seeds; results are means over them.
SEEDS = 10
DESCENT_STEPS, CITIES = 100, 12
"""Steps of the descents, and cities of the routes."""

# A random algorithm: returns a trajectory drawn with the generator.
Law = Callable[[Generator], Trajectory]
# Names of a subject's four random algorithms, with each of which its first one is compared.
#
# A law is the distribution of an algorithm's trajectories.
COMPARED = ("same law, other seeds", "same law, other use of the generator", "other law", "another law")


def _descent(rng: Generator, momentum: float = 0.0, noise: float = 1.0, in_advance: bool = False) -> Trajectory:
    """Return the DESCENT_STEPS + 1 points of a gradient descent on a quadratic with a noisy gradient."""
    # `momentum` is the share of the last step that is kept; `noise` is the gradient's standard deviation. With
    # `in_advance` the noise has the same distribution but is drawn before the first step, in reverse order.
    drawn = rng.normal(size=(DESCENT_STEPS, 2))[::-1] if in_advance else None
    place, speed = np.array([1.5, -1.0]), np.zeros(2)  # any start inside the box, away from the optimum at 0
    states = [place]
    for step in range(DESCENT_STEPS):
        noisy = rng.normal(size=2) if drawn is None else drawn[step]
        # the gradient of x²/2 + 2y²: unequal curvatures, so that the way to the optimum is bent
        speed = momentum * speed + np.array([1.0, 4.0]) * place + noise * noisy
        # Inside the box no two points are farther apart than the measure's largest distance.
        place = np.clip(place - 0.05 * speed, -BOX, BOX)
        states.append(place)
    return Trajectory.vectors(states)


def _route(rng: Generator, among: int = 2, in_advance: bool = False) -> Trajectory:
    """Return a route that always moves to one of the `among` nearest unvisited cities, chosen at random."""
    # With `in_advance` the random numbers have the same distribution but are drawn first, in reverse order.
    places = np.random.default_rng(7).random((CITIES, 2))  # the same cities for every law and seed
    drawn = rng.random(CITIES) if in_advance else None
    route, left = [0], list(range(1, CITIES))
    while left:
        left.sort(key=lambda city: float(np.linalg.norm(places[city] - places[route[-1]])))
        chance = rng.random() if drawn is None else drawn[len(left)]
        route.append(left.pop(int(chance * min(among, len(left)))))
    return Trajectory.prefixes(route)


@dataclass(frozen=True)
class Subject:
    """Four random algorithms, and the measure by which each is compared with the first of them."""

    laws: tuple[Law, Law, Law, Law]
    """In the order of COMPARED; the first is also what all four are compared with."""
    measure: BehaveSim


SUBJECTS: Mapping[str, Subject] = {
    "noisy descent": Subject(
        (
            _descent,
            partial(_descent, in_advance=True),
            partial(_descent, momentum=0.8),
            partial(_descent, noise=3.0),
        ),
        BehaveSim(float(np.hypot(2 * BOX, 2 * BOX))),
    ),
    "random route": Subject(
        (_route, partial(_route, in_advance=True), partial(_route, among=4), partial(_route, among=11)),
        BehaveSim(CITIES),
    ),
}


@dataclass(frozen=True)
class StochasticStudy:
    """The mean similarity of four comparisons, for each subject and each way to compare."""

    rows: tuple[tuple[str, str, tuple[float, ...]], ...]
    """The subject's name, the way to compare (`32 samples` or `fixed seed`), and the means in the order of COMPARED."""

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{compared, samples, rows: [{subject, by, similarities}]}`.

        `similarities` are in the order of `compare_stochastic`; `samples` is the number of runs in a sample.
        """
        rows = [{"subject": name, "by": how, "similarities": list(values)} for name, how, values in self.rows]
        return {"compared": list(COMPARED), "samples": SAMPLES, "rows": rows}

    def tables(self) -> tuple[Table, ...]:
        """Return one table with a row for each subject and way to compare."""
        columns = (Column("algorithm"), Column("by"), *(Column(name, DISTANCE) for name in COMPARED))
        caption = (
            f"samples: {SAMPLES} runs each, states compared as distributions. Under a fixed seed the first column has "
            "equal seeds: there, the same law that uses its generator otherwise looks much like another law."
        )
        rows: tuple[tuple[Cell, ...], ...] = tuple((name, how, *values) for name, how, values in self.rows)
        return (Table("stochastic", "similarity of stochastic algorithms", columns, rows, caption, keys=2),)


def compare_stochastic() -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """Yield the rows of a StochasticStudy: each subject compared by samples, then with a fixed seed."""
    for name, subject in SUBJECTS.items():
        yield name, f"{SAMPLES} samples", _means(subject, partial(sample, samples=SAMPLES))
        yield name, "fixed seed", _means(subject, fixed_seed)


def _means(subject: Subject, observe: Callable[..., Any]) -> tuple[float, ...]:
    """Return the mean similarities of the subject's first law to each of its four laws, over SEEDS repetitions."""
    # `observe(law, seed=…)` runs a law: `fixed_seed`, or `sample` with its number of runs. The two laws get different
    # seeds, but equal ones with `fixed_seed`, whose similarities would otherwise be those of the seeds.
    other = 0 if observe is fixed_seed else 1
    values = []
    for seed in range(SEEDS):
        # Even seeds for the first law, odd ones for the four: no two repetitions share one.
        one = observe(subject.laws[0], seed=2 * seed)
        values.append([subject.measure.similarity(one, observe(law, seed=2 * seed + other)) for law in subject.laws])
    return tuple(np.mean(values, axis=0).tolist())
