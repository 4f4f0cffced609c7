"""Grammar for `vrptw`: distance, waiting and slack of each choice, and customers around it."""

GRAMMAR = """
near: cost = distance_matrix[current_node, choices]
home: vector = distance_matrix[choices, 0]
arrival: vector = time + near
begins: vector = np.maximum(arrival, windows[choices, 0])
wait: vector = begins - arrival
slack: vector = windows[choices, 1] - begins
due: vector = windows[choices, 1]
demand: vector = demands[choices] / max(room, 1)
back: vector = 1.0 * (choices == 0)
open: nodes = np.flatnonzero(demands)
others: matrix = distance_matrix[np.ix_(choices, open)] + 9 * (choices[:, None] == open)
isolation: vector = others.min(axis=1, initial=9)
reachable: vector = (begins[:, None] + others <= windows[open, 1]).mean(axis=1) if len(open) else back

cost = near + wait | near + number * wait + number * slack | cost + number * vector | cost - number * vector
cost = cost + number * back | cost - number * home | near + number * wait | begins - time
cost = cost + number * vector * vector
vector = demand | home | isolation | wait | slack | due | reachable | near | slack / (due + 0.01) | vector * vector
vector = vector + number * vector | vector - number * vector | scalar * vector | np.minimum(vector, vector)
vector = np.maximum(vector, vector) | np.where(vector > scalar, vector, vector) | np.exp(-np.abs(vector))
scalar = number | time | vector.mean() | vector.min() | scalar * scalar

score: cost
return choices[np.argmin(score)]
"""
