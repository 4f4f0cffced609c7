"""Typed genetic programming on Python source: replies without a model."""

from .grammar import Grammar
from .proposer import GeneticProposer

__all__ = ["GeneticProposer", "Grammar"]
