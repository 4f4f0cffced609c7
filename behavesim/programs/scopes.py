"""Finds the binding that each name in a program refers to, by Python's rules of scope."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from behavesim.programs.imports import bound_by

_HOLDS_NOTHING = (ast.Name, ast.Constant)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
_BINDS: Mapping[type[ast.AST], str] = {
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}
"""For each of these types of nodes, the attribute that holds the name that it binds, or None if it binds none."""


@dataclass(eq=False)
class Binding:
    """A name bound in a function or comprehension, maybe as its parameter.

    It is `fixed` if it cannot be renamed, as the `a` of `import a.b`.
    """

    parameter: bool = False
    fixed: bool = False


class Occurrence(NamedTuple):
    """A name at one place of a program, its binding, and a function that renames it there in the syntax tree.

    The binding is None for a global, a builtin or a name of a class's body.
    """

    name: str
    binding: Binding | None
    rename: Callable[[str], None]


def names(tree: ast.Module) -> list[Occurrence]:
    """Return every place of a program where a name is used or bound, always in the same order, nearly the text's.

    Names of functions, classes, parameters and imports are included. Attributes, the names in keyword arguments
    (`f(name=1)`) and those in `global` statements are not. Raises ValueError for what is not supported: type
    parameters of functions and classes, and global or nonlocal in a class's body.
    """
    reader = _Reader()
    reader.visit(tree)
    return [Occurrence(name, scope.meaning(name), rename) for name, scope, rename in reader.noted]


def children(node: ast.AST) -> list[ast.AST]:
    """Return a node's children in the order of its fields, without contexts (Load, Store) and operators.

    The operators of a comparison stay. A name and a constant have no children. It is faster than
    `ast.iter_child_nodes`.
    """
    if isinstance(node, _HOLDS_NOTHING):
        return []
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


@dataclass
class _Scope:
    """The bindings of a function or comprehension; a class or module also has a scope, but its names are kept.

    `outer` is the scope around it, None for the module. `globals` and `nonlocals` are the names declared so in it.
    """

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
        """Return the binding of a name used in this scope; right only once all scopes are read.

        It is None for a global and for a name of a class's body, which the functions in it do not see.
        """
        scope: _Scope | None = self
        while scope is not None:
            if scope is self or not scope.is_class:
                if name in scope.globals:
                    return None
                if name in scope.bindings and name not in scope.nonlocals:
                    return None if scope.is_class else scope.bindings[name]
            scope = scope.outer
        return None


class _Reader(ast.NodeVisitor):
    """Visits a program in the order of its text, and notes each name with its scope and a function that renames it."""

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
        """Note the names in a function or class; raises ValueError for what is not supported (see `names`)."""
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
