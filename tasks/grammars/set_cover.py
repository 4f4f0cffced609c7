"""Grammar for `set_cover`: new elements by cost, weighted by how few sets cover them."""

from behavesim_tasks.grammars.ranking import RANKING

GRAMMAR = f"""
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
