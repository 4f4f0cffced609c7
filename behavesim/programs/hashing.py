"""The normal form of a program, and its hash: the text without layout, comments, docstrings and the names of locals."""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from behavesim.base.text import parse
from behavesim.programs.parsing import bound_by, children

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

_WORD = re.compile(r"\w+")


def program_hash(source: str, tree: ast.Module | None = None) -> str:
    """Return the first 32 hexadecimal digits of the SHA-256 of a program's normal form; see `normalise`.

    `tree` is the source's syntax tree if the caller has parsed it; it is changed.
    """
    return hashlib.sha256(normalise(source, tree).encode()).hexdigest()[:32]


def normalise(source: str, tree: ast.Module | None = None) -> str:
    """Return the program in a canonical text: one layout, no comments, no docstrings, locals named v0, v1, … in order.

    Names are kept if a change could be noticed: globals, attributes, and parameters that a call names. A program that
    can see its own names or lines, or that cannot be parsed or followed (see `names`), is returned unchanged. It is
    assumed that the task calls the entry point by position. `tree` is changed, as by `program_hash`.
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
    """Return the words by which a program could see its own text, and the keywords of all its calls, None for `**`."""
    # also `format` if it puts values into text, and `__traceback__` if it names an exception that it catches
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
    kept: set[str] = set()
    renamed: list[tuple[Occurrence, Binding]] = []
    for each in occurrences:
        if each.binding is not None and _may_rename(each.name, each.binding, keywords):
            renamed.append((each, each.binding))
        else:
            kept.add(each.name)
    prefix = "v"
    # a kept name may look like v1: another variable would then be taken for it
    while any(re.fullmatch(rf"{prefix}\d+", name) for name in kept):
        prefix += "_"
    chosen: dict[int, str] = {}
    for each, binding in renamed:
        each.rename(chosen.setdefault(id(binding), f"{prefix}{len(chosen)}"))


@dataclass(eq=False)
class Binding:
    """A name bound in a function or comprehension; `fixed` if it cannot be renamed, as the `a` of `import a.b`."""

    parameter: bool = False
    fixed: bool = False


class Occurrence(NamedTuple):
    """A name at one place, its binding (None for a global, a builtin or a class's name), and what renames it there."""

    name: str
    binding: Binding | None
    rename: Callable[[str], None]


def names(tree: ast.Module) -> list[Occurrence]:
    """Return every place of a program where a name is used or bound, always in the same order, nearly the text's.

    Attributes, the names in keyword arguments and those in `global` statements are left out. Raises ValueError for what
    is not supported: type parameters, and global or nonlocal in a class's body.
    """
    reader = _Reader()
    reader.visit(tree)
    return [Occurrence(name, scope.meaning(name), rename) for name, scope, rename in reader.noted]


@dataclass
class _Scope:
    """The bindings of a function or comprehension; a class or module also has a scope, but its names are kept."""

    outer: _Scope | None = None
    is_class: bool = True  # or the module, which differs in nothing that matters here
    is_comprehension: bool = False
    bindings: dict[str, Binding] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)

    def bind(self, name: str, parameter: bool = False, fixed: bool = False) -> None:
        binding = self.bindings.setdefault(name, Binding(parameter))
        binding.fixed |= fixed

    def meaning(self, name: str) -> Binding | None:
        """Return the binding of a name used in this scope; right only once all scopes are read."""
        # the functions in a class's body do not see its names
        scope: _Scope | None = self
        while scope is not None:
            if scope is self or not scope.is_class:
                if name in scope.globals:
                    return None
                if name in scope.bindings and name not in scope.nonlocals:
                    return None if scope.is_class else scope.bindings[name]
            scope = scope.outer
        return None


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
# For each of these types of nodes, the attribute that holds the name that it binds, or None if it binds none.
_BINDS: Mapping[type[ast.AST], str] = {
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}


class _Reader(ast.NodeVisitor):
    """Visits a program in the order of its text, and notes each name with its scope and what renames it."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, _Scope, Callable[[str], None]]] = []
        self._scope = _Scope()

    def generic_visit(self, node: ast.AST) -> None:
        if attribute := _BINDS.get(type(node)):
            self._note_bound(node, attribute, getattr(node, attribute))
        self._visit_all(children(node))

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    @contextmanager
    def _inside(self, scope: _Scope) -> Iterator[None]:
        outer, self._scope = self._scope, scope
        yield
        self._scope = outer

    def _note(self, node: ast.AST, attribute: str, name: str) -> None:
        self.noted.append((name, self._scope, partial(setattr, node, attribute)))

    def _note_bound(self, node: ast.AST, attribute: str, name: str | None, fixed: bool = False) -> None:
        if name is not None:
            self._scope.bind(name, fixed=fixed)
            self._note(node, attribute, name)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._scope.bind(node.id)
        self._note(node, "id", node.id)

    def visit_Constant(self, node: ast.Constant) -> None:
        pass  # the inherited method is slow, since it looks for handlers of outdated kinds of constants

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        scope = self._scope
        while scope.is_comprehension and scope.outer is not None:
            scope = scope.outer  # `:=` in a comprehension binds the name in the function around it
        scope.bind(node.target.id)
        self._note(node.target, "id", node.target.id)
        self.visit(node.value)

    def _visit_definition(self, node: _Definition) -> None:
        if getattr(node, "type_params", None):
            raise ValueError("type parameters are not followed")
        self._note_bound(node, "name", getattr(node, "name", None))  # a lambda has none
        self._visit_all(_evaluated_outside(node))
        with self._inside(_Scope(self._scope, is_class=isinstance(node, ast.ClassDef))):
            for parameter in [] if isinstance(node, ast.ClassDef) else _parameters(node.args):
                self._scope.bind(parameter.arg, parameter=True)
                self._note(parameter, "arg", parameter.arg)
            self._visit_all([node.body] if isinstance(node, ast.Lambda) else node.body)
            if self._scope.is_class and (self._scope.globals or self._scope.nonlocals):
                raise ValueError("global and nonlocal in a class's body are not followed")

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _visit_definition

    def _visit_comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self.visit(node.generators[0].iter)  # the first iterable belongs to the scope around
        with self._inside(_Scope(self._scope, is_class=False, is_comprehension=True)):
            for place, generator in enumerate(node.generators):
                self._visit_all([generator.target, *([generator.iter] if place else []), *generator.ifs])
            self._visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def _visit_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            # `import a.b` binds `a`, but `import a.b as c` binds b: the `a` cannot get another name
            is_fixed = alias.asname is None and "." in alias.name
            self._note_bound(alias, "asname", bound_by(alias), fixed=is_fixed)

    visit_Import = visit_ImportFrom = _visit_import

    def visit_Global(self, node: ast.Global) -> None:
        self._scope.globals.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._scope.nonlocals.update(node.names)
        for place, name in enumerate(node.names):
            self.noted.append((name, self._scope, partial(node.names.__setitem__, place)))


def _evaluated_outside(node: _Definition) -> list[ast.AST | None]:
    """Return the parts of a definition that run in the scope around it: decorators, bases, defaults, annotations."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    annotations = (parameter.annotation for parameter in _parameters(node.args))
    own = [] if isinstance(node, ast.Lambda) else [*node.decorator_list, node.returns]
    return [*node.args.defaults, *node.args.kw_defaults, *annotations, *own]


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    starred = filter(None, (arguments.vararg, arguments.kwarg))
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]
