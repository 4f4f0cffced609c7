"""Collect all that the page of a run shows, as one value and as JSON; the analysis computes every number."""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from behavesim.analysis.agreement import Pair, agreement, held_candidates
from behavesim.analysis.behaviour_map import BehaviourMap, behaviour_map
from behavesim.analysis.candidates import Candidate
from behavesim.analysis.convergence import Checkpoint
from behavesim.analysis.distinct import DistinctCounts
from behavesim.analysis.diversity import DiversityAt
from behavesim.analysis.failures import RejectionReason
from behavesim.analysis.lineage import Ancestor, lineage
from behavesim.analysis.playback import Scene, playback
from behavesim.analysis.portfolio import Portfolio
from behavesim.analysis.report import UNMEASURED, RunReport, attempted, report
from behavesim.analysis.run import Run
from behavesim.analysis.scored import TopProgram
from behavesim.analysis.summary import Summary
from behavesim.reports.heatmap import dendrogram_of
from behavesim.reports.words import state_in_words
from behavesim.similarity.linkage import average_linkage
from behavesim.task import Objective

BRANCHES = 6
"""Number of clusters into which the tree by behaviour is cut; each has its own colour on the page."""
PAIRS = 8
"""Largest number of shown pairs of programs on which behaviour and source disagree most."""

Corners = tuple[float, float, float, float]
Matrix = tuple[tuple[float, ...], ...]
Text = tuple[str | None, str, str, tuple[float, ...]]
"""A candidate's texts: its source (None without one), thought, message of rejection, and score on each instance."""


@dataclass(frozen=True)
class Columns:
    """All candidates in the order of their numbers, a tuple for each column; unknown values are None.

    Gaps are fractions; `cpu_s` is the CPU time of the evaluation in seconds.
    """

    candidate: tuple[int, ...]
    status: tuple[str, ...]
    score: tuple[float | None, ...]
    gap: tuple[float | None, ...]
    group: tuple[str | None, ...]
    operator: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    model: tuple[str | None, ...]
    stage: tuple[str | None, ...]
    reason: tuple[str | None, ...]
    copy_of: tuple[int | None, ...]
    cpu_s: tuple[float | None, ...]


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
class Likeness:
    """The same programs compared by behaviour and by `metric`, a metric of their source.

    `behaviour` and `source` are (N, N) similarities in the order of `candidates`. `branches` has for each candidate the
    number of its cluster in the tree by behaviour. `pairs` are those on which both disagree, the largest difference
    first.
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

    `sentence` counts the distinct behaviours, `stands` is the run's state in words. `notes` say what could not be
    computed, and why. `likeness` is None if there are fewer than two programs to compare.
    `texts` holds the `Text` of the template, then of every candidate, as JSON, gzipped, in base64. They are most of a
    run's size, so the page unpacks them only when a program is opened.
    """

    summary: Summary
    objective: Objective
    budget: int
    distinct: DistinctCounts
    sentence: str
    stands: str
    notes: tuple[str, ...]
    convergence: tuple[Checkpoint, ...]
    top: tuple[TopProgram, ...]
    portfolio: Portfolio
    map: BehaviourMap
    likeness: Likeness | None
    diversity: tuple[DiversityAt, ...]
    lineage: tuple[Ancestor, ...]
    scenes: tuple[Scene, ...]
    failures: tuple[RejectionReason, ...]
    candidates: Columns
    texts: str

    def json(self) -> str:
        """Return the document as JSON."""
        return TypeAdapter(Document).dump_json(self).decode()


def document(run: Run, found: RunReport | None = None) -> Document:
    """Return the document of a run as it stands; `found` is its report if it has been made already.

    Parts that the task's code cannot compute, such as pictures, are left out and named in `notes`.
    """
    found = report(run) if found is None else found
    chosen = [program.candidate for program in found.top]
    places, no_map = attempted(lambda: behaviour_map(run), BehaviourMap((), None), UNMEASURED)
    likeness, no_likeness = attempted(lambda: _likeness(run), None, UNMEASURED)
    scenes, no_pictures = attempted(lambda: playback(run, chosen), None, "the replay shows no pictures")
    return Document(
        summary=found.summary,
        objective=run.state.objective,
        budget=run.settings.budget,
        distinct=found.distinct,
        sentence=found.distinct.sentence,
        stands=state_in_words(found.summary),
        notes=tuple(dict.fromkeys((*found.notes, *no_map, *no_likeness, *no_pictures))),
        convergence=found.convergence,
        top=found.top,
        portfolio=found.portfolio,
        map=places,
        likeness=likeness,
        diversity=found.diversity_over_time,
        lineage=lineage(run, run.best),
        scenes=playback(run, chosen, pictured=False) if scenes is None else scenes,
        failures=found.failures,
        candidates=_columns(run),
        texts=_packed([run.template, *run.candidates]),
    )


def _columns(run: Run) -> Columns:
    candidates = run.candidates
    names = [name for name in Columns.__dataclass_fields__ if name != "gap"]
    columns = {name: tuple(map(attrgetter(name), candidates)) for name in names}
    return Columns(**columns, gap=tuple(run.gap(candidate.score) for candidate in candidates))


def _likeness(run: Run) -> Likeness | None:
    if len(held_candidates(run)) < 2:
        return None
    found = agreement(run)
    return Likeness(
        metric=found.metric,
        candidates=found.candidates,
        behaviour=_rows(found.behaviour),
        source=_rows(found.source),
        branches=tuple(average_linkage(1.0 - found.behaviour, BRANCHES)),
        by_behaviour=_tree(found.candidates, found.behaviour),
        by_source=_tree(found.candidates, found.source),
        pairs=tuple(found.disagreements()[:PAIRS]),
    )


def _tree(candidates: tuple[int, ...], similarities: NDArray[np.float64]) -> Tree:
    drawing, height = dendrogram_of(similarities)
    leaves = tuple(candidates[leaf] for leaf in drawing["leaves"])
    return Tree(leaves, tuple(map(tuple, drawing["icoord"])), tuple(map(tuple, drawing["dcoord"])), height)


def _rows(matrix: NDArray[np.float64]) -> Matrix:
    return tuple(map(tuple, matrix.tolist()))


def _packed(candidates: list[Candidate | None]) -> str:
    texts: list[Text | None] = [
        None if each is None else (each.source, each.thought, each.message, each.scores) for each in candidates
    ]
    packed = gzip.compress(TypeAdapter(list[Text | None]).dump_json(texts), compresslevel=6, mtime=0)
    return base64.b64encode(packed).decode()
