"""Parses a model's code within limits on its length, depth and compiled size, which is estimated first."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import accumulate
from typing import NamedTuple

from behavesim.base.text import parse

# The names that a program uses without defining them, and the imports that it gets for some of them.


# Imports that a program gets if it uses their names and does not define them.
OFFERED = """
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, typing
import numba
import numpy
import numpy as np
import numpy.typing as npt
import scipy
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial, reduce
from itertools import chain, combinations, permutations, product
from numba import jit, njit, prange
from numpy.typing import ArrayLike, NDArray
from typing import (
    Any, Callable, Dict, Final, FrozenSet, Generator, Generic, Iterable, Iterator, List, Literal, Mapping, NamedTuple,
    Optional, Protocol, Sequence, Set, Tuple, Type, TypeVar, Union, cast, overload,
)
"""
# a module has the dunder names without defining them
_ALWAYS_THERE = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__spec__", "__annotations__"}


def missing_names(source: str) -> set[str]:
    """Return the global names that a program reads in any scope and never binds as globals, without Python's builtins.

    A module's own names such as `__file__` do not count. Raises SyntaxError if the source is no Python.
    """
    tables = [symtable.symtable(source, "<program>", "exec")]
    symbols = tables[0].get_symbols()
    for table in tables:  # the list grows by the functions and classes inside, on every level
        tables += table.get_children()
        symbols += [symbol for symbol in table.get_symbols() if symbol.is_global()]
    read = {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    bound = {each.get_name() for each in symbols if each.is_assigned() or each.is_imported() or each.is_namespace()}
    return read - bound - _ALWAYS_THERE


def bound_by(alias: ast.alias) -> str:
    """Return the name that one part of an import binds: `a` for `import a.b`, `c` for `import a.b as c`."""
    return alias.asname or alias.name.partition(".")[0]


@cache
def usual_imports(template: str) -> dict[str, str]:
    """Return the imports in OFFERED and in a template's text, by the name that each binds; of both, the template's."""
    return imports_in(parse(OFFERED).body) | imports_in(parse(template).body)


def imports_in(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """Return a statement's source for each name that the imports among these statements bind.

    Imports from `__future__`, and those inside of other statements, are left out.
    """
    found: dict[str, str] = {}
    for statement in statements:
        match statement:
            case ast.Import(names=aliases):
                found |= {bound_by(alias): ast.unparse(ast.Import([alias])) for alias in aliases}
            case ast.ImportFrom(module=module, names=aliases, level=level) if module != "__future__":
                found |= {bound_by(each): ast.unparse(ast.ImportFrom(module, [each], level)) for each in aliases}
    return found


def with_imports(source: str, usual: Mapping[str, str]) -> str:
    """Return the program with the `usual` imports, statements by name, whose names it reads and does not define.

    They stand first, but behind its imports from `__future__`. Raises SyntaxError if the program is no Python.
    """
    missing = missing_names(source)
    imports = [statement for name, statement in usual.items() if name in missing]
    own = [node for node in parse(source).body if isinstance(node, ast.ImportFrom)]
    first = max((node.end_lineno or 0 for node in own if node.module == "__future__"), default=0)
    lines = source.split("\n")
    gap = [""] if imports and not first else []
    return "\n".join([*lines[:first], *imports, *gap, *lines[first:]])


# Finds the binding that each name in a program refers to, by Python's rules of scope.


_HOLDS_NOTHING = (ast.Name, ast.Constant)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
# For each of these types of nodes, the attribute that holds the name that it binds, or None if it binds none.
_BINDS: Mapping[type[ast.AST], str] = {
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}


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
    """The bindings of a function or comprehension; a class or module also has a scope, but its names are kept."""

    # `outer` is the scope around it, None for the module. `globals` and `nonlocals` are the names declared so in it.

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
        # It is None for a global and for a name of a class's body, which the functions in it do not see.
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


# Most characters of a program, about 800 lines, since prompts show it; a longer one is refused as `too-long`.
#
# A whole text may have more (`WholeForm`).
LONGEST_PROGRAM = 30_000
# Most levels of a syntax tree. Whether Python can compile a deeper tree depends on the depth of its call stack.
DEEPEST = 150
# Most nodes that the compiler may write code for, copies included: this takes about 100 ms and 70 MB.
#
# They are counted only where a line begins with `finally` or `case`.
LARGEST_PROGRAM = 100_000
# Most characters that are parsed for one reply, in all attempts together; more if programs may be long (`Parser`).
PARSED_AT_MOST = 100_000
# Most characters of a program that `is_plain`: up to this size all steps of Python's compiler are fast.
PLAIN_CHARACTERS = 12_000
# Most brackets open at once in a program that `is_plain`: deep nesting can make Python's parser slow.
PLAIN_BRACKETS = 20
# Statements that Python's compiler can copy: a `finally` for each exit, a `case` alternative for each capture.
_COSTLY = re.compile(r"^[ \t\f]*(?:finally|case)\b", re.MULTILINE)
_EXIT = ast.Return | ast.Break | ast.Continue
_SCOPE = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
# names with more than DEEPEST parts, such as a.b.c…
_DOTTED = re.compile(rf"\b(?:\w+[ \t]*\.[ \t]*){{{DEEPEST}}}")


class TooLong(SyntaxError):
    """Raised for a program that has more characters than its parser allows."""


class TooComplex(SyntaxError):
    """Raised for a program of a compiled size above LARGEST_PROGRAM, and for a reply that needs too much parsing."""


class NeedsLimits(Exception):
    """A text may be costly to parse, so it must be parsed in a process with limits of time and memory."""


@dataclass(frozen=True)
class Parsed:
    """A program that compiles: its text, its syntax tree, and all names that it reads or assigns, in any scope.

    `names` leaves out a name that a definition, a parameter or an import binds, if nothing reads it. `rest` is the
    syntax error because of which text after the program was dropped; None if nothing was dropped.
    """

    source: str
    tree: ast.Module
    names: frozenset[str]
    rest: SyntaxError | None = None


class Parser:
    """Parses the texts of one reply, until PARSED_AT_MOST characters have been parsed; then it raises TooComplex.

    If `longest` is above LONGEST_PROGRAM, this bound is higher by twice the difference.
    """

    def __init__(self, has_limits: bool, longest: int = LONGEST_PROGRAM) -> None:
        """`has_limits` says whether this process has limits of time and memory, so that it may parse any text.

        `longest` is the most characters of a program.
        """
        self._has_limits, self._longest = has_limits, longest
        self._left = PARSED_AT_MOST + 2 * (longest - LONGEST_PROGRAM)

    def parse_beginning(self, code: str, tries: int) -> Parsed:
        """Return the program at the beginning of a text, without indentation and the prose that may follow it.

        The whole text is tried first, then up to the last statement before each error, `tries` times in all. A blank
        text is an empty program. Raises the SyntaxError of the whole text if none of these compiles. Raises NeedsLimits
        if this process has no limits and the text may be costly (see `is_plain`).
        """
        code = code.strip("\n")
        lines = (textwrap.dedent(code) if code[:1] in (" ", "\t") else code).split("\n")
        first: SyntaxError | None = None
        for _ in range(tries):
            try:
                parsed = self.parse("\n".join(lines))
            except SyntaxError as error:
                first = first or error
                lines = lines[: _statement_start(lines, min(error.lineno or 1, len(lines)) - 1)]
                if not any(lines):
                    break
            else:
                return replace(parsed, rest=first)
        raise first or SyntaxError("there is no code")

    def parse(self, code: str) -> Parsed:
        """Return the parsed program, without line feeds before it and white space after it.

        Raises NeedsLimits if this process has no limits and the text may be costly (see `is_plain`). Raises TooLong
        or TooComplex, and SyntaxError if it does not compile, also where Python has another error (a null character).
        """
        code = code.strip("\n").rstrip()
        if len(code) > self._longest:
            raise TooLong(f"the program has {len(code)} characters; at most {self._longest} are taken")
        if not (self._has_limits or is_plain(code)):
            raise NeedsLimits
        self._left -= len(code)
        if self._left < 0:
            raise TooComplex(f"to read the reply takes parsing more than {PARSED_AT_MOST} characters")
        # Python's parser takes 200 MB for a name of 14 000 parts
        if code.count(".") >= DEEPEST and _DOTTED.search(code):
            raise SyntaxError(f"a name has more than {DEEPEST} parts")
        try:
            with warnings.catch_warnings(action="ignore"):  # else a program's "\d" would print one on the console
                tree, names = _compiled(code)
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            raise SyntaxError(f"{type(error).__name__}: {error}") from error
        return Parsed(code, tree, names)


def _compiled(code: str) -> tuple[ast.Module, frozenset[str]]:
    """Return the syntax tree of code and the names in it; raises SyntaxError or TooComplex if it does not compile."""
    tree = parse(code)
    names = _names(tree)
    if may_multiply(code) and compiled_size(tree) > LARGEST_PROGRAM:
        raise TooComplex("compiled, the program is too large: use fewer `finally` and `case` statements")
    compile(tree, "<program>", "exec", dont_inherit=True, optimize=0)
    return tree, names


def _names(tree: ast.Module) -> frozenset[str]:
    """Return the names that a tree reads or assigns; raises SyntaxError if it has more than DEEPEST levels."""
    level: list[ast.AST] = [tree]
    found: set[str] = set()
    for _ in range(DEEPEST):  # level by level, since a recursion could exhaust Python's stack
        level = [child for node in level for child in children(node)]
        if not level:
            return frozenset(found)
        found.update([node.id for node in level if isinstance(node, ast.Name)])
    raise SyntaxError(f"expressions or branches are nested more than {DEEPEST} levels deep")


def _statement_start(lines: list[str], number: int) -> int:
    while number > 0 and (not lines[number].strip() or lines[number][0] in " \t)]}"):
        number -= 1
    return number


def is_plain(code: str) -> bool:
    """Whether a text surely takes less than 100 ms and 50 MB to parse and compile; False means that this is not known.

    It must have at most PLAIN_CHARACTERS characters, no `finally` or `case`, and at most PLAIN_BRACKETS open brackets.
    It need not be Python.
    """
    return len(code) <= PLAIN_CHARACTERS and not may_multiply(code) and _brackets_open(code) <= PLAIN_BRACKETS


def may_multiply(code: str) -> bool:
    """Whether any line of a text begins with `finally` or `case`, statements that the compiler may copy many times."""
    return _COSTLY.search(code) is not None


def compiled_size(node: ast.AST) -> int:
    """Return about how many nodes of a syntax tree the compiler writes code for, copies included.

    It recurses, so the tree must not be deep (see DEEPEST).
    """
    return _size(node)[0]


def _brackets_open(code: str) -> int:
    """Return the largest number of brackets open at once; brackets in strings and comments count too."""
    steps = (1 if bracket in "([{" else -1 for bracket in re.findall(r"[()\[\]{}]", code))
    return max(accumulate(steps, lambda opened, step: max(0, opened + step), initial=0))


def _size(node: ast.AST) -> tuple[int, int]:
    """Return two counts for a node and all below it, with the compiler's copies: nodes, and statements that leave."""
    # The latter are `return`, `break` and `continue`; the count is 0 for a function, which they do not leave.
    final = frozenset(getattr(node, "finalbody", ()))
    last = [_size(each) for each in final]  # only once: twice at each level would take time 2**depth
    parts = [*last, *(_size(child) for child in children(node) if child not in final)]
    size, exits = 1 + sum(part for part, _ in parts), sum(part for _, part in parts)
    match node:
        case ast.Try() | ast.TryStar() if last:
            last_size, last_exits = sum(part for part, _ in last), sum(part for _, part in last)
            copies = 1 + exits - last_exits  # beside the one counted: one for exceptions, one for each exit
            return size + copies * last_size, exits + copies * last_exits
        case ast.MatchOr(patterns=patterns):
            captures = sum(isinstance(each, ast.MatchAs | ast.MatchStar) for each in ast.walk(node))
            return size + captures * captures // len(patterns), exits
    if isinstance(node, _SCOPE):
        return size, 0
    return size, exits + isinstance(node, _EXIT)
