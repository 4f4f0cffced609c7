"""The numbers of a program that a machine may tune, and the program with others in their place, in any language.

Python is read by its tree. Of other languages only strings and comments are known. Some numbers are left out: those
that say where or how many (indices, axes, sizes of arrays, digits, bits), seeds, and 0, 1 and 2. So is what is below
1e-6 or above 1e6: it guards a division or stands for infinity. A comment `tune: 0.1 to 3` is for the first number of
its line in this range: it is tuned within the range, whatever else holds.
"""

from __future__ import annotations

import ast
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from behavesim.programs.edits import Frame
from behavesim.programs.parsing import TextIndex, children, known_tree
from behavesim.task.evaluated import separate_files

# A part of a text: the index of its first character, and the index after its last.
Span = tuple[int, int]

# Pattern of strings and comments, by which these are passed over; an open comment reaches to the end.
SKIPPED = r'"(?:\\.|[^"\\\n])*+"|\'(?:\\.|[^\'\\\n])*+\'|//[^\n]*+|/\*.*?(?:\*/|\Z)|\#(?!define)[^\n]*+'
_TOKEN = re.compile(
    rf"{SKIPPED}|"
    r"(?<![\w.])(?P<number>(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?)(?=(?:[fFlLuU]{1,3}|[iuf]\d+|[iu]size)?(?![\w.]))",
    re.DOTALL,
)
_DECIMAL = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_BEGUN = r"(?:\#|//|/\*|--|;|%)\s*tune:"
_MARK = re.compile(rf"{_BEGUN}\s*(?P<low>{_DECIMAL})\s+to\s+(?P<high>{_DECIMAL})")
# Names of arguments that say where, how many or which, and of what draws at random.
_FIXED = re.compile(
    r"(?:^|_)(?:ax[ei]s|n?dims?|shape|\w*size|seed|state|dtype|ddof|ord|decimals|kth|max_?len|repeats?)$", re.IGNORECASE
)
_DRAWS = re.compile(r"seed|rng|^random(?:_?state)?$|mt19937", re.IGNORECASE)
_SHAPED = frozenset({"reshape", "zeros", "ones", "empty", "full", "eye", "identity", "tile", "resize", "array_split"})
_SIZES = frozenset({"ndim", "shape", "size"})
_OF_BITS = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
# What stands before a number on its line where it says where, how many or which, or seeds, in other languages.
_FIXED_BEFORE = re.compile(
    r"(?:\[|\bcase|<<|>>|\b\w*(?:seed|rng|mt19937|srand|axis|dim|shape)\w*[ \w]*[=({:]+)\s*$", re.IGNORECASE
)
# What stands before a minus that is a sign.
_SIGN_BEFORE = re.compile(r"(?:^|[-=(,\[{:?<>+*/%&|!^~;]|\breturn)\s*$")
# Magnitudes that are no sentinels.
_SMALLEST, _GREATEST = 1e-6, 1e6
# A number without a mark may change by so much in either direction.
_REAL_FACTOR, _WHOLE_FACTOR = 10.0, 4
# A real number between these is tuned between 0 and its double: shares and decays lie here, and 0.9 is near 1.
_NEAR_ONE = (0.5, 1.5)
# Most numbers of a program that are tuned at once; the cost of finding them grows with their square.
MOST_NUMBERS = 40


