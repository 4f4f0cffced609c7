"""The JSON documents of commands, from the classes of the values that they print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from inspect import cleandoc
from typing import Any, get_args, get_type_hints

from behavesim.analysis.comparison import TaskComparison, Verdict
from behavesim.analysis.difference import ProgramDifference
from behavesim.analysis.groups import Ranks
from behavesim.analysis.report import RunReport
from behavesim.analysis.summary import RecommendedProgram, Summary
from tests.reference.tables import table

LEFT_OUT = {"origin", "summary", "family"}
"""Fields that documents do not have as keys: those of the summary stand beside the others, a family around them."""
TITLES: dict[type[Any], str] = {
    Summary: "`run`, `resume`, and each entry of `list`",
    RunReport: "Each of `runs` in `report`: the keys above, and",
    TaskComparison: "Each of `comparison` in `report`",
    Verdict: "Each of `verdicts` in an entry of `comparison`",
    Ranks: "`ranks` in `report`",
    RecommendedProgram: "`recommend`, without `portfolio`",
    ProgramDifference: "`show RUN A B`",
}


def documents() -> str:
    """A section for each document, then one for each kind of value in them."""
    shown = [*TITLES, *(kind for kind in dict.fromkeys(inner(*TITLES)) if kind not in TITLES)]
    linked = {kind.__name__ for kind in shown} - {kind.__name__ for kind in TITLES}
    return "\n\n".join(_section(kind, TITLES.get(kind, f"`{kind.__name__}`"), linked) for kind in shown)


def inner(*kinds: type[Any]) -> Iterator[type[Any]]:
    """The classes of the values within values."""
    waiting, seen = list(kinds), set(kinds)
    while waiting:
        kind = waiting.pop(0)
        hints = get_type_hints(kind)
        for name in _keys(kind):
            hint = hints[name] if name in hints else get_type_hints(getattr(kind, name).fget)["return"]
            found = [each for each in _classes(hint) if each not in seen]
            seen.update(found)
            waiting += found
            yield from found


def _keys(kind: type[Any]) -> Iterator[str]:
    """The keys of a document: fields, and what is read from a report's details."""
    for name in (field.name for field in fields(kind)):
        if (kind, name) == (RunReport, "run"):
            yield from ("clusters", "joins", "diversity")
        elif name not in LEFT_OUT:
            yield name


def _annotation(kind: type[Any], name: str) -> str:
    """The type of a field or property, as it is written."""
    if name in kind.__dataclass_fields__:
        return str(kind.__dataclass_fields__[name].type)
    return str(getattr(kind, name).fget.__annotations__["return"])


def _classes(hint: Any) -> Iterator[type[Any]]:
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
    for argument in get_args(hint):
        yield from _classes(argument)


def _section(kind: type[Any], title: str, linked: set[str]) -> str:
    rows = ((f"`{name}`", _linked(_named(_annotation(kind, name)), linked)) for name in _keys(kind))
    return f"## {title}\n\n{' '.join(cleandoc(kind.__doc__ or '').split())}\n\n{table(('key', 'value'), rows)}"


WORDS = (
    (r"Mapping\[(?:str|int|CandidateId|GroupName), (.*)\]", r"object of \1"),
    (r"(?:tuple|Sequence)\[(.*), \.\.\.\]", r"list of \1"),
    (r"(?:tuple|Sequence)\[(.*)\]", r"list of \1"),
    (r"\bNone\b", "null"),
    (r"\b(?:int|float)\b", "number"),
    (r"\b(?:str|Path)\b", "text"),
    (r"\bbool\b", "true or false"),
    (r" \| ", " or "),
)


def _named(annotation: str) -> str:
    """What an annotation says, in the words of JSON."""
    for pattern, word in WORDS:
        annotation = re.sub(pattern, word, annotation)
    return annotation


def _linked(text: str, names: set[str]) -> str:
    """The same text, in which the names of values lead to their sections."""
    return re.sub(r"\w+", lambda found: f"[{found[0]}](#{found[0].lower()})" if found[0] in names else found[0], text)
