"""Says in plain words why a value was refused by pydantic: what was expected, and what came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

WANTED: Mapping[str, str] = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float", "int_parsing_size"), "should be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "should be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "should be true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "should be a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "dataclass_type"), "should be a table"),
    "string_type": "should be text",
    "finite_number": "should be a finite number",
    "literal_error": "should be {expected}",
    "greater_than": "should be more than {gt:.10g}",
    "greater_than_equal": "should be at least {ge:.10g}",
    "less_than": "should be less than {lt:.10g}",
    "less_than_equal": "should be at most {le:.10g}",
    "too_short": "should have {min_length} or more entries",
    "too_long": "should have {max_length} or fewer entries",
}
"""What was expected, by pydantic's type of the error; braces hold names of the error's context."""
LONGEST = 100
"""Most characters shown of the value that came."""


def misfit(error: ValidationError) -> str:
    """Return the first thing that is wrong, such as "budget should be at least 1, not 0".

    A key in a table, or an entry of a list, follows the name after a dot. Entries are counted from 0.
    """
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"{key} is missing"
    said, came = f"{key} {_wanted(first)}".strip(" ."), f"{first['input']!r:.{LONGEST}}"
    is_named = isinstance(first["input"], str) and came in said  # as Typer names a text that came
    return said if is_named else f"{said}, not {came}"


def _wanted(error: ErrorDetails) -> str:
    """Return what was expected, from WANTED, or as pydantic or the check of a setting says it."""
    if error["type"] in WANTED:
        return WANTED[error["type"]].format(**error.get("ctx", {}))
    return error["msg"].removeprefix("Value error, ").removeprefix("Input ")
