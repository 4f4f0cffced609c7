"""The study as a JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from behavesim.studies.known.study import KnownStudy


def document(study: KnownStudy) -> dict[str, Any]:
    """Return the study as JSON: the task, the split, counts, and lists of the parts named in `findings`.

    `behaviours` counts the different ones; `far` of them are at least `apart` from one another. `similarities` has two
    N × N lists of lists, by BehaveSim and by the metric of text, in the order of `programs`.
    """
    return {
        "task": study.task,
        "split": study.split,
        "score_source": study.score_source,
        "metric": study.metric,
        "behaviours": len(study.firsts),
        "far": study.far,
        "apart": study.apart,
        "parties": [asdict(each) for each in study.parties],
        "programs": [asdict(each) for each in study.found],
        "refused": [asdict(each) for each in study.refused],
        "same_behaviour": [asdict(each) for each in study.same_behaviour()],
        "similar_text": [asdict(each) for each in study.similar_text()],
        "similarities": {"behavesim": study.behaviour.tolist(), study.metric: study.text.tolist()},
    }
