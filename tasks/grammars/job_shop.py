"""Grammar for `job_shop`: work left, processing times and begins."""

from behavesim_tasks.grammars.ranking import RANKING

GRAMMAR = f"""
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
