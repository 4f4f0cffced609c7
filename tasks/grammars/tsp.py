"""Grammar for `tsp` and `tsp_hard`: the distance to each city, and terms added to it.

One rule ignores that few cities are left at the end and makes programs fail, as those of models sometimes do.
"""

GRAMMAR = """
left: scalar = len(unvisited_nodes)
share: scalar = left / len(distance_matrix)
near: cost = distance_matrix[current_node, unvisited_nodes]
home: vector = distance_matrix[destination_node, unvisited_nodes]
remote: vector = distance_matrix[unvisited_nodes].mean(axis=1)
between: matrix = distance_matrix[np.ix_(unvisited_nodes, unvisited_nodes)]
others: matrix = between + 9 * np.eye(left)
ordered: neighbours = np.sort(others, axis=1)
closest: places = others.argmin(axis=1)
spread: vector = between.sum(axis=1) / (left - 1)
isolation: vector = others.min(axis=1)
reach: vector = between.max(axis=1)

cost = near | cost + number * vector | cost - number * vector | cost - number * vector
cost = (cost if left > stage else cost) | number * cost + number * cost | cost * vector
cost = np.where(near <= near[min(few, left - 1)], cost, 9) | np.where(vector > vector, cost, cost)
cost = cost + number * (others + cost).min(axis=1)
vector = vector + vector | vector - vector | vector + number * vector | vector - number * vector | cost
vector = vector * vector | vector / (np.abs(vector) + 0.01) | np.minimum(vector, vector) | np.maximum(vector, vector)
vector = scalar * vector | vector ** 2 | np.exp(-vector) | np.tanh(vector) | np.sqrt(np.abs(vector))
vector = np.argsort(np.argsort(vector)) / left | vector[closest] | np.where(vector > scalar, vector, vector)
vector = matrix.min(axis=1) | matrix.mean(axis=1) | matrix.max(axis=1) | (others + vector).min(axis=1)
vector = ordered[:, :few].mean(axis=1) | ordered[:, min(few, left - 1)] | np.sort(matrix, axis=1)[:, few]
matrix = matrix + vector | matrix - vector | np.minimum(matrix, vector) | np.exp(-number * matrix)
scalar = number | scalar + scalar | scalar - scalar | number * scalar | scalar ** 2 | share
scalar = vector.mean() | vector.min() | vector.max() | near[0]
few = 1 | 2 | 3 | 4 | 5 | 7 | 10
stage = 3 | 5 | 8 | 12 | 16 | 20 | 25 | 30 | 35 | 40 | 45

score: cost
return unvisited_nodes[np.argmin(score)]
"""
