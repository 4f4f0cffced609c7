"""Evaluations on other machines: the workers of a Dask cluster run programs, and send back what came of them.

Here, `runner` finds workers, `dealer` gives them programs, and a `link` speaks with each (`wire`, `messages`). There,
`worker` runs programs in the sandbox. `parcel`, `facts` and `proof` see to it that both sides have the same task.
"""
