"""Builds a grammar for a task that has none, from the annotated parameters of its template."""

from __future__ import annotations

import ast

from behavesim.programs.functions import functions_in

SCALARS = frozenset({"int", "float", "bool"})
"""Annotations of parameters that are taken as numbers; parameters with others than these and ARRAYS are not used.

An annotation counts by its plain name: `np.ndarray` as "ndarray", `list[int]` as "list"."""
ARRAYS = frozenset({"ndarray", "NDArray", "ArrayLike", "list", "tuple", "Sequence", "List", "Tuple"})
"""Annotations of parameters that are taken as arrays of numbers."""
NUMBERS = SCALARS | {"float64"}
"""Return annotations, by their plain names (see SCALARS), of functions that return a number."""
NUMPY = frozenset({"ndarray", "NDArray"})
"""Annotations of functions that return a numpy array, which programs of the grammar can return."""

TYPES = frozenset({"number", "scalar", "array"})
"""The names of the grammar's types."""

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

    `template` is Python source that defines the function `entry_point`, else this raises KeyError. Only parameters
    annotated with SCALARS or ARRAYS are used. The return annotation decides what programs return: an int, a bool, with
    array parameters an array, or for `int` the index of the largest value. For any other annotation or none it is a
    number.
    """
    function = functions_in(template)[entry_point]
    scalars, arrays = _parameters(function, SCALARS), _parameters(function, ARRAYS)
    lines = ["import numpy as np"]
    lines += [f"{name}_values: array = np.asarray({name}, dtype=float)" for name in arrays]
    # a parameter named like a type of the grammar would be read as a hole, so it gets another name
    lines += [f"the_{name}: scalar = {name}" if name in TYPES else f"scalar = {name}" for name in scalars]
    lines += [SCALAR_RULES, ARRAY_RULES if arrays else "", _ending(_annotated(function.returns), bool(arrays))]
    return "\n".join(lines)


def suits(template: str, entry_point: str) -> bool:
    """Return whether programs of `generic_grammar` can return what this function must return, by its annotations.

    An array, and an `int` if there are array parameters (an index), can be returned if there is exactly one: the shapes
    of several may differ. Other numbers can if the grammar uses any parameter, and nothing else can. Raises KeyError if
    `template` does not define `entry_point`.
    """
    function = functions_in(template)[entry_point]
    returned, arrays = _annotated(function.returns), _parameters(function, ARRAYS)
    if arrays and returned in NUMPY | {"int"}:
        return len(arrays) == 1
    return returned in NUMBERS and bool(arrays or _parameters(function, SCALARS))


def _parameters(function: ast.FunctionDef, annotations: frozenset[str]) -> list[str]:
    """Return the names of a function's parameters that have one of these annotations, in order."""
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [argument.arg for argument in parameters if _annotated(argument.annotation) in annotations]


def _ending(returned: str | None, has_arrays: bool) -> str:
    """Return the root and the final statement for a return annotation, in a grammar with or without arrays."""
    if has_arrays and returned == "int":
        return "result: array\nreturn int(np.argmax(result))"
    kind = "array" if has_arrays and returned in ARRAYS else "scalar"
    value = {"int": "int(result)", "bool": "bool(result > 0)"}.get(returned or "", "result")
    return f"result: {kind}\nreturn {value}"


def _annotated(annotation: ast.expr | None) -> str | None:
    """Return the plain name of an annotation, `ndarray` for `np.ndarray` and `list` for `list[int]`; else None."""
    match annotation:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _annotated(value)
    return None
