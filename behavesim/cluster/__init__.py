"""Evaluations on other machines: the workers of a Dask cluster run programs, and send back what came of them.

Here, `runner` finds workers and `dispatcher` gives them programs, by the messages of `protocol`. There, `worker` runs
programs in the sandbox. `task_files` sees to it that both sides have the same task.
"""
