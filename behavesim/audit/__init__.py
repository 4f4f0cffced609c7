"""Verify that a journal follows from its settings and replies, and recover what can be read of a damaged one."""
