"""Begin figures of matplotlib, which is loaded when one is drawn; the extra `figures` installs it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from behavesim.base.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_matplotlib() -> None:
    """Raise UsageError if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise UsageError(
            "figures need the package matplotlib, which is not installed; pip install 'behavesim[figures]'"
        )


def new_figure(width_in: float, height_in: float, dpi: float = 100) -> Figure:
    """Return an empty figure, sizes in inches, whose parts make room for one another.

    `dpi` counts for PNG alone. Raises UsageError if matplotlib is not installed.
    """
    check_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), dpi=dpi, layout="constrained")
