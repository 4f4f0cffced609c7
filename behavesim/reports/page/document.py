"""All that the page of a run shows, as one value and as JSON; every number in it is of the analysis."""

from __future__ import annotations

import base64
import gzip
from dataclasses import dataclass

from pydantic import TypeAdapter

from behavesim.analysis.convergence import Checkpoint
from behavesim.analysis.distinct import Distinct
from behavesim.analysis.failures import Reason
from behavesim.analysis.report import RunReport, report
from behavesim.analysis.run import Candidate, Run
from behavesim.analysis.scored import TopProgram
from behavesim.analysis.summary import Summary
from behavesim.task import Objective

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
class Document:
    """A run as its page shows it; scores are in the task's unit, gaps are fractions, what is unknown is None.

    `texts` is the `Text` of the template and then of every candidate, as JSON, gzipped, in base64: they are most of a
    run, and a page reads them when the first program is opened.
    """

    summary: Summary
    objective: Objective
    budget: int
    distinct: Distinct
    sentence: str
    convergence: tuple[Checkpoint, ...]
    top: tuple[TopProgram, ...]
    failures: tuple[Reason, ...]
    candidates: Columns
    texts: str

    def json(self) -> str:
        """The document as JSON."""
        return TypeAdapter(Document).dump_json(self).decode()


def document(run: Run, found: RunReport | None = None) -> Document:
    """The document of a run as it stands; `found` is its report, where that is known already."""
    found = report(run) if found is None else found
    return Document(
        summary=found.summary,
        objective=run.state.objective,
        budget=run.settings.budget,
        distinct=found.distinct,
        sentence=found.distinct.sentence,
        convergence=found.convergence,
        top=found.top,
        failures=found.failures,
        candidates=_columns(run),
        texts=_packed([run.template, *run.candidates]),
    )


def _columns(run: Run) -> Columns:
    candidates = run.candidates
    names = [name for name in Columns.__dataclass_fields__ if name != "gap"]
    columns = {name: tuple(getattr(candidate, name) for candidate in candidates) for name in names}
    return Columns(**columns, gap=tuple(run.gap(candidate.score) for candidate in candidates))


def _packed(candidates: list[Candidate | None]) -> str:
    texts: list[Text | None] = [
        None if each is None else (each.source, each.thought, each.message, each.scores) for each in candidates
    ]
    packed = gzip.compress(TypeAdapter(list[Text | None]).dump_json(texts), compresslevel=6, mtime=0)
    return base64.b64encode(packed).decode()
