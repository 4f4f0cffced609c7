"""A grammar, in llama.cpp's notation GBNF, of short Python programs that define a task's function.

A model that is held to it cannot forget the function, change its parameters or invent names. A program may use its
parameters, the names in `_OWN`, and common functions of Python and numpy. It may still fail: a name may have no value
yet, and a limit on tokens may cut the program off. Lines, expressions and brackets are bounded, so that a model that
repeats itself comes to an end.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator

from behavesim.base.syntax import parsed
from behavesim.programs.functions import functions_in, signature

STATEMENTS = (10, 4, 2)
"""Most statements in a row: of the function, in a block in it, and in a block in that."""
BRACKETS = 2
"""How deep brackets may stand in brackets."""
_OWN = "a b best c cost d found i index j k n order result s score scores total value values x y"
"""Names, separated by spaces, that a program may give values."""
_CALLED = "abs all any enumerate float int len list max min range round set sorted sum tuple zip"
"""Python's functions that a program may call, separated by spaces."""
_OF_MODULES = {
    "math": "ceil cos exp floor hypot log sin sqrt tanh",
    "numpy": "abs all any arange argmax argmin argsort array clip concatenate cos cumsum diff dot exp floor full isin "
    "log log1p max maximum mean median min minimum nonzero ones outer percentile power prod roll sign sin sort sqrt "
    "std sum tanh unique var where zeros",
}
"""Functions that a program may call, by their module; each module counts only if the template imports it."""
_OF_VALUES = "T all any append argmax argmin argsort copy max mean min pop shape size sort std sum tolist"
"""Attributes and methods of arrays and lists that a program may use, separated by spaces."""
_FIXED = """
number ::= ("0" | [1-9] [0-9]{0,3}) ("." [0-9]{1,4})?
compared ::= " < " | " > " | " <= " | " >= " | " == " | " != " | " in "
operator ::= " + " | " - " | " * " | " / " | " // " | " % " | " ** "
target ::= (own | own "[" value0 "]") (" = " | " += " | " -= ") | own ", " own " = "
"""
_VALUE = """
value{d} ::= "-"? atom{d} (operator atom{d}){{0,2}}
atom{d} ::= name after{d}{{0,2}} | number{deep}
"""
_DEEP = """
after{d} ::= "." attribute ("(" arguments{d}? ")")? | "[" index{d} "]"
index{d} ::= value{less} (", " value{less})? | value{less}? ":" value{less}? | value{less} compared value{less}
list{d} ::= "[" (value{less} (", " value{less}){{0,3}})? "]"
all{d} ::= "[" value{less} " for " own " in " value{less} "]"
called{d} ::= function "(" arguments{d}? ")"
arguments{d} ::= value{less} (", " value{less}){{0,2}} (", " named{d})? | named{d}
named{d} ::= "axis=" value{less} | "key=lambda " own ": " value{less}
"""


def program_grammar(template: str, entry_point: str) -> str:
    """Return the grammar of replies: one fenced block with the template's imports, its signature, and a short body.

    Raises KeyError if the template does not define `entry_point`, SyntaxError if it is no Python.
    """
    imports = [each for each in parsed(template).body if isinstance(each, ast.Import | ast.ImportFrom)]
    function = functions_in(template)[entry_point]
    head = "\n".join(["```python", *map(ast.unparse, imports), "", f"{signature(function)}:"])
    given = function.args
    parameters = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    rules = [
        f'root ::= {json.dumps(head)} {_block(0)} {json.dumps(_indented(0))} "return " value "\\n```"',
        f"value ::= value{BRACKETS}",
        "condition ::= value1 (compared value1)?",
        f"own ::= {_one_of(_OWN.split())}",
        f"name ::= {_one_of([*parameters, *_OWN.split()])}",
        f"function ::= {_one_of([*_CALLED.split(), *_imported(imports)])}",
        f"attribute ::= {_one_of(_OF_VALUES.split())}",
        *_statements(),
        _FIXED.strip(),
        *_values(),
    ]
    return "\n".join(rules) + "\n"


def _imported(imports: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[str]:
    """Yield the functions that imports make known: those imported by name, and of modules those in _OF_MODULES."""
    for each in imports:
        for name in each.names:
            if isinstance(each, ast.ImportFrom):
                yield name.asname or name.name
            else:
                module = name.asname or name.name
                yield from (f"{module}.{found}" for found in _OF_MODULES.get(name.name, "").split())


def _statements() -> Iterator[str]:
    """Yield each rule of a statement, with the indentation of its lines, for each depth of STATEMENTS, from 0."""
    for depth in range(len(STATEMENTS)):
        simple = f'{json.dumps(_indented(depth))} (target value | "return " value)'
        if depth + 1 == len(STATEMENTS):
            yield f"statement{depth} ::= {simple}"
            continue
        block, here = _block(depth + 1), json.dumps(_indented(depth))
        yield f"statement{depth} ::= {simple} | {here} loop{depth} | {here} choice{depth}"
        yield f'loop{depth} ::= "for " own (", " own)? " in " value ":" {block}'
        yield f'choice{depth} ::= "if " condition ":" {block} ({here} "else:" {block})?'


def _values() -> Iterator[str]:
    """Yield the rules of values, by how deep their brackets go."""
    yield _VALUE.format(d=0, deep="").strip()
    yield 'after0 ::= "." attribute | "[" (name | number) "]"'
    for depth in range(1, BRACKETS + 1):
        less = depth - 1
        deep = f' | list{depth} | all{depth} | called{depth} | "(" value{less} ")"'
        yield _VALUE.format(d=depth, deep=deep).strip()
        yield _DEEP.format(d=depth, less=less).strip()


def _block(depth: int) -> str:
    """Return the rule of a block's statements, its right side; only the function's body (depth 0) may have none."""
    return f"statement{depth}{{{0 if depth == 0 else 1},{STATEMENTS[depth]}}}"


def _indented(depth: int) -> str:
    """Return a line end and the indentation of a line in a block at this depth."""
    return "\n" + "    " * (depth + 1)


def _one_of(names: list[str]) -> str:
    """Return the right side of a rule that allows any one of these names: each in double quotes, with " | " between."""
    return " | ".join(map(json.dumps, names))
