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
from behavesim.prompts.answering import Variant

HERE = Path(__file__).parent
SHIPPED = ("full", "paper", "small")
"""The wordings of this package.

`full` states the task's contract in every prompt; `paper` follows the paper's; `small` is short, for small models.
"""
PARTS = frozenset(
    {
        *("description", "about", "contract", "template", "template_score", "entry_point"),  # about the task
        *("shown", "run", "tried", "behaviour", "failures"),  # about the run and its programs
        *("programs", "algorithms", "worse", "better", "comparison", "aim", "best", "reached"),
        *("prompt", "reply", "reason", "message"),  # of a repair
        *("angle", "spread", "hint", "hints", "known", "set", "adds", "answer", "answer_with_idea"),
        *("form", "base", "files"),  # of an answer that is a whole program
    }
)
"""The names of parts that a text may use; docs/reference/prompts.md describes each."""


@dataclass(frozen=True)
class Wording:
    """The texts of prompts."""

    texts: Mapping[str, str]
    """Each text by its name, such as "improve": the file's name in the wording's folder, without its suffix."""

    @classmethod
    def load(cls, name: str, variant: Variant = "function") -> Wording:
        """Return a wording of `SHIPPED`, or `full` with the texts of a person's folder in place of its own.

        `name` is that of the wording, or the folder's path. `variant` says what a model is asked for. Raises UsageError
        if there is no such folder, if it holds no text, or if a text there cannot be read. It is also raised for a text
        with an unknown name, an unknown part or a $ without a name.
        """
        if name in SHIPPED:
            return cls(_shipped(name, variant))
        own, ours = _own(Path(name)), _shipped("full", variant)
        for file, text in own.items():
            if file not in ours:
                raise UsageError(f"{name}/{file}.md is the text of nothing; {nearest(file, ours) or ', '.join(ours)}")
            _refuse_unknown_parts(f"{name}/{file}.md", text)
        return cls({**ours, **own})

    def text(self, name: str, parts: Mapping[str, str]) -> str:
        """Return the text of a name with its parts filled in; paragraphs that are then empty are left out.

        `parts` are what to put in place of each $name of the text. Raises KeyError for an unknown text, or if the text
        or that of an answer names another part.
        """
        # these two texts hold parts of their own, and one paragraph of another text takes each
        answers = {each: Template(self.texts[each]).substitute(parts) for each in ("answer", "answer_with_idea")}
        known = {**parts, **{each: _one_paragraph(text) for each, text in answers.items()}}
        paragraphs = [Template(each).substitute(known).strip() for each in self.texts[name].strip().split("\n\n")]
        return "\n\n".join(filter(None, paragraphs))

    def asks_thought(self, name: str) -> bool:
        """Return whether the text of a name asks for the program's idea too; raises KeyError for an unknown text."""
        return "answer_with_idea" in Template(self.texts[name]).get_identifiers()

    @property
    def angles(self) -> list[str]:
        """Ideas to begin from, for prompts with the template alone if `prompt_angles` is set. Empty without any."""
        return self.texts.get("angles", "").splitlines()


def absolute_wording(name: str) -> str:
    """Return the name of a wording of `SHIPPED` as it is, the path of any other wording's folder made absolute."""
    return name if name in SHIPPED else str(Path(name).resolve())


def wording_hash(name: str) -> str:
    """Return the SHA-256 of the texts in a person's folder, in hexadecimal; "" for a wording of `SHIPPED`.

    Those are identified by the package's version. Raises UsageError if there is no such folder, or if it has no text or
    one that cannot be read.
    """
    if name in SHIPPED:
        return ""
    # resuming with other texts would ask other questions, so a run records this hash
    return hashlib.sha256(repr(sorted(_own(Path(name)).items())).encode()).hexdigest()


@cache
def _shipped(name: str, variant: Variant) -> Mapping[str, str]:
    """Return the texts of a wording: those for functions, but for the texts that the variant has of its own."""
    folders = {"function": [], "whole": ["whole"], "diff": ["whole", "diff"]}[variant]
    # a text that the short wording does not have is the full one's
    texts = {**(_texts(HERE / "full") if name == "small" else {}), **_texts(HERE / name)}
    for folder in folders:
        texts |= _texts(HERE / name / folder)
    return MappingProxyType(texts)


def _one_paragraph(text: str) -> str:
    """Return the form of an answer on one line; if it shows edits, line by line, each with single spaces."""
    if "<<<<<<<" not in text:
        return " ".join(text.split())
    return "\n".join(
        line if line.startswith(("<", "=", ">")) else " ".join(line.split()) for line in text.strip().split("\n")
    )


def _own(folder: Path) -> dict[str, str]:
    """Return the texts of a person's folder, by file name without .md; UsageError if there is no folder or no text."""
    if not folder.is_dir():
        raise UsageError(f"prompts are {', '.join(SHIPPED)}, or a folder with texts of your own; there is no {folder}")
    if not (texts := _texts(folder)):
        raise UsageError(f"{folder} holds no text for a prompt; write one as {folder}/improve.md")
    return texts


def _texts(folder: Path) -> dict[str, str]:
    """Return the text of each .md file in a folder, by its name without the suffix."""
    return {path.stem: read_text_file(path, "prompt") for path in sorted(folder.glob("*.md"))}


def _refuse_unknown_parts(file: str, text: str) -> None:
    """Raise UsageError, naming the file, if a text has a part that is not in PARTS, or a $ without a name."""
    template = Template(text)
    if not template.is_valid():
        raise UsageError(f"{file} has a $ that begins no part's name; write $$ for the sign itself")
    for part in template.get_identifiers():
        if part not in PARTS:
            raise UsageError(f"{file} names the part ${part}; {nearest(part, PARTS) or ', '.join(sorted(PARTS))}")
