"""A grammar, in llama.cpp's notation GBNF, of short Python programs that define a task's function.

A model that is held to it cannot forget the function, change its parameters or use a keyword as a name. Its programs
may still fail: they may use a name without a value, and a limit on tokens may cut them off.
Lines, expressions and brackets are bounded, so that a model that repeats itself comes to an end.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

from behavesim.base.syntax import parsed
from behavesim.programs.definitions import functions_in
from behavesim.programs.signatures import signature
from behavesim.proposers.keywords import name_rules

STATEMENTS = (10, 4, 2)
"""Most statements in a row: of the function, in a block in it, and in a block in that."""
BRACKETS = 2
"""How deep brackets may stand in brackets."""
_CALLED = [
    "abs",
    "all",
    "any",
    "enumerate",
    "float",
    "int",
    "len",
    "list",
    "max",
    "min",
    "range",
    "round",
    "set",
    "sorted",
    "sum",
    "tuple",
    "zip",
]
_FIXED = """
number ::= ("0" | [1-9] [0-9]{0,3}) ("." [0-9]{1,4})?
text ::= "'" [a-z_]{1,12} "'"
compared ::= " < " | " > " | " <= " | " >= " | " == " | " != " | " in "
operator ::= " + " | " - " | " * " | " / " | " // " | " % " | " ** "
target ::= (name | name "[" value0 "]") (" = " | " += " | " -= ") | name ", " name " = "
"""
_VALUE = """
value{d} ::= "-"? atom{d} (operator atom{d}){{0,2}}
atom{d} ::= name after{d}{{0,2}} | number{deep}
"""
_DEEP = """
after{d} ::= "." name ("(" arguments{d}? ")")? | "[" index{d} "]"
index{d} ::= value{less} (", " value{less})? | value{less}? ":" value{less}? | value{less} compared value{less}
list{d} ::= "[" (value{less} (", " value{less}){{0,3}})? "]"
all{d} ::= "[" value{less} " for " name " in " value{less} "]"
called{d} ::= (library "." name | function) "(" arguments{d}? ")"
arguments{d} ::= value{less} (", " value{less}){{0,2}} (", " named{d})? | named{d}
named{d} ::= name "=" value{less} | "key=lambda " name ": " value{less}
"""


def program_grammar(template: str, entry_point: str) -> str:
    """Return the grammar of replies: one fenced block with the template's imports, its signature, and a short body.

    Raises KeyError if the template does not define `entry_point`, SyntaxError if it is no Python.
    """
    imports = [each for each in parsed(template).body if isinstance(each, ast.Import | ast.ImportFrom)]
    head = "\n".join(
        ["```python", *map(ast.unparse, imports), "", f"{signature(functions_in(template)[entry_point])}:"]
    )
    libraries = [name.asname or name.name for each in imports if isinstance(each, ast.Import) for name in each.names]
    rules = [f'root ::= {json.dumps(head)} {_block(0)} {json.dumps(_indented(0))} "return " value "\\n```"']
    rules += [f"value ::= value{BRACKETS}", "condition ::= value1 (compared value1)?"]
    rules += [f"library ::= {_one_of(libraries)}"] if libraries else []
    rules += [
        f"function ::= {_one_of(_CALLED)}",
        *_statements(),
        *name_rules(),
        _FIXED.strip(),
        *_values(bool(libraries)),
    ]
    return "\n".join(rules) + "\n"


def _statements() -> Iterator[str]:
    """Yield the rules of statements at each depth, with their lines' indentation."""
    for depth in range(len(STATEMENTS)):
        simple = f'{json.dumps(_indented(depth))} (target value | "return " value)'
        if depth + 1 == len(STATEMENTS):
            yield f"statement{depth} ::= {simple}"
            continue
        block, here = _block(depth + 1), json.dumps(_indented(depth))
        yield f"statement{depth} ::= {simple} | {here} loop{depth} | {here} choice{depth}"
        yield f'loop{depth} ::= "for " name (", " name)? " in " value ":" {block}'
        yield f'choice{depth} ::= "if " condition ":" {block} ({here} "else:" {block})?'


def _values(has_libraries: bool) -> Iterator[str]:
    """Yield the rules of values, by how deep their brackets go."""
    for depth in range(BRACKETS + 1):
        less = depth - 1
        deep = f' | list{depth} | all{depth} | called{depth} | "(" value{less} ")"' if depth else " | text"
        yield _VALUE.format(d=depth, deep=deep).strip()
        if not depth:
            yield 'after0 ::= "." name | "[" (name | number) "]"'
            continue
        rules = _DEEP.format(d=depth, less=less).strip()
        yield rules if has_libraries else rules.replace('library "." name | ', "")


def _block(depth: int) -> str:
    return f"statement{depth}{{{0 if depth == 0 else 1},{STATEMENTS[depth]}}}"


def _indented(depth: int) -> str:
    return "\n" + "    " * (depth + 1)


def _one_of(names: list[str]) -> str:
    return " | ".join(map(json.dumps, names))
