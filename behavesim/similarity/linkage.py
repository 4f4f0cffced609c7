"""Groups of algorithms by average linkage on their distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def average_linkage(distances: NDArray[np.float64], count: int) -> list[int]:
    """A label for each of N algorithms, at most `count` different ones, from their (N, N) symmetric distances.

    Merging stops at `count` groups; labels number the groups by their first member.
    """
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    size = len(distances)
    if size <= count:
        return list(range(size))
    tree = linkage(squareform(distances, checks=False), method="average")
    raw = cut_tree(tree, n_clusters=count).ravel().tolist()
    seen: dict[int, int] = {}
    return [seen.setdefault(label, len(seen)) for label in raw]
