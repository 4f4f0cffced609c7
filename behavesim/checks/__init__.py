"""Examines a task, an evaluator or a method before a run spends money on it: what works, and what to change."""

from behavesim.checks.task import check_task

__all__ = ["check_task"]
