"""Studies of the thirty pairs: "similarity" by every metric (Table 1), "sampling" of trajectories, "visualise"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.analysis.table import COUNT, RATIO, Cell, Column, Table
from behavesim.code_similarity.metric import (
    NAMES,
    Observed,
    OfTraces,
    Results,
    Similarity,
    embeddings,
    missing,
    of_source,
)
from behavesim.code_similarity.text import bleu_of_words, rouge, text_words
from behavesim.similarity import BehaveSim
from behavesim.trajectory import Trajectory

from .dataset import CASES, PAIRS, ROUTE, SAMPLING, SIMILARITY, Pair, Program, Solved
from .figures import new_figure, write_figure

# The types of pairs: what the two programs of a pair share (paper, Table 1).
#
# 1: results and nearly the text; 2: nearly the text alone; 3: results and behaviour; 4: results alone.
TYPES = (1, 2, 3, 4)
# Number of instances (the first) on which executions are traced: a trace is 100 times as long as a trajectory.
TRACED = 3

# Our metrics in display order, each with the rows of the paper's Table 1 that are shown beside it.
BESIDE = {
    "behavesim": ("BehaveSim",),
    "rouge": ("ROUGE",),
    "bleu": ("BLEU",),
    "crystalbleu": ("CrystalBLEU",),
    "ast": ("AST",),
    "codebleu": ("CodeBLEU",),
    "codebertscore": ("CodeBERTScore",),
    "embedding": ("Jina-Code-Embedding", "Qwen3-Embedding-0.6B"),
    "results": ("execution results",),
    "trace-bleu": ("traces + BLEU",),
    "trace-embedding": ("traces + Jina-Code-Embedding", "traces + Qwen3-Embedding-0.6B"),
}


@dataclass(frozen=True)
class Measured:
    """A pair and its similarity by each metric that could be computed, by metric name; 1 is the highest similarity."""

    pair: Pair
    values: Mapping[str, float]


@dataclass(frozen=True)
class SimilarityStudy:
    """All pairs by all metrics."""

    rows: tuple[Measured, ...]
    model: str | None = None
    """Name of the model that was given for the embeddings; None if none was."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """For each metric that could not be computed, why not, and what to do about it."""

    def mean(self, metric: str, of_type: int) -> float | None:
        """Return a metric's mean similarity over the pairs of a type, 1 to 4; None if it could not be computed."""
        if metric in self.missing:
            return None
        values = [row.values[metric] for row in self.rows if row.pair.type == of_type]
        return sum(values) / len(values)

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{pairs, means, paper, missing, embedding_model}`.

        Each of `pairs` has its similarity by each metric; `means` and `paper` list the means of types 1 to 4 by metric.
        A metric that could not be computed is null, and in `missing` with the reason.
        """
        return {
            "pairs": [
                {"type": row.pair.type, "case": row.pair.case, "name": row.pair.name}
                | {metric: row.values.get(metric) for metric in BESIDE}
                for row in self.rows
            ],
            "means": {metric: [self.mean(metric, of_type) for of_type in TYPES] for metric in BESIDE},
            "paper": {name: list(values) for name, values in SIMILARITY.items()},
            "missing": dict(self.missing),
            "embedding_model": self.model,
        }

    def tables(self) -> tuple[Table, ...]:
        """Return two tables: the means by type beside the paper's, and the similarities of each pair."""
        return self._means(), self._pairs()

    def _means(self) -> Table:
        """Return the mean similarity of the pairs of each type: a row for each metric, then the paper's values."""
        columns = [Column("metric"), *(Column(f"type {of_type}", RATIO) for of_type in TYPES), Column("of")]
        rows: list[tuple[Cell, ...]] = []
        for metric, papers in BESIDE.items():
            state = "missing: see below" if metric in self.missing else "ours"
            rows.append((metric, *(self.mean(metric, of_type) for of_type in TYPES), state))
            rows += [("", *SIMILARITY[paper], f"paper: {paper}") for paper in papers]
        absent = (f"{metric}: {how}." for metric, how in self.missing.items())
        unpublished = "The paper's programs are unpublished; ours are others that fit its descriptions."
        stands_in = () if self.model is None else (f"Embeddings are those of {self.model}, not of the paper's models.",)
        caption = "\n".join((unpublished, *stands_in, *absent))
        return Table("means", "mean similarity by type of pair", tuple(columns), tuple(rows), caption)

    def _pairs(self) -> Table:
        shown = [metric for metric in BESIDE if metric not in self.missing]
        columns = (
            Column("case"),
            Column("pair"),
            *(Column(metric, RATIO) for metric in shown),
            Column("paper", RATIO, title="paper's BehaveSim"),
        )
        rows = tuple(
            (row.pair.label, row.pair.name, *(row.values[metric] for metric in shown), _beside(row.pair))
            for row in self.rows
        )
        caption = "Which pair is which case of type 4 the paper does not say; so no figure of its own stands there."
        return Table("pairs", "each pair", columns, rows, caption, keys=2)


def measure_pairs(model: str | None = None) -> Iterator[Measured]:
    """Yield each of the thirty pairs with its similarities by all installed metrics.

    `model` names a sentence-transformers model, or its folder, for the embeddings; None leaves embeddings out. Raises
    UsageError, when called, if the model cannot be loaded.
    """
    metrics = _metrics(model)
    return (Measured(pair, _values(pair, metrics)) for pair in PAIRS)


def study(rows: Iterable[Measured], model: str | None = None) -> SimilarityStudy:
    """Return the study of the pairs, `rows`, that `measured(model)` yielded; give the same `model` here.

    None means that no embeddings were computed.
    """
    return SimilarityStudy(tuple(rows), model, {name: how for name in BESIDE if (how := missing(name, model))})


def measures(pair: Pair, solved: Sequence[Solved], **settings: Any) -> tuple[BehaveSim, ...]:
    """Return a BehaveSim for each of the pair's first instances, normalised by the largest distance possible there.

    `solved` has a solution of each of these instances, and `settings` are further arguments of BehaveSim.
    """
    instances = pair.instances(len(solved))
    bounds = [pair.problem.normaliser(at, each.solution) for at, each in zip(instances, solved, strict=True)]
    return tuple(BehaveSim(bound, **settings) for bound in bounds)


@dataclass(frozen=True)
class OfBehaviour:
    """The metric that is the mean over instances of BehaveSim; `measures` has the measure for each instance."""

    measures: Sequence[BehaveSim]
    name: str = "behavesim"

    def similarity(self, a: Observed, b: Observed) -> float:
        """Return the mean similarity of the trajectories, in [0, 1] if the measures clip."""
        runs = zip(self.measures, a.trajectories, b.trajectories, strict=True)
        return sum(measure.similarity(x, y) for measure, x, y in runs) / len(self.measures)


def text_bleu(reference: str, candidate: str) -> float:
    """Return the BLEU of one text of any kind against another, in [0, 1]; not symmetric."""
    return bleu_of_words(text_words(reference), text_words(candidate))


def _values(pair: Pair, metrics: Sequence[Similarity]) -> dict[str, float]:
    instances = pair.instances()
    solved = [pair.first.solve(instance) for instance in instances]
    first = _observed(pair.first, solved, instances)
    second = _observed(pair.second, [pair.second.solve(instance) for instance in instances], instances)
    # BehaveSim is one for each pair: the largest distance possible differs between instances.
    every = (OfBehaviour(measures(pair, solved)), *metrics)
    return {metric.name: metric.similarity(first, second) for metric in every}


def _observed(program: Program, solved: Sequence[Solved], instances: Sequence[tuple[Any, ...]]) -> Observed:
    solutions = tuple(each.solution for each in solved)
    trajectories = tuple(each.trajectory for each in solved)
    return Observed(program.source, solutions, trajectories, tuple(map(program.trace, instances[:TRACED])))


def _metrics(model: str | None) -> list[Similarity]:
    # CrystalBLEU leaves out what is frequent in all programs; several pairs share a program, which counts once.
    sources = dict.fromkeys(program.source for pair in PAIRS for program in (pair.first, pair.second))
    metrics: list[Similarity] = [of_source(name, sources) for name in NAMES if not missing(name, model)]
    metrics += [Results(), OfTraces("trace-bleu", text_bleu)]
    if model is not None and not missing("embedding", model):
        metrics.extend(embeddings(model))
    return metrics


def _beside(pair: Pair) -> float | None:
    return None if pair.type == 4 else CASES[pair.type][pair.case - 1]


# Study "sampling": BehaveSim on truncated or sampled trajectories (paper, appendix "Influences …").


@dataclass(frozen=True)
class SamplingStudy:
    """The mean BehaveSim of types 1 to 4 for each truncation k and sampling interval n of the paper."""

    means: dict[tuple[float, int], tuple[float, ...]]
    """By (k, n), the means of types 1 to 4 in that order.

    k is the share of states cut off at the end, n the number of states left out between two that are kept."""

    def document(self) -> dict[str, Any]:
        """Return the study as JSON: `{settings: [{truncate, skip, means, paper}]}`.

        `truncate` is k, a fraction; `skip` is n. `means` (ours) and `paper` each list the four means of types 1 to 4.
        """
        rows = [
            {"truncate": k, "skip": n, "means": list(means), "paper": list(SAMPLING[k, n])}
            for (k, n), means in self.means.items()
        ]
        return {"settings": rows}

    def tables(self) -> tuple[Table, ...]:
        """Return one table: the mean BehaveSim of each type of pair, ours beside the paper's; a row for each k and n.

        k is the share (fraction) of a trajectory that is cut off at its end, n the number of states that are left out
        between two that are kept.
        """
        columns = (
            Column("k", RATIO),
            Column("n", COUNT),
            *(Column(f"type {of_type}", RATIO) for of_type in TYPES),
            *(Column(f"paper {of_type}", RATIO) for of_type in TYPES),
        )
        rows: list[tuple[Cell, ...]] = [(*at, *means, *SAMPLING[at]) for at, means in self.means.items()]
        caption = "k: the share of a trajectory cut off at its end; n: states left out between two that are kept."
        return (Table("sampling", "mean BehaveSim by type of pair", columns, tuple(rows), caption),)


def sample_programs() -> Iterator[tuple[Pair, tuple[float, ...]]]:
    """Yield each of the thirty pairs with its mean similarities over instances, one for each (k, n) of SAMPLING.

    k is the share of states cut off at the end, n the number of states left out between two that are kept.
    """
    for pair in PAIRS:
        instances = pair.instances()
        first, second = ([program.solve(at) for at in instances] for program in (pair.first, pair.second))
        yield pair, tuple(_sampled_similarity(pair, first, second, k, n) for k, n in SAMPLING)


def sampling_study(rows: Iterable[tuple[Pair, tuple[float, ...]]]) -> SamplingStudy:
    """Return the means over the pairs of each type; `rows` are what `sample_programs` yields, all thirty."""
    pairs, values = zip(*rows, strict=True)
    types, similarities = np.array([pair.type for pair in pairs]), np.array(values)
    means = np.array([similarities[types == of_type].mean(axis=0) for of_type in TYPES])
    return SamplingStudy(dict(zip(SAMPLING, map(tuple, means.T.tolist()), strict=True)))


def _sampled_similarity(pair: Pair, first: Sequence[Solved], second: Sequence[Solved], k: float, n: int) -> float:
    every = zip(measures(pair, first, truncate=k, skip=n), first, second, strict=True)
    return fmean(measure.similarity(x.trajectory, y.trajectory) for measure, x, y in every)


# Study "visualise": two programs that differ in one word, and the tours they build (paper, figure on the TSP).


DRAWN_CITIES, SEED = 50, 2024
"""Number of cities, as in the task `tsp`, and the seed that places them, any number."""
# The pair "nearest and farthest city".
PAIR = next(pair for pair in PAIRS if pair.problem is ROUTE)
# Steps after which the routes are shown: near the beginning, in the middle, at the end.
STEPS = (5, 25, 50)


@dataclass(frozen=True)
class VisualStudy:
    """The routes of the pair "nearest and farthest city" through fifty cities in the unit square."""

    cities: NDArray[np.float64]
    """Shape (DRAWN_CITIES, 2): coordinates from 0 to 1."""
    routes: tuple[tuple[int, ...], tuple[int, ...]]
    """The cities' numbers in the order of the nearest-city route, and of the farthest-city route."""

    @cached_property
    def similarity(self) -> float:
        """BehaveSim of the two routes, from 0 to 1."""
        first, second = map(Trajectory.prefixes, self.routes)
        return BehaveSim(DRAWN_CITIES).similarity(first, second)

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
                way = self.cities[[*route[:step], *([route[0]] if step == DRAWN_CITIES else [])]]
                axes.plot(*self.cities.T, ".", color="0.7", markersize=4)
                axes.plot(*way.T, "-o", color=f"C{row}", markersize=3, linewidth=1)
                axes.plot(*way[0], "s", color="0.2", markersize=5)
                axes.set_title(f"{name}, step {step}", fontsize=9)
                axes.set(xticks=[], yticks=[], aspect="equal")
        return write_figure(figure, folder, "routes")


def visual_study() -> VisualStudy:
    """Run the two programs of the pair "nearest and farthest city" on the cities."""
    cities = np.random.default_rng(SEED).random((DRAWN_CITIES, 2))
    distances = np.linalg.norm(cities[:, None] - cities[None], axis=2).tolist()
    first, second = (tuple(program.solve((distances,)).solution) for program in (PAIR.first, PAIR.second))
    return VisualStudy(cities, (first, second))


def _likeness() -> float:
    return rouge(PAIR.first.source, PAIR.second.source)
