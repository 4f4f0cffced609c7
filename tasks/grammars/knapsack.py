"""Grammar for `knapsack`: an item's value by what it takes of resources, which may be weighted by scarcity."""

from behavesim_tasks.grammars.ranking import RANKING

GRAMMAR = f"""
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
