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
    """Import a public name at its first use: the zygote, a module of this package, must not import asyncio.

    Raises AttributeError for any other name.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