@dataclass(frozen=True)
class Number:
    """A number of a program: its line from 1, its value, and the bounds between which it may be tuned."""

    line: int
    value: float
    low: float
    high: float
    is_whole: bool
    span: Span
    """Where it stands in the program's text, with its sign if that is part of the value."""

    @property
    def is_log(self) -> bool:
        """Whether its scale is logarithmic: both bounds have one sign, and lie a factor of ten or more apart."""
        small, large = sorted((abs(self.low), abs(self.high)))
        return self.low * self.high > 0 and large >= 10 * small

    def place_of(self, value: float) -> float:
        """Return where a value lies on the scale: 0 is `low`, 1 is `high`."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value_at(self, place: float) -> float:
        """Return the value at a place on the scale, with six digits, which is what `write_numbers` writes."""
        place = min(max(place, 0.0), 1.0)
        ratio, width = self.high / self.low if self.is_log else 1.0, self.high - self.low
        value = self.low * ratio**place if self.is_log else self.low + place * width
        rounded = float(round(value)) if self.is_whole else float(f"{value:.6g}")
        return min(max(rounded, self.low), self.high)


def numbers_in(text: str) -> list[Span]:
    """Return where decimal numbers stand in a program of any language, in order, without signs and type suffixes.

    Digits in names, hexadecimal numbers, quoted strings, and comments that begin with //, /* or # are skipped.
    """
    return [found.span("number") for found in _TOKEN.finditer(text) if found["number"] is not None]


def replace_literal(text: str, span: Span, new: str) -> str:
    """Return the text with `new` in place of the characters in the span."""
    return text[: span[0]] + new + text[span[1] :]


def within(span: Span, spans: Sequence[Span]) -> bool:
    """Whether a part of a text lies wholly in one of `spans`."""
    return any(begin <= span[0] and span[1] <= end for begin, end in spans)


@lru_cache(256)  # a run asks for those of its best programs again and again
def tunable_numbers(source: str, suffix: str = ".py", template: str = "") -> tuple[Number, ...]:
    """Return the numbers of a program that may be tuned, in the order of its text, at most MOST_NUMBERS.

    `suffix` names the language, and is "" for a program of several files. `template` is the program that a search
    starts from: if it has EVOLVE-BLOCK markers, only numbers between them are tuned. Python that does not parse has no
    numbers. Where there are too many, those with a mark come first.
    """
    frames = {path: Frame.of(text) for path, text in separate_files(template).items()}
    has_blocks = any(frame.has_blocks for frame in frames.values())
    found: list[tuple[bool, Number]] = []
    for path, begin, text in _files(source):
        frame = frames.get(path) or Frame.of("")
        spans = (frame.spans(text) or []) if frame.has_blocks or not has_blocks else []
        literals = _python_literals(text) if (path or suffix).endswith(".py") else _other_literals(text)
        inside = [each for each in literals if within(each[0], spans)]
        first_line = source.count("\n", 0, begin) + 1
        found += _numbers(text, inside, begin, first_line)
    chosen = sorted(range(len(found)), key=lambda place: (not found[place][0], place))[:MOST_NUMBERS]
    return tuple(found[place][1] for place in sorted(chosen))


def marks_without_effect(source: str, numbers: Sequence[Number]) -> list[int]:
    """Return the lines, from 1, whose comment `tune:` is no range within which one of these `numbers` is tuned."""
    found = list[int]()
    for line, text in enumerate(source.splitlines(), 1):
        mark = _MARK.search(text)
        bounds = mark and (float(mark["low"]), float(mark["high"]))
        if re.search(_BEGUN, text) and not any(
            (each.line, (each.low, each.high)) == (line, bounds) for each in numbers
        ):
            found.append(line)
    return found


def write_numbers(source: str, numbers: Sequence[Number], values: Sequence[float]) -> str:
    """Return the program with `values` in place of its `numbers`; what keeps its value keeps its text."""
    for number, value in sorted(zip(numbers, values, strict=True), key=lambda each: -each[0].span[0]):
        if value != number.value:
            source = replace_literal(source, number.span, _literal(source, number, value))
    return source


def _literal(source: str, number: Number, value: float) -> str:
    text = str(int(value)) if number.is_whole else f"{value:.6g}"
    if not number.is_whole and not {".", "e"} & set(text):
        text += ".0"
    begin, end = number.span
    if value >= 0 or source[begin] == "-":
        return text
    # A minus alone could be subtracted, or bind weaker than a power. A type's suffix cannot follow a bracket.
    return f" {text}" if source[end : end + 1].isalpha() else f"({text})"


def _files(source: str) -> Iterator[tuple[str, int, str]]:
    """Yield the path of each file of a program, where its text begins in `source`, and the text."""
    at = 0
    for path, text in separate_files(source).items():
        if path:
            header = at + len(source[at:]) - len(source[at:].lstrip())
            at = source.index("\n", header) + 1
        yield path, at, text
        at += len(text)


# A literal: its span, its value, whether it is whole, and whether it may be tuned without a mark.
_Literal = tuple[Span, float, bool, bool]


def _numbers(text: str, literals: Sequence[_Literal], begin: int, first_line: int) -> Iterator[tuple[bool, Number]]:
    """Yield each literal that may be tuned: whether it has a mark, and the number; the text stands at `begin`."""
    marks = {text.count("\n", 0, mark.start()): mark for mark in _MARK.finditer(text)}
    line = counted = 0
    for span, value, is_whole, is_free in literals:  # in their order in the text
        line, counted = line + text.count("\n", counted, span[0]), span[0]
        mark = marks.get(line)
        bounds: tuple[float, float] | None = None
        if mark is not None and float(mark["low"]) <= value <= float(mark["high"]):
            low, high = float(mark["low"]), float(mark["high"])
            is_whole = is_whole and not set(".eE") & set(mark["low"] + mark["high"])
            bounds = (low, high) if low < high and math.isfinite(high - low) else None
            del marks[line]
        elif is_free:
            bounds, mark = _bounds(value, is_whole), None
        if bounds is not None:
            place = span[0] + begin, span[1] + begin
            yield mark is not None, Number(first_line + line, value, *bounds, is_whole, place)


def _bounds(value: float, is_whole: bool) -> tuple[float, float] | None:
    """Return between which values a number without a mark is tuned; None if it is not."""
    size = abs(value)
    if size in (0, 1, 2) or not _SMALLEST <= size <= _GREATEST:
        return None
    if is_whole:
        small, large = max(1.0, size // _WHOLE_FACTOR), size * _WHOLE_FACTOR
    elif _NEAR_ONE[0] <= size <= _NEAR_ONE[1]:
        small, large = 0.0, 2 * size
    else:
        small, large = size / _REAL_FACTOR, size * _REAL_FACTOR
    return (small, large) if value > 0 else (-large, 0.0 - small)


# Literals of Python, by its tree.


def _python_literals(text: str) -> list[_Literal]:
    tree = known_tree(text)
    if tree is None:
        return []
    index, found = TextIndex(text), list[_Literal]()
    waiting: list[tuple[ast.AST, bool]] = [(tree, True)]  # a node, and whether its numbers may be tuned
    while waiting:
        node, is_free = waiting.pop()
        if isinstance(node, ast.JoinedStr | ast.MatchValue):  # Python 3.11 does not know columns in formatted strings
            continue
        number = _value(node)
        if number is not None:
            assert isinstance(node, ast.expr)
            found.append((index.span(node), float(number), isinstance(number, int), is_free))
            continue
        fixed = _fixed_parts(node)
        for child in children(node):
            # a call gives what it is used for another meaning: `a[: int(0.3 * n)]`
            is_open = isinstance(node, ast.Call | ast.Lambda | ast.stmt) or is_free
            waiting.append((child, is_open and not any(child is each for each in fixed)))
    return sorted(found)


def _value(node: ast.AST) -> int | float | None:
    """Return the value of a number, or of one with a sign; None for all else, and beyond the largest float."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as operand):
            value = _value(operand)
            return None if value is None else -value
        case ast.Constant(value=int() | float() as value):
            return None if isinstance(value, bool) or not abs(value) <= sys.float_info.max else value
    return None


