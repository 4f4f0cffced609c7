"""Grammar for `offline_bin_packing`: sizes, and how well one or two more items would close the bin."""

from behavesim_tasks.grammars.ranking import RANKING

GRAMMAR = f"""
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
