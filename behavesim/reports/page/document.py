"""All that the page of a run shows, as one value and as JSON; every number in it is of the analysis."""

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
from behavesim.reports.stops import state_in_words
from behavesim.similarity.linkage import average_linkage
from behavesim.task import Objective

BRANCHES = 6
"""Groups of the tree by behaviour that have a colour each."""
PAIRS = 8
"""Pairs of programs shown on which behaviour and source disagree most."""

Corners = tuple[float, float, float, float]
Matrix = tuple[tuple[float, ...], ...]
Text = tuple[str | None, str, str, tuple[float, ...]]
"""Of a candidate: its source, its thought, the message of its rejection, its score on each instance."""


@dataclass(frozen=True)
class Columns:
    """All candidates in the order of their numbers, a tuple for each column; what is unknown is None."""

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
    """A dendrogram by average linkage: leaf k, a candidate, is at 10 k + 5, and each fork a line through four corners.

    `across` has their places along the leaves, `up` their distances, 1 − similarity; the root is at `height`.
    """

    leaves: tuple[int, ...]
    across: tuple[Corners, ...]
    up: tuple[Corners, ...]
    height: float


@dataclass(frozen=True)
class Likeness:
    """The same programs by what they do and by a metric of their source.

    Matrices are (N, N) similarities in the order of `candidates`; `branches` numbers, for each of them, the group in
    which the tree by behaviour has it. `pairs` disagree most, the first the most of all.
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
    """A run as its page shows it; scores are in the task's unit, gaps are fractions, what is unknown is None.

    `notes` say what could not be found out, and why.
    `texts` is the `Text` of the template and then of every candidate, as JSON, gzipped, in base64: they are most of a
    run, and a page reads them when the first program is opened. `likeness` is None where there are fewer than two
    programs to be compared.
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
        """The document as JSON."""
        return TypeAdapter(Document).dump_json(self).decode()


def document(run: Run, found: RunReport | None = None) -> Document:
    """The document of a run as it stands; `found` is its report, where that is known already."""
    found = report(run) if found is None else found
    chosen = [program.candidate for program in found.top]
    places, no_map = attempted(lambda: behaviour_map(run), BehaviourMap((), None), UNMEASURED)
    likeness, no_likeness = attempted(lambda: _likeness(run), None, UNMEASURED)
    scenes, no_pictures = attempted(lambda: playback(run, chosen), None, "what programs do is not drawn")
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
