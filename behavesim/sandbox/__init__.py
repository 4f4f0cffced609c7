"""Runs candidate programs in confined processes; trusted code scores what they return."""