def _fixed_parts(node: ast.AST) -> Sequence[ast.AST]:
    """Return the parts of a node whose numbers say where, how many or which."""
    match node:
        case ast.Subscript(slice=part):
            return [part]
        case ast.keyword(arg=str(name), value=value) if _FIXED.search(name):
            return [value]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=keywords):
            if _DRAWS.search(name):
                return [*args, *keywords]
            return args[1:] if name == "round" else args if name in _SHAPED else []
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _DRAWS.search(name):
            return [value]
        case ast.Compare(left=left, comparators=others) if any(map(_is_size, (left, *others))):
            return [each for each in (left, *others) if _value(each) is not None]
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OF_BITS):
            return [each for each in (left, right) if _value(each) is not None]
        case ast.AnnAssign(annotation=annotation):
            return [annotation]
    return []


def _is_size(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="len")):
            return True
        case ast.Attribute(attr=name) | ast.Subscript(value=ast.Attribute(attr=name)):
            return name in _SIZES
    return False


# Literals of other languages, by their neighbours on the line.


def _other_literals(text: str) -> list[_Literal]:
    found = list[_Literal]()
    for begin, end in numbers_in(text):
        literal = text[begin:end]
        value, is_whole = float(literal), literal.isdigit()
        if not math.isfinite(value):
            continue
        before = text[text.rfind("\n", 0, begin) + 1 : begin]
        after = text[end : end + 20].lstrip(" \t")
        stripped = before.rstrip(" \t")
        if stripped.endswith("-") and _SIGN_BEFORE.search(stripped[:-1]):
            begin, value, before = begin - len(before) + len(stripped) - 1, -value, stripped[:-1]
        is_fixed = _FIXED_BEFORE.search(before) is not None or after.startswith(("<<", ">>"))
        # an index, the length of an array or an argument of a template
        is_fixed = is_fixed or (is_whole and after[:1] in ("]", ">"))
        found.append(((begin, end), value, is_whole, not is_fixed))
    return found
