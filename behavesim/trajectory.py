"""Problem-solving trajectories (PSTraj): the partial solutions an algorithm goes through, first to last."""

from __future__ import annotations


class Trajectory:
    """Placeholder of the contract, to be replaced in the first commit of the similarity room."""
