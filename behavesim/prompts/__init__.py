"""Writes the prompts of a run: what a model is asked."""
