"""The programs of the thirty pairs: `first` and `second` of a pair, or the algorithms that pairs are made of.

Each takes its instance and `record`, which it calls with every state that counts; what is measured on the text of a
program does not see these calls. They are written as people write them, without types.
"""
