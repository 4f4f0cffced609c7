"""Grammar for `cpp`: a program places the centres, then linear programs move and grow all circles.

Each linear program replaces the distances between centres by their tangents. Distances are convex, so this is stricter,
and each step stays feasible up to the solver's tolerance.
"""

GRAMMAR = """
from scipy.optimize import linprog

i: index = np.arange(n)
side: count = math.ceil(math.sqrt(n))
grid: points = np.column_stack([i % side, i // side]) / side
spiral: points = np.sqrt((i[:, None] + 0.5) / n) * np.column_stack([np.cos(2.4 * i), np.sin(2.4 * i)]) / 2 + 0.5

points = np.column_stack([vector, vector]) | np.random.default_rng(seed).random((n, 2)) | points[:, ::-1]
points = points + number * (points - points) | (points + points) / 2 | 0.5 + number * (points - 0.5) | 1 - points
points = np.where(i[:, None] % count == 0, points, points) | np.where(i[:, None] < first, points, points)
points = points + 0.1 * np.random.default_rng(seed).normal(size=(n, 2)) | (points + number) % 1
vector = i % count / count | i // count / count | (i % count + i // count % 2 / 2) / count | i * number % 1 | i / n
vector = 0.5 + number * np.cos(number * i) | 0.5 + number * np.sin(number * i) | np.sqrt((i + 0.5) / n)
vector = (vector + vector) / 2 | vector + number * vector * (1 - vector) | vector * vector | (vector + number) % 1
vector = np.random.default_rng(seed).random(n) | np.where(i % count == 0, vector, vector) | (i % count + number) / count
seed = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9
count = 2 | 3 | 4 | 5 | 6 | 7 | 8
first = 1 | 2 | 4 | 8 | 12 | 16 | 20
rate = 0.5 | 0.6 | 0.7 | 0.8
rounds = 6 | 7 | 8 | 9 | 10 | 11
width = 0.02 | 0.03 | 0.05 | 0.07 | 0.1

schedule = width * rate ** np.arange(rounds)

start: points
moves: schedule
x, y = np.clip(start, 0.01, 0.99).T
# all circles move and grow at once, kept apart by the tangents to their distances
a, b = np.triu_indices(n, 1)
each, none = np.eye(n), np.zeros((n, n))
walls = np.block([[-each, none, each], [each, none, each], [none, -each, each], [none, each, each]])
for box in moves:
    wide, high = x[a] - x[b], y[a] - y[b]
    apart = np.hypot(wide, high) + 1e-12
    ahead = (each[b] - each[a]) / apart[:, None]
    pairs = np.hstack([wide[:, None] * ahead, high[:, None] * ahead, each[a] + each[b]])
    limits = np.concatenate([x, 1 - x, y, 1 - y, apart])
    bounds = [(-box, box)] * (2 * n) + [(0, 0.5)] * n
    step = linprog(np.repeat([0, 0, -1], n), np.vstack([walls, pairs]), limits, bounds=bounds).x
    x, y, radii = x + step[:n], y + step[n:-n], step[-n:]
return np.column_stack([x, y, np.maximum(radii - 1e-7, 0)])
"""
