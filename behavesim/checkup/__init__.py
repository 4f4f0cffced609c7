"""Examines a task before a run spends money on it: says what works and what to mend."""

from behavesim.checkup.examination import checkup

__all__ = ["checkup"]
