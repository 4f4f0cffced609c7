"""Grammar for `flow_shop`: Palmer's slope, total times, and how a job fits behind the jobs so far."""

from behavesim_tasks.grammars.ranking import RANKING

GRAMMAR = f"""
machines: count = times.shape[1]
total: vector = times.sum(axis=1)
slope: vector = times @ (2 * np.arange(machines) - machines + 1)
first: vector = times[:, 0]
last: vector = times[:, -1]
longest: vector = times.max(axis=1)
left: scalar = len(times)
gaps: matrix = np.diff(front) - times[:, :-1]
idle: vector = np.maximum(-gaps, 0).sum(axis=1)
late: vector = np.maximum(gaps, 0).sum(axis=1)
early: vector = (np.maximum(-gaps, 0) / np.arange(1, machines)).sum(axis=1)

vector = slope | slope | total | -total | first | -first | last | longest | -idle | -late | -early
vector = vector - number * idle | vector - number * early | vector - number * late
{RANKING}"""
