"""How prompts are worded: a folder with a text for each thing that is asked, in which $names stand for its parts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from types import MappingProxyType

from behavesim.base.errors import UsageError, nearest
from behavesim.base.text_file import read_text_file

HERE = Path(__file__).parent
SHIPPED = ("full", "paper")
"""Ours, with the task's contract in every prompt; and what the paper tells of its prompts, without it."""
OF_TASK = frozenset({"description", "contract", "template", "template_score", "entry_point"})
OF_PROGRAMS = frozenset(
    {"shown", "behaviour", "programs", "algorithms", "worse", "better", "comparison", "aim", "best"}
)
OF_REPAIR = frozenset({"prompt", "reply", "reason", "message"})
PARTS = OF_TASK | OF_PROGRAMS | OF_REPAIR | {"angle", "hint", "hints", "known", "answer", "answer_with_idea"}
"""The names that a text may use; docs/prompts.md says what stands for each."""


@dataclass(frozen=True)
class Wording:
    """The texts of one way to ask, by what they ask for."""

    texts: Mapping[str, str]

    @classmethod
    def load(cls, name: str) -> Wording:
        """One of `SHIPPED`, or the texts of a folder of one's own in the place of those of `full`.

        Raises UsageError where there is no such folder, or a text of it has a name or a part that nobody knows.
        """
        if name in SHIPPED:
            return cls(_shipped(name))
        own, ours = _own(Path(name)), _shipped("full")
        for file, text in own.items():
            if file not in ours:
                raise UsageError(f"{name}/{file}.md is the text of nothing; {nearest(file, ours) or ', '.join(ours)}")
            _refuse_unknown_parts(f"{name}/{file}.md", text)
        return cls({**ours, **own})

    def text(self, name: str, parts: Mapping[str, str]) -> str:
        """A text with its parts filled in; a paragraph of which nothing is left goes without a trace."""
        answers = {each: Template(self.texts[each]).substitute(parts) for each in ("answer", "answer_with_idea")}
        known = {**parts, **{each: " ".join(text.split()) for each, text in answers.items()}}
        paragraphs = [Template(each).substitute(known).strip() for each in self.texts[name].strip().split("\n\n")]
        return "\n\n".join(filter(None, paragraphs))

    def asks_thought(self, name: str) -> bool:
        """Whether a text asks for a thought before the program."""
        return "$answer_with_idea" in self.texts[name]

    @property
    def angles(self) -> list[str]:
        """Places to begin from, for first prompts that are to differ."""
        return self.texts.get("angles", "").splitlines()


def located(name: str) -> str:
    """A wording's name, or the path of its folder, valid from any folder."""
    return name if name in SHIPPED else str(Path(name).resolve())


def wording_hash(name: str) -> str:
    """The SHA-256 of the texts of one's own; empty for ours, which belong to the version of this package."""
    if name in SHIPPED:
        return ""
    return hashlib.sha256(repr(sorted(_own(Path(name)).items())).encode()).hexdigest()


@cache
def _shipped(name: str) -> Mapping[str, str]:
    return MappingProxyType(_texts(HERE / name))


def _own(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        raise UsageError(f"prompts are {', '.join(SHIPPED)}, or a folder with texts of your own; there is no {folder}")
    if not (texts := _texts(folder)):
        raise UsageError(f"{folder} holds no text for a prompt; write one as {folder}/improve.md")
    return texts


def _texts(folder: Path) -> dict[str, str]:
    return {path.stem: read_text_file(path, "prompt") for path in sorted(folder.glob("*.md"))}


def _refuse_unknown_parts(file: str, text: str) -> None:
    template = Template(text)
    if not template.is_valid():
        raise UsageError(f"{file} has a $ that begins no part's name; write $$ for the sign itself")
    for part in template.get_identifiers():
        if part not in PARTS:
            raise UsageError(f"{file} names the part ${part}; {nearest(part, PARTS) or ', '.join(sorted(PARTS))}")
