"""The examination of a task before any money is spent on it: what works, and what to mend."""

from behavesim.checkup.examination import checkup
from behavesim.checkup.finding import Finding

__all__ = ["Finding", "checkup"]
