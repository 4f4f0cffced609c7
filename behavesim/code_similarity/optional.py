"""Metrics that need optional packages: CodeBLEU, and those by the embeddings of a language model."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behavesim.base.errors import UsageError
from behavesim.base.text import one_line
from behavesim.code_similarity.metric import OfSource, OfTraces, Similarity

NEEDS = {
    "codebleu": ("codebleu", "tree_sitter_python"),
    "codebertscore": ("sentence_transformers",),
    "embedding": ("sentence_transformers",),
    "trace-embedding": ("sentence_transformers",),
}
"""The modules that each metric with optional packages imports, by the metric's name. Other metrics need none."""


def missing(metric: str, model: str | None) -> str:
    """Return what is missing for a metric, a package or a model, and how to get it; "" if nothing is.

    `model` is the name or folder of an embedding model, None if none is given; whether it exists is not checked.
    """
    if any(find_spec(module) is None for module in NEEDS.get(metric, ())):
        extra = "codebleu" if metric == "codebleu" else "embeddings"
        return f'not installed: pip install "behavesim[{extra}]"'
    if model is None and NEEDS.get(metric) == ("sentence_transformers",):
        return "no model: --embedding-model NAME"
    return ""


def codebleu(reference: str, candidate: str) -> float:
    """Return the CodeBLEU (Ren and others 2020), with equal weights, of a Python source against a reference, in [0, 1].

    It is not symmetric. Raises ImportError if the package `codebleu` is not installed.
    """
    from codebleu import calc_codebleu

    return float(calc_codebleu([reference], [candidate], "python")["codebleu"])


def embeddings(model: str) -> tuple[Similarity, ...]:
    """Return three metrics by the embeddings of a sentence-transformers model, given by name or by its folder's path.

    They are, in this order, the F1 score of the best matches of tokens ("codebertscore"; Zhou and others 2023), the
    cosine of programs ("embedding"), and the cosine of execution traces ("trace-embedding"). A negative value counts as
    0. A text is cut at the model's longest input. Raises UsageError if the model does not exist or cannot be
    downloaded, ImportError without the package.
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

    def cosine(a: str, b: str) -> float:
        """Return the cosine of two texts' embeddings, cut to [0, 1]."""
        return float(np.clip(whole(a) @ whole(b), 0.0, 1.0))

    return (
        OfSource("codebertscore", lambda a, b: _matched(each(a), each(b))),
        OfSource("embedding", cosine),
        OfTraces("trace-embedding", cosine),
    )


def _matched(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the F1 score, in [0, 1], of two texts' tokens, each counted by its greatest cosine to one of the other.

    a, b: (tokens, dimensions), each row a token's embedding divided by its length.
    """
    cosines = a @ b.T
    recall, precision = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    return max(0.0, 2 * recall * precision / (recall + precision)) if recall + precision > 0 else 0.0


def _unit(vectors: Any) -> NDArray[Any]:
    """Return the vectors, (…, dimensions), divided by their lengths; a vector of length 0 becomes NaN."""
    found: NDArray[Any] = np.asarray(vectors) / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return found
