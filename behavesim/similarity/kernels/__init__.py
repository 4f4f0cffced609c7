"""Compiled kernels: plain loops first (`scalar`), then lanes across an archive; importing one of them loads numba."""
