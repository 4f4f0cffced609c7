"""The report as one document for machines; the tables and pages for people are drawn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from behavesim.analysis.clusters import Cluster, clusters
from behavesim.analysis.comparison import Pairs, comparison
from behavesim.analysis.convergence import convergence
from behavesim.analysis.distinct import distinct
from behavesim.analysis.diversity import diversity, diversity_over_time
from behavesim.analysis.failures import failures
from behavesim.analysis.run import TOP, Run
from behavesim.reports.summary import scored, summary


def document(
    runs: Sequence[Run], held_out: Mapping[Path, Mapping[str, Any]] | None = None, pairs: Pairs | None = None
) -> dict[str, Any]:
    """`{runs: […], comparison: […]}`, as the README describes it.

    `held_out` is what analysis.held_out found for each run by its folder, `pairs` which groups' differences are tested.
    """
    known = held_out or {}
    documents = [
        {**_run(run), **({"held_out": known[run.folder.path]} if run.folder.path in known else {})} for run in runs
    ]
    return {"runs": documents, "comparison": comparison(runs, documents, pairs)}


def _run(run: Run) -> dict[str, Any]:
    return {
        **summary(run),
        "convergence": [asdict(checkpoint) for checkpoint in convergence(run)],
        "islands": _islands(run),
        "clusters": [_cluster(run, cluster) for cluster in clusters(run)],
        "failures": [asdict(reason) for reason in failures(run)],
        "distinct": asdict(distinct(run)),
        "diversity": asdict(diversity(run)),
        "diversity_over_time": [{"told": told, **asdict(each)} for told, each in diversity_over_time(run)],
        "top": [{**(scored(run, candidate) or {}), "source": candidate.source} for candidate in run.ranked()[:TOP]],
    }


def _islands(run: Run) -> list[dict[str, Any]]:
    state, rows = run.state, []
    for number, island in enumerate(state.islands):
        best = state.best_member(island.members) if island.members else None
        rows.append(
            {
                "island": number,
                "size": len(island.members),
                "clusters": len({state.members[member].score for member in island.members}),
                "best": None
                if best is None
                else {"candidate": best.candidate, "score": best.score, "gap": run.gap(best.score)},
                "improved_at": island.improved_at,
            }
        )
    return rows


def _cluster(run: Run, cluster: Cluster) -> dict[str, Any]:
    return {
        "size": len(cluster.members),
        "members": list(cluster.members),
        "best": scored(run, cluster.best),
        "medoid": cluster.medoid,
        "cohesion": cluster.cohesion,
    }
