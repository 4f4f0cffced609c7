"""The programs of the thirty pairs: `first` and `second` of a pair, or the algorithms that pairs are made of.

Each takes its instance and `record`, which it calls with each state of its trajectory. Metrics of a program's text see
it without these calls and without its docstring, which must be one line. The programs are written as people write
them, without types.
"""
