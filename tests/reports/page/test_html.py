"""The page as a file: it loads nothing, and nothing that a program holds becomes a part of it."""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path

import pytest
import vl_convert

from behavesim.analysis.report import report
from behavesim.base.errors import UsageError
from behavesim.reports.page.html import html, run_page, write_page
from tests.analysis.journals import feasible, journalled, rejected, started
from tests.cli.command import Command

HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)> \u2028\u202e\x1b ${x} $x"


class Elements(HTMLParser):
    """The elements of a page with their attributes and their text, as a browser divides it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self._is_open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))
        self._is_open = True

    def handle_endtag(self, tag: str) -> None:
        self._is_open = False

    def handle_data(self, data: str) -> None:
        if self._is_open:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)


def test_what_a_program_holds_ends_no_element_and_begins_none(tmp_path: Path) -> None:
    harmless = Elements(
        html(run_page(report(journalled(tmp_path / "one", started(), feasible(0, 3.0), rejected(1, "timeout")))))
    )
    hostile = journalled(tmp_path / "two", started(), feasible(0, 3.0, source=HOSTILE), rejected(1, "timeout", HOSTILE))
    found = Elements(html(run_page(report(hostile))))
    assert [tag for tag, _, _ in found.found] == [tag for tag, _, _ in harmless.found]
    assert any("alert(1)" in text for _, _, text in found.found)


def test_only_the_scripts_that_the_page_was_made_with_may_run(tmp_path: Path) -> None:
    text = html(run_page(report(journalled(tmp_path / "one", started(), feasible(0, 3.0)))), "render();", "'self'")
    found = Elements(text).found
    policy = next(unescape(attributes["content"] or "") for _, attributes, _ in found if "http-equiv" in attributes)
    scripts = [text for tag, attributes, text in found if tag == "script" and attributes.get("id") != "document"]
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert re.findall(r"sha256-([^']+)'", policy) == hashes
    assert scripts[-1] == "render();"
    assert policy.startswith("default-src 'none'; ")
    assert "connect-src 'self';" in policy


def test_a_page_names_nothing_to_be_loaded(tmp_path: Path) -> None:
    found = Elements(html(run_page(report(journalled(tmp_path / "one", started(), feasible(0, 3.0)))))).found
    links = {attributes["href"] or "" for _, attributes, _ in found if "href" in attributes}
    assert {link for link in links if not link.startswith("#")} == {"data:,"}
    assert not [tag for tag, attributes, _ in found if "src" in attributes]


def test_the_licences_of_what_others_wrote_are_kept() -> None:
    from importlib.resources import files

    vendor = files("behavesim.reports.page") / "vendor"
    licences = (vendor / "LICENSES").read_text()
    names = {each.name for each in vendor.iterdir()} - {"LICENSES"}
    assert set(re.findall(r"^(\w+\.js): the npm package", licences, re.MULTILINE)) == names


def test_the_library_of_charts_is_what_its_package_makes() -> None:
    from importlib.resources import files

    made = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version="6.4")
    kept = (files("behavesim.reports.page") / "vendor/vega.js").read_text()
    if version("vl-convert-python").startswith("1.9.0"):  # a later one makes another: then it is vendored again
        assert kept == made


def test_a_page_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    run = journalled(tmp_path / "one", started(), feasible(0, 3.0))
    with pytest.raises(UsageError, match="choose another --html file"):
        write_page(report(run), tmp_path / "none" / "page.html")


def test_the_command_writes_the_page_of_one_run_or_of_a_comparison(behavesim: Command, tmp_path: Path) -> None:
    for name in ("first", "second"):
        journalled(tmp_path / "runs" / name, started(), feasible(0, 3.0))
    ended = behavesim("report", "first", "--html", "page.html", "--json")
    assert (ended.code, (tmp_path / "page.html").read_text()[:15]) == (0, "<!doctype html>")
    ended = behavesim("report", "first", "second", "--html", "page.html")
    assert (ended.code, ended.out) == (0, "")
    assert "<title>2 runs compared · behavesim</title>" in (tmp_path / "page.html").read_text()


def test_a_damaged_run_has_no_page(behavesim: Command, tmp_path: Path) -> None:
    run = journalled(tmp_path / "runs" / "first", started(), feasible(0, 3.0))
    run.folder.journal.write_bytes(run.folder.journal.read_bytes()[:5000])
    ended = behavesim("report", "first", "--html", "page.html")
    assert (ended.code, ended.out, (tmp_path / "page.html").exists()) == (1, "", False)
    assert "behavesim verify" in ended.err
