"""BehaveSim: how similar two algorithms are, by the states that they go through."""

from behavesim.similarity.archive import Algorithm, Archive
from behavesim.similarity.measure import BehaveSim
from behavesim.trajectory import Samples, fixed_seed, sample

__all__ = ["Algorithm", "Archive", "BehaveSim", "Samples", "fixed_seed", "sample"]
