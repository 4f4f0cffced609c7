"""The paper's studies and the research beside it: `behavesim study NAME` is in NAME.py.

Each has a function `study` that returns a frozen value with its tables. The thirty pairs of programs are in dataset.py.
Nothing but cli/study.py imports this package.
"""
