"""A program's normal form: what is left of its text when nothing counts that its behaviour cannot depend on."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from behavesim.programs.scopes import Occurrence, occurrences

_INTROSPECTIVE = re.compile(
    "eval|exec|compile|query|locals|globals|vars|dir|inspect|traceback|linecache|numexpr|get_type_hints|getsource"
    "|signature|getfullargspec|_getframe|_current_frames|f_locals|f_code|f_back|tb_frame|gi_frame|cr_frame|ag_frame"
    "|co_varnames|__(dict|doc|name|qualname|annotations|code|kwdefaults|builtins|import)__"
)
"""Words by which a program can look at the names and the text of its own functions."""
_KNOWN_TO_LIBRARIES = frozenset({"intermediate_result"})
"""Parameter names that a library looks for in the functions it is given (scipy.optimize's callbacks)."""


def normalise(source: str) -> str:
    """The program in a canonical text: one formatting, no comments, no docstrings, locals named in order of appearance.

    Equal normal forms mean equal behaviour, because a normal form is itself the program with its locals renamed; the
    reverse does not hold. Names are kept where a program could notice: globals, attributes, parameters that a call
    names, and all of them in programs that look at their own names or text. A task is taken to call the entry point
    by position. A source that does not parse is its own normal form.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            _drop_docstrings(tree)
            if any(_INTROSPECTIVE.fullmatch(word) for word in _words(tree)):
                return ast.unparse(ast.parse(source))
        _rename(tree)
        return ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source


def _drop_docstrings(tree: ast.Module) -> None:
    """Remove every string that stands alone as a statement; a body of nothing else becomes `pass`."""
    for node in ast.walk(tree):
        for part in ("body", "orelse", "finalbody"):
            body = getattr(node, part, None)
            if isinstance(body, list):
                kept = [statement for statement in body if not _is_docstring(statement)]
                body[:] = kept or ([ast.Pass()] if body and not isinstance(node, ast.Module) else [])


def _is_docstring(statement: ast.AST) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _rename(tree: ast.Module) -> None:
    """Give every local name that nobody can notice the next of v0, v1, …; where a kept name looks so, v_0, v_1, …"""
    found = occurrences(tree)
    keywords = _keywords(tree)
    renamed = [each for each in found if _is_free(each, keywords)]
    kept = {each.name for each in found if not _is_free(each, keywords)}
    prefix = "v"
    while any(re.fullmatch(rf"{prefix}\d+", name) for name in kept):
        prefix += "_"
    names: dict[int, str] = {}
    for each in renamed:
        assert each.binding is not None, "only what is bound locally is free to be renamed"
        each.rename(names.setdefault(id(each.binding), f"{prefix}{len(names)}"))


def _is_free(occurrence: Occurrence, keywords: set[str] | None) -> bool:
    """Whether a name may be changed; a parameter's only where no call anywhere passes it by keyword."""
    binding, name = occurrence.binding, occurrence.name
    if binding is None or binding.fixed or name.startswith("__"):
        return False
    if not binding.parameter:
        return True
    return keywords is not None and name not in keywords and name not in _KNOWN_TO_LIBRARIES


def _words(tree: ast.Module) -> Iterator[str]:
    """Every word of a program: names, attributes, keywords, modules, and words in strings."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.keyword(arg=str(word)):
                yield word
            case ast.ImportFrom(module=str(text)) | ast.alias(name=text) | ast.Constant(value=str(text)):
                yield from re.findall(r"\w+", text)


def _keywords(tree: ast.Module) -> set[str] | None:
    """The keywords of all calls; None where a call passes a mapping (`**`), which may hold any."""
    keywords = [node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)]
    return None if None in keywords else {keyword for keyword in keywords if keyword is not None}
