"""Evaluations on other machines: the workers of a Dask cluster run programs, and send back what came of them."""
