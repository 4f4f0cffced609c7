"""BehaveSim: how similar two algorithms are, by the states that they go through."""

from behavesim.similarity.archive import Archive
from behavesim.similarity.measure import BehaveSim

__all__ = ["Archive", "BehaveSim"]
