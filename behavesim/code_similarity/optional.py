"""Metrics that other packages hold: CodeBLEU, and those by the embeddings of a language model."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import UsageError
from behavesim.base.text import one_line
from behavesim.code_similarity.executions import OfTraces
from behavesim.code_similarity.metric import OfSource, Similarity

NEEDS = {
    "codebleu": ("codebleu", "tree_sitter_python"),
    "codebertscore": ("sentence_transformers",),
    "embedding": ("sentence_transformers",),
    "trace-embedding": ("sentence_transformers",),
}
"""The modules that each metric of this file is computed by."""


def missing(metric: str, model: str | None) -> str:
    """What to do before the metric can be computed; empty where nothing is missing."""
    if any(find_spec(module) is None for module in NEEDS.get(metric, ())):
        extra = "codebleu" if metric == "codebleu" else "embeddings"
        return f'not installed: pip install "behavesim[{extra}]"'
    if model is None and NEEDS.get(metric) == ("sentence_transformers",):
        return "no model: --embedding-model NAME"
    return ""


def codebleu() -> Similarity:
    """CodeBLEU (Ren and others 2020) with equal weights, by the package of that name; the mean of both directions."""
    from codebleu import calc_codebleu

    return OfSource("codebleu", lambda a, b: float(calc_codebleu([a], [b], "python")["codebleu"]), is_symmetric=False)


def embeddings(model: str) -> tuple[Similarity, ...]:
    """Metrics by the embeddings of any sentence-transformers model, by its name or the path of its folder.

    The cosine of whole programs ("embedding") and of execution traces ("trace-embedding"), and the F1 score of the best
    matches of tokens (Zhou and others 2023; "codebertscore"). A text longer than the model reads is cut there. Raises
    UsageError where there is no such model, or it cannot be fetched.
    """
    from sentence_transformers import SentenceTransformer

    try:
        transformer = SentenceTransformer(model)
    except (OSError, ValueError) as error:
        expected = "the name of a sentence-transformers model, or its folder"
        raise UsageError(
            f"no model {model!r} for embeddings ({one_line(str(error), 200)}); {expected} was expected"
        ) from None
    whole = cache(lambda text: _unit(transformer.encode(text)))
    each = cache(lambda text: _unit(np.asarray(transformer.encode(text, output_value="token_embeddings").cpu())))
    cosine = _cosine(whole)
    return (
        OfSource("codebertscore", lambda a, b: _matched(each(a), each(b))),
        OfSource("embedding", cosine),
        OfTraces("trace-embedding", cosine),
    )


def _cosine(embedded: Callable[[str], NDArray[Any]]) -> Callable[[str, str], float]:
    return lambda a, b: float(np.clip(embedded(a) @ embedded(b), 0.0, 1.0))


def _matched(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The F1 score of each token's greatest cosine to one of the other text."""
    cosines = a @ b.T
    recall, precision = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    return max(0.0, 2 * recall * precision / (recall + precision)) if recall + precision > 0 else 0.0


def _unit(vectors: Any) -> NDArray[Any]:
    found: NDArray[Any] = np.asarray(vectors) / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return found
