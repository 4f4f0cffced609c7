"""Grammar for `graph_colouring`: how many colours a vertex sees, and how many neighbours are left."""

from behavesim_tasks.grammars.ranking import RANKING

GRAMMAR = f"""
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
