"""Study "similarity": thirty pairs by every metric (paper, Table 1 and appendix "Detailed Results")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from behavesim.analysis.table import RATIO, Cell, Column, Table
from behavesim.code_similarity.behaviour import OfBehaviour
from behavesim.code_similarity.bleu import text_bleu
from behavesim.code_similarity.executions import OfTraces, Results
from behavesim.code_similarity.metric import Observed, Similarity
from behavesim.code_similarity.named import NAMES, of_source
from behavesim.code_similarity.optional import embeddings, missing
from behavesim.similarity import BehaveSim
from behavesim.studies.dataset import PAIRS, Pair, Program, Solved
from behavesim.studies.paper import CASES, SIMILARITY

TYPES = (1, 2, 3, 4)
TRACED = 3
"""Number of instances (the first) on which executions are traced: a trace is 100 times as long as a trajectory."""

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
"""Our metrics in display order, each with the row of the paper's Table 1 that is shown beside it."""


@dataclass(frozen=True)
class Measured:
    """A pair and its similarity by each installed metric, in [0, 1]."""

    pair: Pair
    values: Mapping[str, float]


@dataclass(frozen=True)
class SimilarityStudy:
    """All pairs by all metrics. `model` computes the embeddings; `missing` says what to install for which metric."""

    rows: tuple[Measured, ...]
    model: str | None = None
    missing: Mapping[str, str] = field(default_factory=dict)

    def mean(self, metric: str, of_type: int) -> float | None:
        """Return the mean over the pairs of a type; None if the metric could not be computed."""
        if metric in self.missing:
            return None
        values = [row.values[metric] for row in self.rows if row.pair.type == of_type]
        return sum(values) / len(values)

    def document(self) -> dict[str, Any]:
        """`{pairs, means, paper, missing}` for machines."""
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
        """Two tables: the means by type beside the paper's, and each pair."""
        return self._means(), self._pairs()

    def _means(self) -> Table:
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


def measured(model: str | None = None) -> Iterator[Measured]:
    """Yield each of the thirty pairs with its similarities; `model` names the embedding model, None for none."""
    metrics = _metrics(model)
    return (Measured(pair, _values(pair, metrics)) for pair in PAIRS)


def study(rows: Iterable[Measured], model: str | None = None) -> SimilarityStudy:
    """Collect the measured pairs into a study."""
    return SimilarityStudy(tuple(rows), model, {name: how for name in BESIDE if (how := missing(name, model))})


def measures(pair: Pair, solved: Sequence[Solved], **settings: Any) -> tuple[BehaveSim, ...]:
    """Return a BehaveSim for each instance of a pair, with the normaliser of that instance's solution."""
    instances = pair.instances(len(solved))
    bounds = [pair.problem.normaliser(at, each.solution) for at, each in zip(instances, solved, strict=True)]
    return tuple(BehaveSim(bound, **settings) for bound in bounds)


def _values(pair: Pair, metrics: Sequence[Similarity]) -> dict[str, float]:
    instances = pair.instances()
    solved = [pair.first.solve(instance) for instance in instances]
    first = _observed(pair.first, solved, instances)
    second = _observed(pair.second, [pair.second.solve(instance) for instance in instances], instances)
    every = (OfBehaviour(measures(pair, solved)), *metrics)
    return {metric.name: metric.similarity(first, second) for metric in every}


def _observed(program: Program, solved: Sequence[Solved], instances: Sequence[tuple[Any, ...]]) -> Observed:
    solutions = tuple(each.solution for each in solved)
    trajectories = tuple(each.trajectory for each in solved)
    return Observed(program.source, solutions, trajectories, tuple(map(program.trace, instances[:TRACED])))


def _metrics(model: str | None) -> list[Similarity]:
    """Return the metrics that can be computed on this machine."""
    sources = dict.fromkeys(program.source for pair in PAIRS for program in (pair.first, pair.second))
    metrics: list[Similarity] = [of_source(name, sources) for name in NAMES if not missing(name, model)]
    metrics += [Results(), OfTraces("trace-bleu", text_bleu)]
    if model is not None and not missing("embedding", model):
        metrics.extend(embeddings(model))
    return metrics


def _beside(pair: Pair) -> float | None:
    return None if pair.type == 4 else CASES[pair.type][pair.case - 1]
