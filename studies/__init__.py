"""The paper's studies and the research beside it: what `behavesim study NAME` prints.

A study is a function that returns a frozen value with its tables, mostly `study` in the file of its name. The thirty
pairs of programs are in dataset.py. Nothing but cli/study.py imports this package.
"""
