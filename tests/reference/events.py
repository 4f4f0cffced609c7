"""The events of a journal, from their classes."""

from __future__ import annotations

from dataclasses import fields
from inspect import cleandoc
from types import FunctionType
from typing import Any, get_args

from behavesim.state.events import Event
from tests.reference.tables import table


def events() -> str:
    """Each kind of event with what it says and its fields."""
    kinds = sorted(get_args(Event), key=lambda kind: str(kind.__name__))
    return table(("event", "says", "fields"), ((f"`{kind.__name__}`", summary(kind), _fields(kind)) for kind in kinds))


def summary(part: Any) -> str:
    """The first paragraph of the docstring of a class or function, on one line; "" of another value."""
    said = part.__doc__ if isinstance(part, type | FunctionType) else None
    return " ".join(cleandoc(said or "").partition("\n\n")[0].split())


def _fields(kind: type[Any]) -> str:
    return ", ".join(f"`{field.name}`" for field in fields(kind))
