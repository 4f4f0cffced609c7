"""Which binding every name of a program means: Python's rules of scope, for functions and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(eq=False)
class Binding:
    """A name bound in a function or comprehension; `fixed` where its statement has no room for another name."""

    parameter: bool = False
    fixed: bool = False


@dataclass(frozen=True)
class Occurrence:
    """A name where it stands, what it is bound to (None: a global, a builtin, or a class's own), how to change it."""

    name: str
    binding: Binding | None
    rename: Callable[[str], None]


def occurrences(tree: ast.Module) -> list[Occurrence]:
    """Every name of a program but attributes and keywords, in order of appearance.

    Raises ValueError for what it does not follow: type parameters, and global or nonlocal in a class's body.
    """
    resolver = _Resolver()
    resolver.visit(tree)
    return resolver.found


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node of a tree that holds anything, in no particular order; faster than ast.walk."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += children(node)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes within a node, without operators and contexts, which hold nothing."""
    if isinstance(node, ast.Name | ast.Constant):
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
    """A function's bindings, or a class's, which nobody sees but its own body; `globals` are declared as such."""

    is_class: bool = False
    bindings: dict[str, Binding] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)

    def bind(self, name: str | None, parameter: bool = False, fixed: bool = False) -> None:
        if name is not None:
            binding = self.bindings.setdefault(name, Binding(parameter))
            binding.fixed |= fixed

    def declared(self) -> _Scope:
        """The scope, after its global and nonlocal statements have had their say."""
        for name in self.globals | self.nonlocals:
            self.bindings.pop(name, None)
        return self


class _Visitor(ast.NodeVisitor):
    """Visits what holds names, and nothing else."""

    def generic_visit(self, node: ast.AST) -> None:
        for child in children(node):
            self.visit(child)


class _Bound(_Visitor):
    """Collects what the statements of one function or class bind, leaving out the scopes inside it."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope
        self._inside_comprehension = 0

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load) and not self._inside_comprehension:
            self._scope.bind(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._scope.bind(node.target.id)  # of a comprehension, too, it is the function around that binds it
        self.visit(node.value)

    def _visit_comprehension(self, node: ast.AST) -> None:
        self._inside_comprehension += 1
        self.generic_visit(node)
        self._inside_comprehension -= 1

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def _visit_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._scope.bind(node.name)
        for outside in _evaluated_outside(node):
            self.visit(outside)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_definition

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for outside in _evaluated_outside(node):
            self.visit(outside)

    def _visit_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self._scope.bind(alias.asname or alias.name.partition(".")[0], fixed=_is_dotted(alias))

    visit_Import = visit_ImportFrom = _visit_import

    def _visit_named(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
        self._scope.bind(node.name)
        self.generic_visit(node)

    visit_ExceptHandler = visit_MatchAs = visit_MatchStar = _visit_named

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._scope.bind(node.rest)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self._scope.globals.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._scope.nonlocals.update(node.names)


class _Resolver(_Visitor):
    """Visits a program in the order of its text, and notes what each name means where it stands."""

    def __init__(self) -> None:
        self.found: list[Occurrence] = []
        self._scopes: list[_Scope] = []

    def _meaning(self, name: str) -> Binding | None:
        for depth, scope in enumerate(reversed(self._scopes)):
            if scope.is_class and depth > 0:
                continue
            if name in scope.globals:
                return None
            if name in scope.bindings:
                return None if scope.is_class else scope.bindings[name]
        return None

    def _note(self, node: ast.AST, attribute: str, name: str | None) -> None:
        if name is not None:
            self.found.append(Occurrence(name, self._meaning(name), partial(setattr, node, attribute)))

    def _visit_all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    @contextmanager
    def _inside(self, scope: _Scope) -> Iterator[None]:
        self._scopes.append(scope)
        yield
        self._scopes.pop()

    def visit_Name(self, node: ast.Name) -> None:
        self._note(node, "id", node.id)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        _refuse_type_parameters(node)
        self._note(node, "name", node.name)
        self._visit_scope(node, node.body)

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_function

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_scope(node, [node.body])

    def _visit_scope(self, node: _Function, body: Sequence[ast.AST]) -> None:
        self._visit_all(_evaluated_outside(node))
        scope, parameters = _Scope(), _parameters(node.args)
        for parameter in parameters:
            scope.bind(parameter.arg, parameter=True)
        for statement in body:
            _Bound(scope).visit(statement)
        with self._inside(scope.declared()):
            for parameter in parameters:
                self._note(parameter, "arg", parameter.arg)
            self._visit_all(body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        _refuse_type_parameters(node)
        self._note(node, "name", node.name)
        self._visit_all(_evaluated_outside(node))
        scope = _Scope(is_class=True)
        for statement in node.body:
            _Bound(scope).visit(statement)
        if scope.globals or scope.nonlocals:
            raise ValueError("global and nonlocal in a class's body are not followed")
        with self._inside(scope):
            self._visit_all(node.body)

    def _visit_comprehension(self, node: _Comprehension) -> None:
        self.visit(node.generators[0].iter)  # the first iterable belongs to the scope around
        scope = _Scope()
        for generator in node.generators:
            _Bound(scope).visit(generator.target)
        with self._inside(scope):
            for place, generator in enumerate(node.generators):
                self._visit_all([generator.target, *([generator.iter] if place else []), *generator.ifs])
            self._visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def _visit_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self._note(alias, "asname", alias.asname or alias.name.partition(".")[0])

    visit_Import = visit_ImportFrom = _visit_import

    def _visit_named(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
        self._note(node, "name", node.name)
        self.generic_visit(node)

    visit_ExceptHandler = visit_MatchAs = visit_MatchStar = _visit_named

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._note(node, "rest", node.rest)
        self.generic_visit(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        for place, name in enumerate(node.names):
            self.found.append(Occurrence(name, self._meaning(name), partial(node.names.__setitem__, place)))


def _evaluated_outside(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef) -> list[ast.AST]:
    """The parts of a definition that run in the scope around it: decorators, bases, defaults and annotations."""
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    outside: list[ast.AST | None] = [*node.args.defaults, *node.args.kw_defaults]
    outside += [parameter.annotation for parameter in _parameters(node.args)]
    if not isinstance(node, ast.Lambda):
        outside += [*node.decorator_list, node.returns]
    return [part for part in outside if part is not None]


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    starred = [parameter for parameter in (arguments.vararg, arguments.kwarg) if parameter is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]


def _is_dotted(alias: ast.alias) -> bool:
    """`import a.b` binds `a`, and `as` would bind b."""
    return alias.asname is None and "." in alias.name


def _refuse_type_parameters(node: ast.AST) -> None:
    if getattr(node, "type_params", None):
        raise ValueError("type parameters are not followed")
