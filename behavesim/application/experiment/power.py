"""Whether an experiment has seeds enough for its tests to tell groups apart."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import comb

from behavesim.analysis.verdicts import too_few
from behavesim.application.experiment.plan import Experiment, Planned


def too_few_seeds(experiment: Experiment, planned: Sequence[Planned]) -> str:
    """Return a sentence if no test of the experiment can be significant, whatever its runs find; "" if one can.

    Tests are those of one metric, on all tasks, with Holm's correction; the smallest group decides.
    """
    groups: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for run in planned:
        same = {name: value for name, value in run.settings.decisive().items() if name != "seed"}
        groups[run.settings.task][json.dumps(same, sort_keys=True)] += 1
    pairs = [comb(len(sizes), 2) if experiment.tests is None else len(experiment.tests) for sizes in groups.values()]
    least = min((size for sizes in groups.values() for size in sizes.values()), default=0)
    return too_few(least, sum(pairs))
