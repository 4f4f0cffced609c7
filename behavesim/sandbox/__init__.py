"""Runs candidate programs in confined processes; trusted code scores what they return."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from behavesim.sandbox.judge import SandboxJudge
    from behavesim.sandbox.limits import Limits
    from behavesim.sandbox.pool import Pool

_HOMES = {"Limits": "limits", "Pool": "pool", "SandboxJudge": "judge"}

__all__ = ["Limits", "Pool", "SandboxJudge"]


def __getattr__(name: str) -> Any:
    """Load a public name at first use, so that the zygote, a module of this package, does not import asyncio."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
