"""A row of the table: CPU times of ours and of a peer, and the bounds for their ratio."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """A row of the table: CPU seconds of ours and of the peer, and two bounds, `must` and the harder `ambitious`.

    The ratio is peer / ours, and has to reach the bounds. If `is_ceiling`, it is ours / peer, and may not exceed them.
    `error` is the largest absolute difference between our similarities and the peer's.
    """

    name: str
    must: float
    ambitious: float
    ours_s: float
    peer_s: float
    error: float = 0.0
    is_ceiling: bool = False

    def row(self) -> str:
        """Return the row in Markdown: times in ms, the ratio, "yes" or "no" for each bound, and the error.

        A row with a ceiling has no error.
        """
        ratio = self.ours_s / self.peer_s if self.is_ceiling else self.peer_s / self.ours_s
        reached = [ratio <= bar if self.is_ceiling else ratio >= bar for bar in (self.must, self.ambitious)]
        sign, unit = ("≤ ", "") if self.is_ceiling else ("", "×")
        cells = (
            f"{sign}{bar:,g}{unit} {'yes' if yes else 'no'}"
            for bar, yes in zip((self.must, self.ambitious), reached, strict=True)
        )
        figures = f"{1e3 * self.ours_s:,.4g} ms | {1e3 * self.peer_s:,.4g} ms | **{ratio:,.3g}{unit}**"
        error = "" if self.is_ceiling else f"{self.error:.1e}"
        return f"| {self.name} | {figures} | {' | '.join(cells)} | {error} |"
