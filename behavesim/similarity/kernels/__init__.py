"""Compiled kernels: plain loops over one pair (`scalar`), or over one and many side by side.

Importing one of them loads numba, which takes longer than all the rest.
"""
