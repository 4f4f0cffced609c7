"""Reads finished or running runs from their journals: reports, metrics and comparisons, all as frozen values."""
