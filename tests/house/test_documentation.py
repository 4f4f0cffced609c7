"""The documentation: generated pages are true, links lead somewhere, commands and their options exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from behavesim_cli.app import app
from behavesim_cli.commands import COMMANDS

from tests.reference.pages import PAGES, context_of
from tests.sandbox.siege import ATTACKS
from tests.sandbox.tree.attacks import EVALUATORS, PROGRAMS

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
WRITTEN = [path for path in DOCS if path.stem not in PAGES or path.parent.name != "reference"]
PEOPLE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *WRITTEN]
MEAN_WORDS = 20
"""Of a sentence, on average over a page, at most."""
MOST_WORDS = 24_000
"""Of README, CONTRIBUTING and the pages of docs that people write, in text and in cells of four words or more.

A word has a letter. Blocks of code are not counted; code within a line is one word.
"""
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def name(path: Path) -> str:
    """A page as people know it."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES)
def test_a_generated_page_is_what_the_code_says(page: str) -> None:
    if page == "commands" and tuple(map(int, typer.__version__.split(".")[:2])) < (0, 29):
        pytest.skip("Typer before 0.29 writes [TASK] as TASK in usage lines")
    assert (ROOT / f"docs/reference/{page}.md").read_text() == PAGES[page](), "run python -m tests.reference"


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", [*PEOPLE, *DOCS], ids=name)
def test_every_link_leads_somewhere(path: Path) -> None:
    for place, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", FENCED.sub("", path.read_text())):
        if "://" not in place:
            target = path.parent / place if place else path
            assert target.exists(), place
            assert not anchor or anchor in anchors(target), f"{place}#{anchor}"


def places(entry: Any) -> list[str]:
    """The pages that an entry of the site's navigation names."""
    if isinstance(entry, str):
        return [entry]
    return [place for each in (entry.values() if isinstance(entry, dict) else entry) for place in places(each)]


def test_the_site_has_every_page_once() -> None:
    listed = places(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    assert sorted(listed) == sorted(str(path.relative_to(ROOT / "docs")) for path in DOCS)


@cache
def options(verb: str) -> set[str]:
    """The options that a command takes, or one of a group of commands."""
    group: Any = typer.main.get_command(app)
    first, _, second = verb.partition(" ")
    assert first in COMMANDS, f"there is no command {first}"
    context = context_of("behavesim", group)
    command = group.get_command(context, first)
    if second in getattr(command, "list_commands", lambda _: ())(context):
        command = command.get_command(context, second)
    return {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts} | {"--help"}


@pytest.mark.parametrize("path", PEOPLE[:1] + WRITTEN, ids=name)
def test_every_command_that_a_page_names_takes_the_options_that_it_shows(path: Path) -> None:
    text = path.read_text()
    lines = re.findall(r"^(?:\w+=\S+ )?behavesim ([a-z].*)$", text, re.MULTILINE) + re.findall(
        r"`behavesim ([a-z][^`]*)`", text
    )
    for line in lines:
        verb = re.match(r"[a-z]+(?: [a-z]+)?", line)
        assert verb, line
        shown = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", line.partition(" #")[0]))
        assert shown <= options(verb[0]), line


def prose(path: Path) -> list[str]:
    """A page's paragraphs, items and cells, without code and pictures."""
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", FENCED.sub("\n\n", path.read_text()))
    text = re.sub(r"^#.*$|^\s*(?:[-*]|\d+\.) ", "\n\n", text, flags=re.MULTILINE)
    blocks = [block for block in re.split(r"\n\s*\n", text) if block.strip()]
    cells = (cell for block in blocks for cell in (re.split(r"(?<!\\)\|", block) if "|" in block else [block]))
    return [re.sub(r"`[^`]*`", "CODE", cell) for cell in cells]


def words(text: str) -> int:
    """How many words a text has: whatever holds a letter or digit."""
    return len(re.findall(r"\S*\w\S*", text))


def lengths(path: Path) -> list[int]:
    """The words of each sentence of a page; what has less than four is a name or a number."""
    sentences = (each for block in prose(path) for each in re.split(r"(?<=[.!?])[\"”)]?\s+(?=[A-Z0-9(“\"])", block))
    return [count for count in map(words, sentences) if count >= 4]


@pytest.mark.parametrize("path", PEOPLE[:1] + WRITTEN, ids=name)
def test_sentences_are_short_on_average(path: Path) -> None:
    found = lengths(path)
    assert sum(found) / len(found) <= MEAN_WORDS


def test_all_pages_together_stay_short() -> None:
    blocks = (block for path in PEOPLE[:2] + WRITTEN for block in prose(path) if words(block) >= 4)
    assert sum(len(re.findall(r"\S*[^\W\d_]\S*", block)) for block in blocks) <= MOST_WORDS


@pytest.mark.parametrize("path", [path for path in [PEOPLE[1], *DOCS] if path.name != "index.md"], ids=name)
def test_a_page_begins_with_what_its_reader_can_do_after_it(path: Path) -> None:
    assert re.match(r"# [^\n]+\n\nAfter this page ", path.read_text())


def test_the_page_on_security_counts_the_attacks_that_there_are() -> None:
    said = re.search(
        r"runs (\d+) hostile programs, and \S+ (\d+) programs and (\d+) evaluators",
        (ROOT / "docs/explanation/security.md").read_text(),
    )
    assert said and [*map(int, said.groups())] == [len(ATTACKS), len(PROGRAMS), len(EVALUATORS)]
