"""A program's normal form: its text without layout, comments, docstrings and the names of its locals."""

from __future__ import annotations

import ast
import re
import warnings

from behavesim.programs.scopes import Binding, Names, Occurrence, names

_INTROSPECTIVE = frozenset(
    {
        *("eval", "exec", "compile", "query", "numexpr", "locals", "globals", "vars", "dir"),
        *("inspect", "traceback", "linecache", "getsource", "signature", "getfullargspec", "get_type_hints"),
        *("_getframe", "_current_frames", "f_locals", "f_code", "f_back", "tb_frame", "gi_frame", "cr_frame"),
        *("ag_frame", "co_varnames", "__dict__", "__doc__", "__name__", "__qualname__", "__annotations__"),
        *("__code__", "__kwdefaults__", "__builtins__", "__import__", "__traceback__", "__context__", "__cause__"),
        *("exc_info", "tb_lineno", "tb_next", "f_lineno", "co_firstlineno", "co_name", "co_qualname", "co_lines"),
        *("warnings", "warn", "logging", "settrace", "setprofile", "faulthandler", "symtable", "dis", "ast"),
        *("tokenize", "pickle", "marshal", "str", "repr", "ascii", "format", "print", "pprint", "dumps"),
        *("__str__", "__repr__", "__format__"),
    }
)
"""Words that let a program see its own names, line numbers or text. A program with one of them is not normalised."""

_KNOWN_TO_LIBRARIES = frozenset({"intermediate_result"})
"""Parameter names that a library looks for in the functions it is given (scipy.optimize's callbacks)."""


def normalise(source: str, tree: ast.Module | None = None) -> str:
    """Return the program in a canonical text: one layout, no comments, no docstrings, locals named v0, v1, … in order.

    Programs with equal normal forms are taken to be the same. Names are kept if a change could be noticed: globals,
    attributes, and parameters that a call names. A program that can see its own names or lines, or that does not parse,
    is returned unchanged. It is assumed that the task calls the entry point by position. `tree` is the source's tree if
    the caller has parsed it; it is changed.
    """
    try:
        if tree is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(source)
        _drop_docstrings(tree)
        found = names(tree)
        if not _INTROSPECTIVE.isdisjoint(found.words | found.keywords):
            return source
        _rename(found)
        return ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source


def _drop_docstrings(node: ast.AST) -> None:
    """Remove every string that stands alone as a statement; a body of nothing else becomes `pass`."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        statements: list[ast.AST] = getattr(node, part, [])
        if any(map(_is_docstring, statements)):
            kept = [statement for statement in statements if not _is_docstring(statement)]
            statements[:] = kept or ([] if isinstance(node, ast.Module) else [ast.Pass()])
        for statement in statements:
            _drop_docstrings(statement)


def _is_docstring(statement: ast.AST) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _may_rename(occurrence: Occurrence, names: Names) -> bool:
    """Whether another name changes nothing: the name is local, and no call passes it as a keyword."""
    binding, name = occurrence.binding, occurrence.name
    if binding is None or binding.fixed or name.startswith("__"):
        return False
    passed = name in names.keywords or None in names.keywords or name in _KNOWN_TO_LIBRARIES
    return not (binding.parameter and passed)


def _rename(names: Names) -> None:
    """Rename the locals to v0, v1, … in order of appearance; to v_0, v_1, … if a name that is kept looks like that."""
    kept: set[str] = set()
    renamed: list[tuple[Occurrence, Binding]] = []
    for each in names.occurrences:
        if each.binding is not None and _may_rename(each, names):
            renamed.append((each, each.binding))
        else:
            kept.add(each.name)
    prefix = "v"
    while any(re.fullmatch(rf"{prefix}\d+", name) for name in kept):
        prefix += "_"
    chosen: dict[int, str] = {}
    for each, binding in renamed:
        each.rename(chosen.setdefault(id(binding), f"{prefix}{len(chosen)}"))
