"""Functions that read runs, finished or not, from their journals, and return reports, metrics and comparisons."""
