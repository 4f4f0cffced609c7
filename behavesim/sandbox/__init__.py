"""Runs candidate programs in confined processes; trusted code scores what they return.

The way of a program through these files is in docs/explanation/architecture.md, in the row "run".
"""
