"""What programs return, as JSON: it goes from the sandbox to a process that judges it, and nothing in it runs code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

# Kinds of numpy's types that are sent: truth values, integers, floats, and complex numbers as pairs of floats.
_NUMBERS = "biufc"
# Types that JSON has.
_PLAIN = frozenset((bool, int, float, str, type(None)))


def to_json(value: Any) -> Any:
    """Return what a program returned as values of JSON, which `from_json` takes back; raises TypeError for other kinds.

    It may consist of numbers, arrays of them, texts, bytes, None, lists, tuples and mappings.
    """
    if isinstance(value, complex) and not isinstance(value, np.generic):
        value = np.complex128(value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in _NUMBERS:
        is_complex = value.dtype.kind == "c"
        numbers = np.stack([value.real, value.imag], -1) if is_complex else value
        return {"array": numbers.tolist(), "type": value.dtype.str, "shape": list(value.shape)}
    if type(value) in _PLAIN:
        return value
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, tuple):
        return {"tuple": [to_json(each) for each in value]}
    if isinstance(value, list):
        # nearly all of a large answer is such lists
        return value if _PLAIN.issuperset(map(type, value)) else [to_json(each) for each in value]
    if isinstance(value, Mapping):
        return {"pairs": [[to_json(name), to_json(each)] for name, each in value.items()]}
    raise TypeError(f"the function returned {type(value).__name__}: return numbers, arrays, texts, lists or tuples")


def from_json(value: Any) -> Any:
    """Return what `to_json` made JSON of; raises ValueError, KeyError or TypeError for anything else."""
    if isinstance(value, list):
        return value if _PLAIN.issuperset(map(type, value)) else [from_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(from_json(each) for each in value["tuple"])
    if "bytes" in value:
        return bytes.fromhex(value["bytes"])
    if "pairs" in value:
        return {from_json(name): from_json(each) for name, each in value["pairs"]}
    # an untrusted process wrote this: a type of objects would run code where it is read
    kind = np.dtype(value["type"])
    if kind.kind not in _NUMBERS:
        raise ValueError("no numbers")
    if kind.kind == "c":
        pairs = np.array(value["array"], np.float64).reshape(*value["shape"], 2)
        return (pairs[..., 0] + 1j * pairs[..., 1]).astype(kind)[()]
    return np.array(value["array"], kind).reshape(value["shape"])[()]
