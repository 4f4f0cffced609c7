"""The paper's own figures, shown beside ours."""

from __future__ import annotations

from collections.abc import Mapping

SIMILARITY: Mapping[str, tuple[float, float, float, float]] = {
    "ROUGE": (0.95, 0.96, 0.70, 0.47),
    "BLEU": (0.83, 0.94, 0.42, 0.16),
    "CrystalBLEU": (0.97, 0.99, 0.68, 0.51),
    "AST": (0.96, 1.00, 0.76, 0.57),
    "CodeBLEU": (0.97, 0.94, 0.91, 0.75),
    "CodeBERTScore": (0.84, 0.97, 0.60, 0.38),
    "Jina-Code-Embedding": (0.99, 0.99, 0.90, 0.84),
    "Qwen3-Embedding-0.6B": (0.94, 0.93, 0.87, 0.73),
    "execution results": (1.00, 0.00, 1.00, 1.00),
    "traces + BLEU": (0.86, 0.95, 0.61, 0.54),
    "traces + Jina-Code-Embedding": (1.00, 1.00, 0.87, 0.77),
    "traces + Qwen3-Embedding-0.6B": (0.99, 1.00, 0.91, 0.78),
    "BehaveSim": (0.56, 0.73, 1.00, 0.46),
}
"""Table 1: the mean similarity of the pairs of types 1, 2, 3 and 4, by metric.

The programs of a pair share 1: results and nearly the text; 2: nearly the text alone; 3: results and behaviour; 4:
results alone."""

CASES: Mapping[int, tuple[float, ...]] = {
    1: (0.32, 0.69, 0.68),
    2: (0.70, 0.90, 0.59),
    3: (1.00, 1.00, 1.00, 1.00, 1.00, 1.00),
    4: (0.64, 0.49, 0.79, 0.69, 0.44, 0.42, 0.46, 0.45, 0.64, 0.44, 0.51, 0.36, 0.78, 0.29, 0.37, 0.35, 0.00, 0.05),
}
"""BehaveSim of each case, in order, by type of pair (appendix "Detailed Results").

The paper does not say which pair is which case of type 4.
"""

SAMPLING: Mapping[tuple[float, int], tuple[float, float, float, float]] = {
    (0.0, 0): (0.56, 0.73, 1.00, 0.46),
    (0.1, 0): (0.55, 0.73, 1.00, 0.47),
    (0.2, 0): (0.55, 0.73, 1.00, 0.48),
    (0.3, 0): (0.57, 0.73, 1.00, 0.52),
    (0.4, 0): (0.60, 0.73, 1.00, 0.58),
    (0.5, 0): (0.65, 0.75, 1.00, 0.64),
    (0.0, 1): (0.57, 0.72, 1.00, 0.52),
    (0.0, 2): (0.56, 0.74, 1.00, 0.59),
    (0.0, 3): (0.56, 0.72, 1.00, 0.65),
    (0.0, 4): (0.56, 0.82, 1.00, 0.72),
    (0.0, 5): (0.62, 0.82, 1.00, 0.74),
}
"""Mean BehaveSim of the pairs of types 1, 2, 3 and 4, by (k, n). k is the share that is cut off at the end of
trajectories, n the number of states skipped between kept ones. One of the two is always 0 (appendix "Influences of
PSTraj Truncation …")."""
