"""Typed genetic programming on Python source: replies without a model."""

from behavesim.proposers.genetic.grammar import Grammar
from behavesim.proposers.genetic.proposer import GeneticProposer

__all__ = ["GeneticProposer", "Grammar"]
