"""What the text of a class evaluator's template program says: the name that is called, and what it returns."""

from __future__ import annotations

import ast

from behavesim.base.errors import TaskError
from behavesim.base.syntax import parsed
from behavesim.programs.functions import functions_in


def entry_point(template: str) -> str:
    """Return the name that an evaluator calls a template program by: its first class, else its last function.

    Raises TaskError if it defines neither, SyntaxError if it is no Python.
    """
    body = parsed(template).body
    classes = [node.name for node in body if isinstance(node, ast.ClassDef)]
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    if not classes and not functions:
        raise TaskError("the evaluator's template_program defines no function and no class")
    return classes[0] if classes else functions[-1]


def is_class(template: str, name: str) -> bool:
    """Return whether a template program defines a class of this name; raises SyntaxError if it is no Python."""
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in parsed(template).body)


def annotation_of(template: str, name: str) -> str:
    """Return the text of the annotation of what a function returns; "" if there is none, or no such function.

    Raises SyntaxError if the template is no Python.
    """
    function = functions_in(template).get(name)
    return "" if function is None or function.returns is None else ast.unparse(function.returns)
