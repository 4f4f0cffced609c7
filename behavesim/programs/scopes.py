"""Finds the binding that each name in a program refers to, by Python's rules of scope."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

_HOLDS_NOTHING = (ast.Name, ast.Constant)
_WORD = re.compile(r"\w+")


@dataclass(eq=False)
class Binding:
    """A name bound in a function or comprehension. It is `fixed` if it cannot be renamed (as in `import a.b`)."""

    parameter: bool = False
    fixed: bool = False


class Occurrence(NamedTuple):
    """A name in the text, its binding, and a function that renames it in the tree.

    The binding is None for a global, a builtin or a name of a class's body.
    """

    name: str
    binding: Binding | None
    rename: Callable[[str], None]


@dataclass(frozen=True)
class Names:
    """The names in a program."""

    occurrences: Sequence[Occurrence]
    """Every name but attributes and keywords, in order of appearance."""
    keywords: frozenset[str | None]
    """The keywords of all calls; None is among them if a call passes a mapping (`**`), which may hold any."""
    words: frozenset[str]
    """The names it reads or assigns, its attributes, what it imports, and the words of its strings.

    `format` is among them if it puts values into text, `__traceback__` if it names an exception that it catches.
    """


def names(tree: ast.Module) -> Names:
    """Return the names in a program.

    Raises ValueError for what is not supported: type parameters, and global or nonlocal in a class's body.
    """
    reader = _Reader()
    reader.visit(tree)
    found = [Occurrence(name, scope.meaning(name), rename) for name, scope, rename in reader.noted]
    return Names(found, frozenset(reader.keywords), frozenset(reader.words))


def children(node: ast.AST) -> list[ast.AST]:
    """Return the child nodes without contexts and operators; faster than `ast.iter_child_nodes`."""
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
    """The bindings of a function or comprehension; a class or module also has a scope, but its names are kept."""

    outer: _Scope | None = None
    is_class: bool = True
    is_comprehension: bool = False
    bindings: dict[str, Binding] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)

    def bind(self, name: str, parameter: bool = False, fixed: bool = False) -> None:
        binding = self.bindings.setdefault(name, Binding(parameter))
        binding.fixed |= fixed

    def meaning(self, name: str) -> Binding | None:
        """Return the binding of a name in this scope, once all is read. Only a class's own body sees its names."""
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
    """Visits a program in the order of its text, and notes its bindings and names."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, _Scope, Callable[[str], None]]] = []
        self.keywords: set[str | None] = set()
        self.words: set[str] = set()
        self._scope = _Scope()

    def generic_visit(self, node: ast.AST) -> None:
        for child in children(node):
            self.visit(child)

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
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
        self.words.add(node.id)
        if not isinstance(node.ctx, ast.Load):
            self._scope.bind(node.id)
        self._note(node, "id", node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.words.add(node.attr)
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.words.update(_WORD.findall(node.value))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        self.words.add("format")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant | ast.JoinedStr):
            self.words.add("format")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        self.keywords.add(node.arg)
        self.visit(node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        scope = self._scope
        while scope.is_comprehension and scope.outer is not None:
            scope = scope.outer  # `:=` in a comprehension binds the name in the function around it
        scope.bind(node.target.id)
        self.words.add(node.target.id)
        self._note(node.target, "id", node.target.id)
        self.visit(node.value)

    def _visit_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        _refuse_type_parameters(node)
        self._note_bound(node, "name", node.name)
        self._visit_function(node, node.body)

    visit_FunctionDef = visit_AsyncFunctionDef = _visit_definition

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_function(node, [node.body])

    def _visit_function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, body: Sequence[ast.AST]
    ) -> None:
        self._visit_all(_evaluated_outside(node))
        with self._inside(_Scope(self._scope, is_class=False)):
            for parameter in _parameters(node.args):
                self._scope.bind(parameter.arg, parameter=True)
                self._note(parameter, "arg", parameter.arg)
            self._visit_all(body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        _refuse_type_parameters(node)
        self._note_bound(node, "name", node.name)
        self._visit_all(_evaluated_outside(node))
        with self._inside(_Scope(self._scope)):
            self._visit_all(node.body)
            if self._scope.globals or self._scope.nonlocals:
                raise ValueError("global and nonlocal in a class's body are not followed")

    def _visit_comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self.visit(node.generators[0].iter)  # the first iterable belongs to the scope around
        with self._inside(_Scope(self._scope, is_class=False, is_comprehension=True)):
            for place, generator in enumerate(node.generators):
                self._visit_all([generator.target, *([generator.iter] if place else []), *generator.ifs])
            self._visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self.words.update(_WORD.findall(alias.name))
            self._note_bound(alias, "asname", alias.asname or alias.name.partition(".")[0], fixed=_is_dotted(alias))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.words.update(_WORD.findall(node.module or ""))
        self.visit_Import(node)

    def _visit_named(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
        self._note_bound(node, "name", node.name)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = _visit_named

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name is not None:
            self.words.add("__traceback__")
        self._visit_named(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._note_bound(node, "rest", node.rest)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self._scope.globals.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._scope.nonlocals.update(node.names)
        for place, name in enumerate(node.names):
            self.noted.append((name, self._scope, partial(node.names.__setitem__, place)))


def _evaluated_outside(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef) -> list[ast.AST]:
    """Return the parts of a definition that run in the scope around it: decorators, bases, defaults, annotations."""
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
    """Whether an import has a dotted name: `import a.b` binds `a`, but `import a.b as a` would bind b."""
    return alias.asname is None and "." in alias.name


def _refuse_type_parameters(node: ast.AST) -> None:
    if getattr(node, "type_params", None):
        raise ValueError("type parameters are not followed")
