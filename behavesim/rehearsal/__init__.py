"""Searches in memory, without a model or a sandbox, in which a method is examined."""
