"""The wording of prompts: a folder with a text for each kind of question, in which $names stand for parts."""

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
"""The wordings of this package: `full` states the task's contract in every prompt; `paper` follows the paper's."""
OF_TASK = frozenset({"description", "contract", "template", "template_score", "entry_point"})
OF_PROGRAMS = frozenset(
    {"shown", "behaviour", "programs", "algorithms", "worse", "better", "comparison", "aim", "best"}
)
OF_REPAIR = frozenset({"prompt", "reply", "reason", "message"})
PARTS = OF_TASK | OF_PROGRAMS | OF_REPAIR | {"angle", "hint", "hints", "known", "answer", "answer_with_idea"}
"""The names of parts that a text may use; docs/prompts.md describes each."""


@dataclass(frozen=True)
class Wording:
    """The texts of prompts, by what they ask for."""

    texts: Mapping[str, str]

    @classmethod
    def load(cls, name: str) -> Wording:
        """Return a wording of `SHIPPED`, or `full` with the texts of a folder of one's own in place of some.

        Raises UsageError if there is no such folder, or a text there has an unknown name or an unknown part.
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
        """Return a text with its parts filled in; paragraphs that are then empty are left out."""
        # these two texts hold parts of their own, and one paragraph of another text takes each
        answers = {each: Template(self.texts[each]).substitute(parts) for each in ("answer", "answer_with_idea")}
        known = {**parts, **{each: " ".join(text.split()) for each, text in answers.items()}}
        paragraphs = [Template(each).substitute(known).strip() for each in self.texts[name].strip().split("\n\n")]
        return "\n\n".join(filter(None, paragraphs))

    def asks_thought(self, name: str) -> bool:
        """Return whether a text asks for the idea of the program too."""
        return "$answer_with_idea" in self.texts[name]

    @property
    def angles(self) -> list[str]:
        """Ideas to begin from, one a line, for first prompts that differ."""
        return self.texts.get("angles", "").splitlines()


def located(name: str) -> str:
    """Return a wording's name, or the absolute path of its folder."""
    return name if name in SHIPPED else str(Path(name).resolve())


def wording_hash(name: str) -> str:
    """Return the SHA-256 of the texts of one's own; "" for `SHIPPED`, which the package's version identifies."""
    if name in SHIPPED:
        return ""
    # resuming with other texts would ask other questions, so a run records this hash
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
