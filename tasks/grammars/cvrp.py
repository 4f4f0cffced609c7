"""Grammar for `cvrp`: the distance to each choice, the way home, demands, and customers around."""

GRAMMAR = """
near: cost = distance_matrix[current_node, choices]
home: vector = distance_matrix[choices, 0]
here: scalar = distance_matrix[current_node, 0]
demand: vector = demands[choices] / max(room, 1)
open: nodes = np.flatnonzero(demands)
between: matrix = distance_matrix[np.ix_(choices, open)]
others: matrix = between + 9 * (choices[:, None] == open)
isolation: vector = others.min(axis=1, initial=9)
crowd: vector = np.exp(-5 * between).sum(axis=1)
back: vector = 1.0 * (choices == 0)
full: scalar = 1 - room / (room + demands.sum())

cost = near | near | cost + number * vector | cost - number * vector | cost + number * vector * vector
cost = cost + number * back | cost - number * home | cost - number * demand | cost - number * isolation
vector = demand | home | isolation | crowd | near | home - here | near + home - here | back * scalar | -demand
vector = vector + number * vector | vector - number * vector | vector * vector | scalar * vector | vector ** 2
vector = np.minimum(vector, vector) | np.maximum(vector, vector) | np.where(vector > scalar, vector, vector)
scalar = number | here | full | vector.mean() | vector.min() | scalar * scalar

score: cost
return choices[np.argmin(score)]
"""
