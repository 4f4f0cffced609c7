"""The places of a Python program at which its text may change: expressions, operators and statements."""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from behavesim.base.syntax import parsed
from behavesim.programs.parsing import NeedsLimits, Parser
from behavesim.programs.scopes import children
from behavesim.proposers.mutation.literals import Span, within

_LINE = re.compile(r"\r\n|\r|\n")
_KNOWN = frozenset(dir(builtins))
_COMPOUND = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
_CONTAINER = ast.List | ast.ListComp | ast.Dict | ast.DictComp | ast.Set | ast.SetComp | ast.Tuple
_NUMBER = ast.BinOp | ast.UnaryOp | ast.Call | ast.Subscript | ast.Name | ast.Attribute | ast.IfExp


@dataclass(frozen=True)
class Place:
    """A node of a program's tree, and the span of its text."""

    node: ast.AST
    span: Span
    function: str
    """The name of the innermost function around it; "" at the top level."""


@dataclass(frozen=True, eq=False)
class PythonText:
    """A Python program; `spans` are the parts of its text that may change."""

    source: str
    spans: tuple[Span, ...]
    tree: ast.Module

    @classmethod
    def of(cls, source: str, spans: Sequence[Span]) -> PythonText | None:
        """Parse a text; return None if it is no Python, or too large or deeply nested to parse in this process."""
        try:
            Parser(has_limits=False).parse(source)  # refuses what is costly or too deep
            with warnings.catch_warnings(action="ignore"):  # else a program's "\d" would print one on the console
                return cls(source, tuple(spans), parsed(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError, NeedsLimits):
            return None

    @cached_property
    def _line_starts(self) -> list[int]:
        """The index in the text at which each line begins."""
        return [0, *(end.end() for end in _LINE.finditer(self.source))]

    def _index(self, line: int, column: int) -> int:
        """Return the index in the text of a line (from 1) and a column in bytes of UTF-8, as `ast` counts."""
        begin = self._line_starts[line - 1]
        if self.source.isascii():
            return begin + column
        end = self._line_starts[line] if line < len(self._line_starts) else len(self.source)
        return begin + len(self.source[begin:end].encode()[:column].decode(errors="ignore"))

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Return the span of a node's text."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._index(node.lineno, node.col_offset), self._index(end_line, end_column)

    def text(self, place: Place) -> str:
        """Return the text at a place."""
        return self.source[place.span[0] : place.span[1]]

    @cached_property
    def places(self) -> list[Place]:
        """The expressions and statements that lie in `spans` and may be replaced, parents before children.

        Left out are, for example, all parts of imports, annotations, decorators and f-strings. What is called is left
        out, too, but not its parts: of `x.sum()` the `x` may be replaced, `x.sum` may not.
        """
        found = []
        for node, function, is_place in _walked(self.tree):
            if is_place and isinstance(node, ast.expr | ast.stmt):
                place = Place(node, self.span(node), function)
                if within(place.span, self.spans):
                    found.append(place)
        return found

    @cached_property
    def modules(self) -> frozenset[str]:
        """The names that imports bind anywhere in the program: also functions and classes that are imported."""
        imports = [node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        return frozenset((alias.asname or alias.name).partition(".")[0] for each in imports for alias in each.names)

    def expressions(self) -> list[Place]:
        """Return the places of expressions of some `kind_of`, except the names of imports."""
        found = [place for place in self.places if kind_of(place.node)]
        return [each for each in found if not (isinstance(each.node, ast.Name) and each.node.id in self.modules)]

    @cached_property
    def _bound(self) -> dict[str, dict[str, int]]:
        """The first line on which each name is bound, by the name of the function around it; "" is the top level.

        Parameters count as bound from the beginning (line 0). Imports and definitions, wherever they are, count as
        bound at the top level, on line 0.
        """
        found: dict[str, dict[str, int]] = {"": dict.fromkeys(self.modules, 0)}
        for node, function, _ in _walked(self.tree):
            match node:
                case ast.Name(id=name, ctx=ast.Store(), lineno=line):
                    lines = found.setdefault(function, {})
                    lines[name] = min(line, lines.get(name, line))
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    found[""][name] = 0
                case ast.arg(arg=name):
                    found.setdefault(function, {})[name] = 0
        return found

    def knows(self, names: frozenset[str], place: Place) -> bool:
        """Whether all these names can be read at a place.

        These are Python's built-in names, all of the top level, and those that its function binds on earlier lines.
        """
        line = getattr(place.node, "lineno", 0)
        own = {name for name, bound in self._bound.get(place.function, {}).items() if bound < line}
        return names <= own | self._bound[""].keys() | _KNOWN


def _walked(tree: ast.Module) -> Iterator[tuple[ast.AST, str, bool]]:
    """Yield every node, the name of the function around it ("" if none), and whether another may take its place.

    Left out are annotations, decorators, and what is within imports and formatted strings (whose columns
    Python 3.11 does not know).
    """
    waiting: list[tuple[ast.AST, str, bool]] = [(tree, "", False)]
    while waiting:
        node, function, is_place = waiting.pop()
        yield node, function, is_place
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        skipped: list[ast.AST | None] = []
        fixed: ast.AST | None = None
        match node:
            case ast.JoinedStr() | ast.Import() | ast.ImportFrom():
                continue
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                skipped = [node.returns, *node.decorator_list]
            case ast.ClassDef():
                skipped = [*node.decorator_list]
            case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=annotation):
                skipped = [annotation]
            # what is called, done for its effect or walked through is no value that another may replace
            case ast.Call(func=fixed) | ast.Expr(value=fixed) | ast.For(iter=fixed) | ast.comprehension(iter=fixed):
                pass
        below = [child for child in reversed(children(node)) if child not in skipped]
        waiting += [(child, function, child is not fixed) for child in below]


def kind_of(node: ast.AST) -> str:
    """Return what an expression counts as, by its form alone: "number", "truth" or "container"; "" for all else.

    Names, calls, attributes, subscripts, arithmetic and conditional expressions count as numbers, whatever they hold.
    A target that is assigned to or deleted is "".
    """
    match node:
        case ast.UnaryOp(op=ast.Not()) | ast.Compare() | ast.BoolOp():
            return "truth"
        case ast.Constant(value=bool()):
            return "truth"
        case ast.Constant(value=int() | float()):
            return "number"
        case ast.Constant():
            return ""
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return ""
    if isinstance(node, _CONTAINER):
        return "container"
    return "number" if isinstance(node, _NUMBER) else ""


def names_read(node: ast.AST) -> frozenset[str]:
    """Return the names in a tree that it does not bind itself by assignment or as a parameter; no attributes."""
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    own = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    own |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    return frozenset(each.id for each in names) - own


def is_removable(place: Place, program: PythonText) -> bool:
    """Whether a place is a statement that may be removed: no name that only this statement binds is read elsewhere.

    False for definitions, imports, `return`, `pass` and constants such as docstrings.
    """
    node = place.node
    if not isinstance(node, ast.stmt) or isinstance(node, _COMPOUND | ast.Return | ast.Pass):
        return False
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False  # a docstring
    inside = {id(each) for each in ast.walk(node)}
    binds = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    others = [each for each in ast.walk(program.tree) if isinstance(each, ast.Name) and id(each) not in inside]
    bound = {each.id for each in others if isinstance(each.ctx, ast.Store)}
    return not (binds - bound) & {each.id for each in others if isinstance(each.ctx, ast.Load)}
