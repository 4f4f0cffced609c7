"""Grammars of the offline proposer for the built-in tasks: the building blocks of the programs that it writes."""

# The end of grammars for programs that rank the choices at hand: it makes a priority for each choice. It combines
# vectors with one number for each choice. A grammar puts its own definitions before it, and at least one rule for
# `vector`.
RANKING = """
vector = vector + number * vector | vector - number * vector | vector * vector | vector / (np.abs(vector) + 0.01)
vector = np.minimum(vector, vector) | np.maximum(vector, vector) | np.where(vector > scalar, vector, vector)
vector = scalar * vector | vector ** 2 | np.sqrt(np.abs(vector)) | np.exp(-np.abs(vector))
vector = np.argsort(np.argsort(vector)) / len(vector) | (vector if scalar > scalar else vector)
scalar = number | vector.mean() | vector.min() | vector.max() | scalar * scalar | scalar - scalar

score: vector
return score
"""

# Grammar for `asp`: counts over a vector and its groups of three. One rule reads past the end of the vector, as models
# sometimes do.
ASP = """
groups: triples = [el[i:i + 3] for i in range(0, n, 3)]
ones: scalar = el.count(1)
changes: scalar = sum([el[i] != el[i - 1] for i in range(n)])
rises: scalar = sum([g[0] < g[2] for g in groups])
voids: scalar = sum([el[i] == el[i - 1] == 0 for i in range(n)])
empty: scalar = sum([sum(g) == 0 for g in groups])
full: scalar = sum([0 not in g for g in groups])

total = scalar | total + number * scalar | total - number * scalar | total + number * scalar | total - number * scalar
total = (total if scalar > total else total) | (total if groups[which] == triple else total) | total * scalar
total = number * total + number * total | total - abs(scalar - number) | max(total, total)
scalar = sum([test for i in range(n)]) | sum([test for i in range(n)]) | sum([test for i in range(first, n, 3)])
scalar = sum([item for i in range(n)]) | sum([item for i in range(n)]) | sum([item for i in range(first, n, 3)])
scalar = sum([check for g in groups]) | sum([pair for g, h in zip(groups, groups[1:])]) | groups.count(triple)
scalar = scalar * scalar | scalar ** 2 | abs(scalar - scalar) | el[place]
test = (el[i] != el[i - step]) | (el[i] < el[i - step]) | (el[i] == value) | ((el[i] - el[i - step]) % 3 == turn)
test = (test and test) | (test or test) | (el[i] == el[i - step] == value) | ((el[i] - el[i - step]) % 3 == turn)
item = (0, number, number)[el[i] - el[i - step]] | (0, number, number)[el[i] - el[i - step]] | el[i] * el[i - step]
item = (0, number, number)[el[i]] | abs(el[i] - el[i - step]) | el[i] * el[i + step] | i * el[i] | i * (test)
check = (sum(g) == few) | (g.count(value) == few) | (g[0] < g[1]) | (g[1] < g[2]) | (g[0] < g[2])
check = (g == triple) | (check or check)
pair = (g == h) | (sum(g) < sum(h)) | abs(sum(g) - sum(h)) | (g < h) | (g[first] == h[first])
triple = (0, 0, 1) | (0, 0, 2) | (0, 1, 2) | (0, 2, 1) | (1, 1, 1) | (2, 2, 2)
value = 0 | 1 | 2
turn = 1 | 2
few = 1 | 2 | 3 | 4
first = 0 | 1 | 2
step = 1 | 2 | 3 | 4 | 5 | 6 | 7
which = 0 | 1 | 2 | -1
place = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8

score: total
return score
"""

# Grammar for `bbob`: steps from the best points, whose width falls, and differences of good points.
BBOB = """
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

# Grammar for `bin_packing`: the room that an item leaves in each bin, and how full the bins are.
BIN_PACKING = """
room: vector = bins - item
filled: vector = 100 - bins
ratio: vector = item / bins
unused: vector = 1.0 * (bins == 100)

vector = -room | -room | vector + number * vector | vector - number * vector | vector + vector | vector - vector
vector = vector * vector | vector / (np.abs(vector) + 1) | np.minimum(vector, vector) | np.maximum(vector, vector)
vector = np.where(room < size, vector, vector) | np.where(vector > vector, vector, vector) | scalar * vector
vector = (vector if item > size else vector) | np.abs(room - size) | -np.abs(room - size) | np.sqrt(np.abs(vector))
vector = np.exp(-np.abs(vector) / size) | np.tanh(vector / size) | np.log1p(np.abs(vector)) | vector ** 2
vector = np.where(room == 0, size, vector) | vector - size * unused | (bins - size) % item
scalar = number | item | size | bins.min() | bins.mean() | scalar / size | scalar + scalar | scalar - scalar
size = 1 | 2 | 3 | 5 | 7 | 10 | 13 | 16 | 20 | 25 | 30 | 35 | 40 | 50 | 60

