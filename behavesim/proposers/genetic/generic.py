"""Build a grammar for a task that has none, from the annotated parameters of its template."""

from __future__ import annotations

import ast
from collections.abc import Mapping

SCALARS = frozenset({"int", "float", "bool"})
ARRAYS = frozenset({"ndarray", "NDArray", "ArrayLike", "list", "tuple", "Sequence", "List", "Tuple"})

TYPES = frozenset({"number", "scalar", "array"})

SCALAR_RULES = """
scalar = number | scalar + scalar | scalar - scalar | number * scalar | scalar * scalar | scalar / (abs(scalar) + 0.01)
scalar = min(scalar, scalar) | max(scalar, scalar) | abs(scalar) | np.sqrt(abs(scalar)) | np.tanh(scalar)
scalar = np.log1p(abs(scalar)) | np.exp(-abs(scalar)) | (scalar if scalar > scalar else scalar)
"""
ARRAY_RULES = """
scalar = array.mean() | array.min() | array.max() | array.sum() | array.std() | len(array)
array = array + array | array - array | number * array | array * array | array / (np.abs(array) + 0.01)
array = array + scalar | scalar * array | np.minimum(array, array) | np.maximum(array, array) | np.abs(array)
array = np.sqrt(np.abs(array)) | np.tanh(array) | np.exp(-np.abs(array)) | np.where(array > scalar, array, array)
"""


def generic_grammar(template: str, entry_point: str) -> str:
    """Return a grammar, as text in the notation of `Grammar`, for a function of numbers and arrays.

    Only annotated parameters are used. The return annotation decides between a number, an array and an index.
    """
    functions = [node for node in ast.parse(template).body if isinstance(node, ast.FunctionDef)]
    function = next(node for node in functions if node.name == entry_point)
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    kinds = {argument.arg: _kind(argument.annotation) for argument in parameters}
    scalars = [name for name, kind in kinds.items() if kind == "scalar"]
    arrays = [name for name, kind in kinds.items() if kind == "array"]
    lines = ["import numpy as np"]
    lines += [f"{name}_values: array = np.asarray({name}, dtype=float)" for name in arrays]
    # a parameter named like a type of the grammar would be read as a hole, so it gets another name
    lines += [f"the_{name}: scalar = {name}" if name in TYPES else f"scalar = {name}" for name in scalars]
    lines += [SCALAR_RULES, ARRAY_RULES if arrays else "", *_ending(function.returns, kinds)]
    return "\n".join(lines)


def _ending(returns: ast.expr | None, kinds: Mapping[str, str | None]) -> list[str]:
    """Return the root and the final statement that suit the function's return annotation."""
    arrays = "array" in kinds.values()
    named = _annotated(returns)
    if named == "int" and arrays:
        return ["result: array", "return int(np.argmax(result))"]
    if named in ARRAYS and arrays:
        return ["result: array", "return result"]
    if named in {"int", "bool"}:
        return ["result: scalar", "return int(result)" if named == "int" else "return bool(result > 0)"]
    return ["result: scalar", "return result"]


def _kind(annotation: ast.expr | None) -> str | None:
    named = _annotated(annotation)
    if named in SCALARS:
        return "scalar"
    return "array" if named in ARRAYS else None


def _annotated(annotation: ast.expr | None) -> str | None:
    """Return the plain name of an annotation: `ndarray` for `np.ndarray`, `list` for `list[int]`."""
    match annotation:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _annotated(value)
        case _:
            return None
