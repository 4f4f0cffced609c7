"""The normal form of a program, and its hash: the text without layout, comments, docstrings and the names of locals."""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections.abc import Sequence, Set

from behavesim.base.text import parse
from behavesim.programs.parsing import Binding, Occurrence, children, names

_WORD = re.compile(r"\w+")

# Words that let a program see its own names, line numbers or text. A program with one of them is not normalised.
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

# Parameter names that a library looks for in the functions it is given (scipy.optimize's callbacks).
_KNOWN_TO_LIBRARIES = frozenset({"intermediate_result"})


def program_hash(source: str, tree: ast.Module | None = None) -> str:
    """Return the first 32 hexadecimal digits of the SHA-256 of a program's normal form; see `normalise`.

    Programs with equal hashes differ at most in layout, spelling of literals, comments, docstrings and names of locals.
    `tree` is the syntax tree of the source if the caller has parsed it; it is changed.
    """
    return hashlib.sha256(normalise(source, tree).encode()).hexdigest()[:32]


def normalise(source: str, tree: ast.Module | None = None) -> str:
    """Return the program in a canonical text: one layout, no comments, no docstrings, locals named v0, v1, … in order.

    Programs with equal normal forms are taken to be the same. Names are kept if a change could be noticed: globals,
    attributes, and parameters that a call names. A program that can see its own names or lines, or that cannot be
    parsed or followed (see `names`), is returned unchanged. It is assumed that the task calls the entry point by
    position. `tree` is the source's syntax tree if the caller has parsed it; it is changed.
    """
    try:
        if tree is None:
            with warnings.catch_warnings(action="ignore"):
                tree = parse(source)
        _drop_docstrings(tree)
        words, keywords = _words(tree)
        if not _INTROSPECTIVE.isdisjoint(words | keywords):
            return source
        _rename(names(tree), keywords)
        return ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source


def _drop_docstrings(node: ast.AST) -> None:
    """Remove, in place, every string that is a statement, at any depth; no body but a module's is left empty."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        statements: list[ast.AST] = getattr(node, part, [])
        if any(map(_is_docstring, statements)):
            kept = [statement for statement in statements if not _is_docstring(statement)]
            # a module may be empty, any other body may not
            statements[:] = kept or ([] if isinstance(node, ast.Module) else [ast.Pass()])
        for statement in statements:
            _drop_docstrings(statement)


def _is_docstring(statement: ast.AST) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def _words(tree: ast.Module) -> tuple[set[str], set[str | None]]:
    """Return the words by which a program could see its own text, and the keywords of all its calls."""
    # Words are its names, attributes, imports and those in its strings; `format` if it puts values into text, and
    # `__traceback__` if it names an exception that it catches. A call with a mapping (`**`) has the keyword None.
    words: set[str] = set()
    keywords: set[str | None] = set()
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        nodes += children(node)
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word):
                words.add(word)
            case ast.Constant(value=str(text)) | ast.alias(name=text) | ast.ImportFrom(module=str(text)):
                words.update(_WORD.findall(text))
            case ast.keyword(arg=keyword):
                keywords.add(keyword)
            case ast.FormattedValue() | ast.BinOp(left=ast.Constant() | ast.JoinedStr(), op=ast.Mod()):
                words.add("format")
            case ast.ExceptHandler(name=str()):
                words.add("__traceback__")
    return words, keywords


def _may_rename(name: str, binding: Binding, keywords: Set[str | None]) -> bool:
    # a parameter that a call or a library names keeps its name; a call with `**` may name any
    passed = not keywords.isdisjoint({name, None}) or name in _KNOWN_TO_LIBRARIES
    return not (binding.fixed or name.startswith("__") or (binding.parameter and passed))


def _rename(occurrences: Sequence[Occurrence], keywords: Set[str | None]) -> None:
    """Rename the locals among all names of a tree, in place, to v0, v1, … in order of appearance."""
    # A parameter keeps its name if `keywords`, those of all calls, have it; every parameter does if they have None,
    # from `**`. Some other names are kept, too (see `_may_rename`). If a name that is kept looks like v1, the prefix is
    # `v_`, and so on.
    kept: set[str] = set()
    renamed: list[tuple[Occurrence, Binding]] = []
    for each in occurrences:
        if each.binding is not None and _may_rename(each.name, each.binding, keywords):
            renamed.append((each, each.binding))
        else:
            kept.add(each.name)
    prefix = "v"
    while any(re.fullmatch(rf"{prefix}\d+", name) for name in kept):
        prefix += "_"
    chosen: dict[int, str] = {}
    for each, binding in renamed:
        each.rename(chosen.setdefault(id(binding), f"{prefix}{len(chosen)}"))
