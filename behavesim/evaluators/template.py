"""What the text of a class evaluator's template program says: the name that is called, and what it returns."""

from __future__ import annotations

import ast

from behavesim.base.errors import TaskError
from behavesim.base.syntax import parsed

_PRESET = {
    "np": "import numpy as np",
    "numpy": "import numpy",
    "math": "import math",
    "random": "import random",
    "typing": "import typing",
    **{
        name: f"from typing import {name}" for name in ("Any", "Callable", "Dict", "List", "Optional", "Tuple", "Union")
    },
}
"""Names that LLM4AD and EoH let programs use without an import, and the import of each."""


def entry_point(template: str) -> str:
    """Return the name that an evaluator calls a template program by: its first class, else its last function.

    Raises TaskError if it defines neither.
    """
    body = parsed(template).body
    classes = [node.name for node in body if isinstance(node, ast.ClassDef)]
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    if not classes and not functions:
        raise TaskError("the evaluator's template_program defines no function and no class")
    return classes[0] if classes else functions[-1]


def is_class(template: str, name: str) -> bool:
    """Return whether a template program defines a class of this name."""
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in parsed(template).body)


def annotation_of(template: str, name: str) -> str:
    """Return the text of the annotation of what a function returns; "" if there is none, or no such function."""
    for node in parsed(template).body:
        if isinstance(node, ast.FunctionDef) and node.name == name and node.returns is not None:
            return ast.unparse(node.returns)
    return ""


def with_imports(template: str) -> str:
    """Return a template program that imports what it may use elsewhere without an import."""
    tree = parsed(template)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    bound = {alias.asname or alias.name for node in imports for alias in node.names}
    missing = [line for name, line in _PRESET.items() if name in used - bound]
    return "\n".join([*missing, template.lstrip("\n")])
