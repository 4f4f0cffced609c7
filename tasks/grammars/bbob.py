"""Grammar for `bbob`: steps from the best points, whose width falls, and differences of good points."""

GRAMMAR = """
dimensions: count = points.shape[1]
random: generator = np.random.default_rng(len(points))
share: scalar = len(points) / budget
order: places = np.argsort(values)
best: point = points[order[0]] if len(points) else np.zeros(dimensions)
elite: points = points[order[:max(2, len(points) // 5)]] if len(points) > 1 else np.zeros((2, dimensions))
other: point = elite[len(points) % len(elite)]
centre: point = elite.mean(axis=0)
spread: point = elite.std(axis=0) + 1e-9
last: point = points[-1] if len(points) else best
noise: point = random.normal(size=dimensions)
axis: point = (np.arange(dimensions) == len(points) % dimensions) * random.normal(size=dimensions)
anywhere: point = random.uniform(-5, 5, dimensions)

point = best + step * noise | best + step * noise | best + step * spread * noise | centre + step * spread * noise
point = best + number * (elite[random.integers(len(elite))] - other) | best + step * axis | best - step * (last - best)
point = (point if share < number else point) | (point if random.random() < scalar else point) | (point + point) / 2
point = centre + number * (centre - other) | np.where(random.random(dimensions) < number, point, point) | anywhere
step = number * scalar | number | number * (1 - share) ** power | number * 0.01 ** share | number * 0.001 ** share
scalar = number | 1 - share | share | spread.mean()
power = 1 | 2 | 3 | 4

move: point
return anywhere if len(points) < 8 else move
"""
