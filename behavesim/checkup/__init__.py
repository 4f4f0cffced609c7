"""Examines a task before a run spends money on it: reports what works and what to change."""

from behavesim.checkup.examination import checkup

__all__ = ["checkup"]
