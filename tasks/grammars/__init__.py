"""Grammars of the offline proposer for the built-in tasks: the building blocks of the programs that it writes."""
