"""Compiled kernels: plain loops over one pair (`scalar`), or over one run and many others side by side.

Importing one of them loads numba, which takes about a second.
"""
