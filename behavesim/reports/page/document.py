"""Collect all that the page of a run shows, as one value and as JSON; the analysis computes every number."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from behavesim.analysis.behaviours import BehaviourMap, DistinctCounts, TopProgram, behaviour_map
from behavesim.analysis.candidate_details import Ancestor, RejectionReason, lineage
from behavesim.analysis.candidates import Candidate, metric_names
from behavesim.analysis.convergence import Checkpoint, DiversityAt, Improvement
from behavesim.analysis.difference import Pair, Scene, agreement, candidates_in_groups, playback, with_pictures
from behavesim.analysis.held_out import HeldOut, read_held_out
from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.provenance import Provenance, provenance_of, without_folders
from behavesim.analysis.report import UNMEASURED, RunReport, report, try_or_note
from behavesim.analysis.run import Run
from behavesim.analysis.summary import Summary
from behavesim.base.text import short_name
from behavesim.reports.words import certificate_text, noise_text, rejections, state_in_words
from behavesim.similarity.clustering import average_linkage, tree
from behavesim.task import Objective

# Largest number of clusters into which the tree by behaviour is cut; the page has a colour for each.
BRANCHES = 6
# Largest number of pairs of programs that the page lists, those on which behaviour and source disagree most.
PAIRS = 8

# One coordinate of the four corners of a join's line in a dendrogram: up one branch, across, and down the other.
Corners = tuple[float, float, float, float]
# A matrix of numbers, row by row.
Matrix = tuple[tuple[float, ...], ...]
# What the page knows of every candidate: fields of `Candidate`, and its gap, a fraction.
COLUMNS = (
    *("candidate", "status", "score", "gap", "group", "operator", "parents", "model"),
    *("stage", "reason", "copy_of", "cpu_s", "counted_s"),
)


@dataclass(frozen=True)
class MetricColumn:
    """A metric of all candidates, by number: a number, a word such as "nan", or None for a candidate without it."""

    name: str
    values: tuple[float | str | None, ...]


@dataclass(frozen=True)
class Tree:
    """A dendrogram by average linkage: leaf k is at 10 k + 5, and each join is a line through four corners.

    `leaves` are candidates. `across` has the corners' places along the leaves, `up` their distances, 1 − similarity.
    `height` is the distance of the root.
    """

    leaves: tuple[int, ...]
    across: tuple[Corners, ...]
    up: tuple[Corners, ...]
    height: float


@dataclass(frozen=True)
class BehaviourVsText:
    """The same N programs compared by behaviour and by `metric`, the name of a metric of their source.

    `behaviour` and `source` are (N, N) similarities. `branches` has for each candidate the number of its cluster in the
    tree by behaviour. `pairs` are those on which both disagree most, the largest difference of ranks first.
    """

    metric: str
    candidates: tuple[int, ...]
    behaviour: Matrix
    source: Matrix
    branches: tuple[int, ...]
    by_behaviour: Tree
    by_source: Tree
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Document:
    """A run as its page shows it; scores are in the task's unit, gaps are fractions, unknown values are None.

    `sentence` counts the distinct behaviours, `rejections` the candidates rejected for each reason, `state_text` is the
    run's state in words. `held_out` is None if the programs were not tried there. `behaviour_vs_text` is None if fewer
    than two programs can be compared. `candidates` has the columns COLUMNS by name: a page stays small if it does not
    repeat names for each candidate. `limit_s` is the limit on a program's CPU seconds.

    `texts` is a list for the template and one for every candidate, as JSON, gzipped, in base64. Each holds the source,
    the thought, the message of rejection, the score on each instance, the feedback, and pairs of a metric's name and
    value. They are most of a run's size, so the page unpacks them only when a program is opened.
    """

    summary: Summary
    task: str
    objective: Objective
    budget: int
    distinct: DistinctCounts
    sentence: str
    rejections: str
    state_text: str
    notes: tuple[str, ...]
    certainty: tuple[str, ...]
    made: Provenance
    held_out: HeldOut | None
    has_held_out: bool
    convergence: tuple[Checkpoint, ...]
    improvements: tuple[Improvement, ...]
    top: tuple[TopProgram, ...]
    portfolio: Portfolio
    map: BehaviourMap
    behaviour_vs_text: BehaviourVsText | None
    diversity: tuple[DiversityAt, ...]
    lineage: tuple[Ancestor, ...]
    scenes: tuple[Scene, ...]
    failures: tuple[RejectionReason, ...]
    candidates: Mapping[str, tuple[Any, ...]]
    metrics: tuple[MetricColumn, ...]
    limit_s: float
    texts: str

    def json(self) -> str:
        """Return the document as JSON text, with the names of its fields as keys."""
        return TypeAdapter(Document).dump_json(self).decode()


def document(run: Run, found: RunReport | None = None) -> Document:
    """Return the document of a run as far as it has been read; `found` is its report, made here if None.

    Parts that cannot be computed, such as pictures if the task's code raises, are left out and named in `notes`.
    """
    found = report(run) if found is None else found
    places, no_map = try_or_note(lambda: behaviour_map(run), BehaviourMap((), None), UNMEASURED)
    behaviour_vs_text, no_trees = try_or_note(lambda: _behaviour_vs_text(run), None, UNMEASURED)
    plain = playback(run, [program.candidate for program in found.top])
    tried, _ = try_or_note(lambda: found.held_out or read_held_out(run), None, "")  # without the task none are known
    scenes, no_pictures = try_or_note(lambda: with_pictures(run.task(), plain), plain, "the replay shows no pictures")
    rows = [{**vars(each), "gap": run.gap(each.score)} for each in run.candidates]
    metrics = [each.metrics for each in run.candidates]
    return Document(
        summary=_without_folders(found.summary),
        task=short_name(found.summary.task),
        objective=run.state.objective,
        budget=run.settings.budget,
        distinct=found.distinct,
        sentence=found.distinct.sentence,
        rejections=rejections(found.summary.rejected),
        state_text=without_folders(state_in_words(found.summary)),
        notes=tuple(map(without_folders, dict.fromkeys((*found.all_notes, *no_map, *no_trees, *no_pictures)))),
        certainty=tuple(filter(None, (certificate_text(found.summary), noise_text(found.summary.noise)))),
        made=provenance_of(run),
        held_out=tried,
        has_held_out=found.details().has_held_out,
        convergence=found.convergence,
        improvements=found.improvements,
        top=found.top,
        portfolio=found.portfolio,
        map=places,
        behaviour_vs_text=behaviour_vs_text,
        diversity=found.diversity_over_time,
        lineage=lineage(run, run.best),
        scenes=scenes,
        failures=found.failures,
        candidates={name: tuple(row[name] for row in rows) for name in COLUMNS},
        metrics=tuple(MetricColumn(name, tuple(each.get(name) for each in metrics)) for name in metric_names(metrics)),
        limit_s=run.settings.timeout_s,
        texts=_pack_texts([run.template, *run.candidates]),
    )


def _without_folders(summary: Summary) -> Summary:
    """Return the summary with task, method, proposer and files named without folders: a page may be given to others."""
    task, method, proposer = map(without_folders, (short_name(summary.task), summary.method, summary.proposer))
    failure = None if summary.failure is None else without_folders(summary.failure)
    return replace(summary, task=task, method=method, proposer=proposer, failure=failure)


def _behaviour_vs_text(run: Run) -> BehaviourVsText | None:
    if len(candidates_in_groups(run)) < 2:
        return None
    found = agreement(run)
    return BehaviourVsText(
        metric=found.metric,
        candidates=found.candidates,
        behaviour=tuple(map(tuple, found.behaviour.tolist())),
        source=tuple(map(tuple, found.source.tolist())),
        branches=tuple(average_linkage(1.0 - found.behaviour, BRANCHES)),
        by_behaviour=_tree(found.candidates, found.behaviour),
        by_source=_tree(found.candidates, found.source),
        pairs=tuple(found.disagreements()[:PAIRS]),
    )


def _tree(candidates: tuple[int, ...], similarities: NDArray[np.float64]) -> Tree:
    drawing, height = dendrogram_of(similarities)
    leaves = tuple(candidates[leaf] for leaf in drawing["leaves"])
    return Tree(leaves, tuple(map(tuple, drawing["icoord"])), tuple(map(tuple, drawing["dcoord"])), height)


def _pack_texts(candidates: list[Candidate | None]) -> str:
    texts = [
        each and (each.source, each.thought, each.message, each.scores, each.feedback, tuple(each.metrics.items()))
        for each in candidates
    ]
    text = json.dumps(texts)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()  # equal runs, equal pages


def dendrogram_of(similarities: NDArray[np.float64]) -> tuple[dict[str, Any], float]:
    """Return the average-linkage dendrogram of an (N, N) similarity matrix, N ≥ 2, and the height of its root.

    It is the dict of scipy's `dendrogram`; leaf k of the drawing is at 10 k + 5.
    """
    from scipy.cluster.hierarchy import dendrogram

    joined = tree(1.0 - similarities)
    return dendrogram(joined, no_plot=True), float(joined[-1, 2])