score: vector
return score
"""

# Grammar for `cap_set`: counts of values, and of patterns of neighbouring values.
CAP_SET = """
ones: scalar = el.count(1)
twos: scalar = el.count(2)
zeros: scalar = el.count(0)
mirrored: scalar = sum([el[i] == el[-1 - i] for i in range(n // 2)])
changes: scalar = sum([el[i] != el[i - 1] for i in range(n)])
half: values = el[:n // 2]
pairs: values = [(el[i] + el[i + 1]) % 3 for i in range(0, n - 1, 2)]

total = scalar | total + number * scalar | total - number * scalar | total + number * scalar | total - number * scalar
total = (total if scalar > total else total) | total * scalar | number * total | total - abs(scalar - number)
scalar = sum([test for i in range(n)]) | sum([test for i in range(n)]) | sum([item for i in range(n)])
scalar = sum([item for i in range(n)]) | values.count(value) | scalar % modulus | scalar * scalar | el[place]
scalar = sum([test for i in range(first, n, 2)]) | (scalar % modulus == value) | abs(scalar - scalar)
values = el | half | pairs | el[::2] | el[1::2] | [(el[i] - el[i - step]) % 3 for i in range(n)]
test = (el[i] != el[i - step]) | (el[i] < el[i - step]) | (el[i] == value) | ((el[i] + el[i - step]) % 3 == value)
test = (test and test) | (test or test) | (el[i] == el[i - step] == value) | (i % modulus == value and test)
item = (0, number, number)[el[i]] | (0, number, number)[(el[i] - el[i - step]) % 3] | el[i] * el[i - step] | i * el[i]
item = el[i] * 3 ** i % modulus | (el[i] + el[i - step]) % 3 | (el[i] * el[i - step] * el[i - 1]) % 3
value = 0 | 1 | 2
modulus = 2 | 3 | 4 | 5
step = 1 | 2 | 3 | 4
place = 0 | 1 | 2 | 3 | 4
first = 0 | 1

score: total
return float(score)
"""

# Grammar for `cpp`: a program places the centres, then linear programs move and grow all circles. Each linear program
# replaces the distances between centres by their tangents. Distances are convex, so this is stricter, and each step
# stays feasible up to the solver's tolerance.
CPP = """
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

# Grammar for `cvrp`: the distance to each choice, the way home, demands, and customers around.
CVRP = """
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

# Grammar for `facility_location`: what a site saves, what it costs, and which customers it alone serves well.
FACILITY_LOCATION = f"""
savings: matrix = np.maximum(paid - costs, 0)
saved: vector = savings.sum(axis=1)
price: vector = 1.0 * opening
gain: vector = saved - opening
served: vector = 1.0 * (costs < paid).sum(axis=1)
far: vector = costs.mean(axis=1)
second: row = np.sort(costs, axis=0)[1] if len(costs) > 1 else costs[0]
regret: vector = np.maximum(np.minimum(second, paid) - costs, 0).sum(axis=1)
share: vector = saved / (served + 1)
sure: vector = np.where(saved > opening, 1.0, 0.0)

vector = gain | gain | np.where(saved > number * price, vector, -1) | gain - number * price
vector = regret | price | far | served | share | saved / price | regret - price | sure * vector | gain + number * regret
{RANKING}"""

# Grammar for `flow_shop`: Palmer's slope, total times, and how a job fits behind the jobs so far.
FLOW_SHOP = f"""
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

# Grammar for `graph_colouring`: how many colours a vertex sees, and how many neighbours are left.
GRAPH_COLOURING = f"""
free: matrix = neighbours[np.ix_(left, left)]

hues: matrix = (colours[:, None] == np.arange(colours.max() + 1)).astype(float)
saturation: vector = ((neighbours[left] @ hues) > 0).sum(axis=1)
degree: vector = 1.0 * free.sum(axis=1)
whole: vector = 1.0 * neighbours[left].sum(axis=1)
second: vector = free @ degree
tied: vector = free @ saturation
coloured: scalar = 1 - len(left) / len(neighbours)
total: scalar = len(neighbours)

vector = saturation + vector / total | saturation + vector / total | saturation | degree | whole | second | tied
vector = vector + number * saturation | vector + number * degree | saturation * whole | tied / (degree + 1)
{RANKING}"""

# Grammar for `independent_set`: degrees, those of the neighbours, and triangles.
INDEPENDENT_SET = f"""
links: matrix = 1.0 * neighbours
degree: vector = links.sum(axis=1)
second: vector = links @ degree
mean_second: vector = second / (degree + 1)
lowest: vector = np.where(neighbours, degree, 999).min(axis=1)
pull: vector = links @ (1 / (degree + 1))
triangles: vector = ((links @ links) * links).sum(axis=1)
left: scalar = len(links)

vector = -degree | -degree | vector - number * degree | pull - degree | -second | mean_second | lowest | triangles
vector = -degree + vector / left | links @ vector | vector + number * pull | -np.minimum(degree, few) + vector / left
few = 1 | 2 | 3 | 4
{RANKING}"""

# Grammar for `job_shop`: work left, processing times and begins.
JOB_SHOP = f"""
left: vector = 1.0 * work_left
time_here: vector = 1.0 * time
steps: vector = 1.0 * steps_left
begins: vector = 1.0 * (ready - ready.min())
after: vector = 1.0 * (work_left - time)
mean_step: vector = work_left / steps_left
waiting: scalar = len(time)

vector = left | left | after | -time_here | steps | -begins | mean_step
vector = vector - number * time_here | vector - number * begins | vector + number * left | vector / time_here
{RANKING}"""

# Grammar for `knapsack`: an item's value by what it takes of resources, which may be weighted by scarcity.
KNAPSACK = f"""
share: matrix = weights / room
all: vector = weights.sum(axis=1)
need: vector = share.sum(axis=1)
tightest: vector = share.max(axis=1)
demand: row = weights.sum(axis=0) / room
weighted: vector = (weights * demand).sum(axis=1)
scarce: vector = share[:, demand.argmax()]
left: scalar = len(values)

vector = values / all | values / need | values / weighted | values / (need + number * tightest) | values | tightest
vector = values / (weights * demand ** power / room).sum(axis=1) | scarce
power = 1 | 2 | 3 | 4 | 6
{RANKING}"""

# Grammar for `offline_bin_packing`: sizes, and how well one or two more items would close the bin.
OFFLINE_BIN_PACKING = f"""
size: vector = 1.0 * fitting
rest: vector = 1.0 * (room - fitting)
smallest: scalar = waiting.min()
partner: vector = np.array([waiting[waiting <= r].max(initial=0) for r in room - fitting])
pair: vector = size + partner
closes: vector = 1.0 * np.isin(room - fitting, waiting)
dead: vector = 1.0 * ((rest > 0) & (rest < smallest))
many: vector = np.array([(waiting == s).sum() for s in fitting])
third: vector = np.array([(waiting[:, None] + waiting)[(waiting[:, None] + waiting) <= r].max(initial=0) for r in rest])
triple: vector = size + third

vector = size | size | pair | -rest | closes | many | partner | size + number * pair | -dead | pair - number * dead
vector = np.maximum(pair, triple) | triple | vector + number * triple | vector + number * pair
scalar = room | smallest
{RANKING}"""

# Grammar for `qap`: the cost of a placement now, and what it is likely to cost later.
QAP = """
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

# Grammar for `set_cover`: new elements by cost, weighted by how few sets cover them.
SET_COVER = f"""
new: vector = 1.0 * covers.sum(axis=1)
rarity: row = 1 / covers.sum(axis=0)
rare: vector = covers @ rarity
rarest: vector = (covers * rarity).max(axis=1)
cheapest: row = np.where(covers, (costs / new)[:, None], 1e9).min(axis=0)
saved: vector = covers @ cheapest
price: vector = 1.0 * costs
left: scalar = covers.shape[1]

vector = new / price | new / price | rare / price | saved / price | new | rare | rarest | saved | -price
vector = (covers @ rarity ** power) / price | new ** power / price | new / price ** power
power = 0.5 | 0.7 | 0.9 | 1.2 | 1.5 | 2 | 3
{RANKING}"""

# Grammar for `tsp` and `tsp_hard`: the distance to each city, and terms added to it. One rule ignores that few cities
# are left at the end and makes programs fail, as those of models sometimes do.
TSP = """
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

# Grammar for `vrptw`: distance, waiting and slack of each choice, and customers around it.
VRPTW = """
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
