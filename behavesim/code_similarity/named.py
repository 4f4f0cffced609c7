"""Metrics of source code by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import UsageError
from behavesim.code_similarity.bleu import bleu, crystal_bleu
from behavesim.code_similarity.metric import Observed, OfSource, Similarity
from behavesim.code_similarity.optional import codebleu, missing
from behavesim.code_similarity.rouge import rouge
from behavesim.code_similarity.tree_edits import ast_similarity

NAMES = ("rouge", "bleu", "crystalbleu", "ast", "codebleu")
"""The names that `of_source` knows, in the order in which tables and commands list them."""


def of_source(name: str, corpus: Iterable[str]) -> OfSource:
    """Return the metric of one of NAMES; only CrystalBLEU uses the corpus, to find the n-grams that it ignores.

    Raises UsageError if the metric's package is not installed or it needs an embedding model, KeyError for another
    name.
    """
    if how := missing(name, None):
        raise UsageError(f"{name} is {how}")
    of_texts = {"rouge": rouge, "bleu": bleu, "ast": ast_similarity, "codebleu": codebleu}
    found = crystal_bleu(corpus) if name == "crystalbleu" else of_texts[name]
    return OfSource(name, found, is_symmetric=name in ("rouge", "ast"))


def source_matrix(metric: Similarity, sources: Sequence[str]) -> NDArray[np.float64]:
    """Return the (N, N) symmetric matrix of the similarities of N sources, with ones on the diagonal.

    Raises UsageError if the metric compares syntax trees and a source is not Python.
    """
    matrix = np.eye(len(sources))
    programs = [Observed(source) for source in sources]
    for row, column in zip(*np.triu_indices(len(sources), 1), strict=True):
        try:
            similarity = metric.similarity(programs[row], programs[column])
        except SyntaxError as error:
            raise UsageError(f"{metric.name} compares Python programs, and one is none: {error}") from None
        matrix[row, column] = matrix[column, row] = similarity
    return matrix
