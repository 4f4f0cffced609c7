"""Grammar for `facility_location`: what a site saves, what it costs, and which customers it alone serves well."""

from behavesim_tasks.grammars.ranking import RANKING

GRAMMAR = f"""
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
