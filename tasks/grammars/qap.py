"""Grammar for `qap`: the cost of a placement now, and what it is likely to cost later."""

GRAMMAR = """
cost: table = 1.0 * added
flow: column = 1.0 * flows.sum(axis=1)[:, None]
distance: row = 1.0 * distances.sum(axis=1)
left: scalar = len(added)
still: table = flow * distance / max(left - 1, 1)
sorted_flows: matrix = np.sort(flows, axis=1)[:, ::-1]
sorted_distances: matrix = np.sort(distances + 999 * np.eye(left), axis=1)
bound: table = sorted_flows[:, :left - 1] @ sorted_distances[:, :left - 1].T
regret: table = np.sort(added, axis=1)[:, min(1, left - 1)][:, None] - added
busy: table = flow + 0 * added
central: table = -distance + 0 * added

table = -cost - number * still | -cost - number * bound | regret | busy | central | -cost | busy - number * cost
table = table + number * table | table - number * table | table * scalar | np.maximum(table, table)
table = (table if left > stage else table) | np.where(table > scalar, table, table) | table / (1 + np.abs(table))
scalar = number | left | table.mean() | table.max() | scalar * scalar
stage = 2 | 4 | 6 | 8 | 10 | 12 | 15 | 18

score: table
return score
"""
