"""Grammar for `asp`: counts over a vector and its groups of three.

One rule reads past the end of the vector, as models sometimes do.
"""

GRAMMAR = """
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
