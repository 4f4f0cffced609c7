"""Grammar for `independent_set`: degrees, those of the neighbours, and triangles."""

from behavesim_tasks.grammars.ranking import RANKING

GRAMMAR = f"""
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
