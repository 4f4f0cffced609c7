"""Programs run where they can do no harm, and trusted code scores what they return."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from behavesim.sandbox.judge import Judge
    from behavesim.sandbox.limits import Limits
    from behavesim.sandbox.pool import Pool

__all__ = ["Judge", "Limits", "Pool"]


def __getattr__(name: str) -> Any:
    """Load a public name at first use: the zygote, which lives in this room too, shall not carry an event loop."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{name.lower()}"), name)
