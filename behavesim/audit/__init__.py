"""Journals checked against what should stand in them, and what is readable of a damaged one."""
