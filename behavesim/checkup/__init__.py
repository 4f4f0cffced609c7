"""The examination of a task before any money is spent on it: what works, and what to mend."""

from behavesim.checkup.examination import checkup

__all__ = ["checkup"]
