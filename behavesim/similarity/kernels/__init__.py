"""Compiled kernels: loops over one pair of runs (`scalar`), or over one run and many others side by side.

Importing one of them loads numba, which takes about a second.
"""
