"""Programs run where they can do no harm, and trusted code scores what they return."""

from behavesim.sandbox.judge import Judge
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool

__all__ = ["Judge", "Limits", "Pool"]
