"""The second profile of the sandbox: an evaluator and a program together, with all processes that they start.

`zygote` confines itself (`confinement`, `root`), forks the nursery and becomes the `keeper`. The `nursery` loads the
evaluator and forks a child for each program. The keeper kills what exceeds a limit, by what `usage` measures.
"""
