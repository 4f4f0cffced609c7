"""Changes of a part of a program: SEARCH/REPLACE edits, and EVOLVE-BLOCK markers with the fixed text around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent

from behavesim.base.errors import TaskError
from behavesim.programs.answer import clean
from behavesim.task.verdict import Failure

# Most edits that one reply may have: each is looked for in the whole program.
MOST_EDITS = 200
_OPENS = re.compile(r"[ \t]*(?P<marks><{5,9}) ?SEARCH[ \t]*")
_CLOSES = re.compile(r"[ \t]*>{5,9} ?REPLACE[ \t]*")
_FILE = re.compile(r"=== file: (?P<path>.+?) ===[ \t]*")
# Most characters of a SEARCH that a message shows.
_SHOWN = 300
# Most places of a SEARCH that are looked for and counted.
_MOST_PLACES = 10


@dataclass(frozen=True)
class Edit:
    """The lines to find, and those that take their place, in the file `path`, "" if none is named."""

    search: str
    replace: str
    path: str = ""


def first_edit(text: str) -> int:
    """Return the number of lines before the first SEARCH line of a reply; that of all its lines if it has none."""
    lines = text.split("\n")
    return next((number for number, line in enumerate(lines) if _OPENS.fullmatch(line)), len(lines))


def edits_in(text: str) -> list[Edit] | Failure:
    """Return the SEARCH/REPLACE blocks of a reply, in order; empty if it has none.

    Failure "edit" if one has no end, or if there are more than MOST_EDITS.
    """
    found: list[Edit] = []
    search: list[str] | None = None
    replace: list[str] | None = None
    path, divider = "", ""
    for line in text.split("\n"):
        opening = _OPENS.fullmatch(line)
        if opening is not None and search is None:
            search, divider = [], "=" * len(opening["marks"])
        elif opening is not None:
            break
        elif search is None:
            named = _FILE.fullmatch(line)
            path = named["path"] if named else path
        elif replace is None:
            if line.strip() == divider:
                replace = []
            else:
                search.append(f"{line}\n")
        elif _CLOSES.fullmatch(line):
            found.append(Edit("".join(search), "".join(replace), path))
            search = replace = None
        else:
            replace.append(f"{line}\n")
    if search is not None:
        lacks = "a line >>>>>>> REPLACE" if replace is not None else f"a line {divider} after its SEARCH"
        return Failure("edit", f"edit {len(found) + 1} has no end: write {lacks}: {_excerpt(''.join(search))}"[:500])
    if len(found) > MOST_EDITS:
        return Failure("edit", f"the reply has {len(found)} edits; at most {MOST_EDITS} are applied")
    return found


def apply_edits(edits: list[Edit], base: str) -> str | Failure:
    """Return the program `base` after the edits, one after another, or Failure "edit" for the first that does not fit.

    A search must occur exactly once, as whole lines without trailing whitespace, in the edit's file, or in the whole
    program if it names none. If a program of several files lacks the file, a blank search adds it.
    """
    lines = base.split("\n")
    for number, edit in enumerate(edits, 1):
        wanted, new = edit.search.split("\n")[:-1], edit.replace.split("\n")[:-1]
        begin, end = _file(lines, edit.path)
        if begin is None:
            if edit.search.strip():
                return Failure(
                    "edit", f"edit {number} is of the file {edit.path!r}, which the program does not have"[:500]
                )
            lines[end:end] = [f"=== file: {edit.path} ===", *new]
            continue
        places = _places(wanted, lines[begin:end])
        if len(places) != 1:
            why = _why(wanted, lines[begin:end], len(places))
            return Failure("edit", f"the SEARCH of edit {number} {why}: {_excerpt(edit.search)}"[:500])
        at = begin + places[0]
        lines[at : at + len(wanted)] = new
    return "\n".join(lines)


def _file(lines: list[str], path: str) -> tuple[int | None, int]:
    """Return the indices of a file's first line and after its last; None and where to add it if it is missing."""
    if not path:
        return 0, len(lines)
    headers = [(number, found["path"]) for number, line in enumerate(lines) if (found := _FILE.fullmatch(line))]
    # the empty line after a final line break belongs to no file
    ends = [*(number for number, _ in headers[1:]), len(lines) - (lines[-1:] == [""])]
    for (number, name), end in zip(headers, ends, strict=False):
        if name == path.removeprefix("./"):
            return number + 1, end
    return (None, ends[-1]) if headers else (0, len(lines))


def _places(wanted: list[str], lines: list[str]) -> list[int]:
    """Return the indices in `lines` at which all of `wanted` begins, at most 10; none if `wanted` is blank."""
    if not any(line.strip() for line in wanted):
        return []
    # one text and not slices of lines: its search takes linear time whatever the lines are
    text, part = _searchable(lines), _searchable(wanted)
    found: list[int] = []
    at = text.find(part)
    while at >= 0 and len(found) < _MOST_PLACES:
        found.append(text.count("\n", 0, at))
        at = text.find(part, at + 1)
    return found


def _searchable(lines: list[str]) -> str:
    """Return lines as one text, a line break before and after each, cleaned and stripped at the right."""
    return "\n".join(["", *(line.rstrip() for line in clean("\n".join(lines)).split("\n")), ""])


def _why(wanted: list[str], lines: list[str], count: int) -> str:
    """Return why `wanted`, which occurs `count` times and not once, cannot be replaced, and what to do."""
    if count > 1:
        return f"occurs {count} times in the program; add lines until it is unique"
    if not any(line.strip() for line in wanted):
        return "does not occur in the program, since it is empty; give the lines to replace"
    known = {line.strip() for line in lines}
    unknown = next((line for line in wanted if line.strip() not in known), None)
    if unknown is not None:
        return f"does not occur in the program, which has no line {unknown.strip()[:100]!r}; copy the lines exactly"
    if _places([line.strip() for line in wanted], [line.strip() for line in lines]):
        return "does not occur in the program with this indentation; copy the lines exactly"
    return "does not occur in the program in this order; copy lines that follow one another exactly"


def _excerpt(block: str) -> str:
    return block.strip("\n")[:_SHOWN] or "(nothing)"


def edit_between(old: str, new: str) -> str | None:
    """Return one SEARCH/REPLACE block that turns `old` into `new`; None if they are equal or no block can."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    most = min(len(before), len(after))
    begin = next((number for number in range(most) if before[number] != after[number]), most)
    ends = range(1, most - begin + 1)
    kept = next((number - 1 for number in ends if before[-number] != after[-number]), most - begin)
    # enough lines around those that differ to make the search unique: twice as many each time
    more = 1
    while old != new:
        edit = Edit("".join(before[begin : len(before) - kept]), "".join(after[begin : len(after) - kept]))
        if apply_edits([edit], old) == new:
            text = f"<<<<<<< SEARCH\n{edit.search}=======\n{edit.replace}>>>>>>> REPLACE"
            return text if edits_in(text) == [edit] else None
        if begin == 0 and kept == 0:
            break
        begin, kept, more = max(begin - more, 0), max(kept - more, 0), 2 * more
    return None


_START, _END = "EVOLVE-BLOCK-START", "EVOLVE-BLOCK-END"
# A line with a marker after punctuation and whitespace alone, as in a comment; a sentence about markers is none.
_MARKER = re.compile(rf"^[^\w\n]*(?:{_START}|{_END})\b[^\n]*$", re.MULTILINE)
# A Python import of one line, which is none in other languages; one of `__future__` would have to come first.
_IMPORT = re.compile(r"^(?:from (?!__future__)[\w.]+ )?import (?P<names>[\w., ]+)$", re.MULTILINE)
_WORD = re.compile(r"\w+")


def within_markers(text: str) -> str:
    """Return a program from its first line with an EVOLVE-BLOCK marker to its last one; without any, all of it."""
    lines = [*_MARKER.finditer(text)]
    return text[lines[0].start() : lines[-1].end()] if lines else text


@dataclass(frozen=True)
class Frame:
    """The fixed text before, between and after a program's blocks, with the markers' lines; `("",)` without any."""

    fixed: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Frame:
        """Return the fixed text of a program; TaskError unless each START marker is followed by its END marker."""
        return cls(_fixed_and_blocks(text)[0])

    @property
    def has_blocks(self) -> bool:
        """Whether the program has EVOLVE-BLOCK markers; without them, all of it may change."""
        return len(self.fixed) > 1

    def blocks_of(self, text: str) -> tuple[str, ...] | None:
        """Return the text inside each block, in order, if the rest of `text` equals this frame; else None."""
        try:
            fixed, blocks = _fixed_and_blocks(text)
        except TaskError:
            return None
        return blocks if fixed == self.fixed else None

    def spans(self, text: str) -> list[tuple[int, int]] | None:
        """Return the begin and end of each block of `text`; None if the text around is not this frame's."""
        if not self.has_blocks:
            return [(0, len(text))]
        blocks = self.blocks_of(text)
        if blocks is None:
            return None
        spans, at = [], 0
        for fixed, block in zip(self.fixed, blocks, strict=False):
            at += len(fixed)
            spans.append((at, at + len(block)))
            at += len(block)
        return spans

    def fill(self, blocks: tuple[str, ...]) -> str:
        """Return the program with these texts in its blocks; ValueError if it has another number of blocks."""
        # one line break at the end of each text, whatever stood around it: equal blocks give equal programs
        inner = (f"{block.strip(chr(10))}\n" if block.strip() else "" for block in blocks)
        between = zip(inner, self.fixed[1:], strict=True)
        return self.fixed[0] + "".join(block + fixed for block, fixed in between)

    def complete(self, text: str) -> str | None:
        """Return the program that results from this frame and a model's code; None if the code's markers do not fit."""
        if not self.has_blocks:
            return text
        try:
            outside, blocks = _fixed_and_blocks(text)
        except TaskError:
            return None
        if len(blocks) == len(self.fixed) - 1:  # what the model wrote outside of them is dropped, but for imports
            return self.fill((self._imports_needed("".join(outside), blocks) + blocks[0], *blocks[1:]))
        return self.fill((self._without_surroundings(text),)) if not blocks and len(self.fixed) == 2 else None

    def _imports_needed(self, outside: str, blocks: Sequence[str]) -> str:
        """Return the lines of Python imports outside a model's blocks that these use and this frame lacks."""
        # a model puts an import at the top of the file, as anybody would; without it the program only raises NameError
        if self.fixed[0].rstrip("\n").rpartition("\n")[2].startswith((" ", "\t")):
            return ""  # in a class or a function it would not be seen by all blocks
        used, have = set(_WORD.findall("\n".join(blocks))), {line.strip() for line in "".join(self.fixed).splitlines()}
        lines = [
            line[0]
            for line in _IMPORT.finditer(outside)
            if line[0].strip() not in have
            and any(each.split(" as ")[-1].strip().split(".")[0] in used for each in line["names"].split(","))
        ]
        return "".join(f"{line.rstrip()}\n" for line in dict.fromkeys(lines))

    def _without_surroundings(self, text: str) -> str:
        """Return code for the only block without this frame's text around it, indented as the block's marker is."""
        before, after = (_MARKER.sub("", part).strip("\n") for part in self.fixed)
        rest = self._indent(text.strip("\n"))
        # each is removed if the model repeated all of it, even if it left out the other
        if before and rest.startswith(before):
            rest = rest[len(before) :]
        if after and rest.rstrip("\n").endswith(after):
            rest = rest.rstrip("\n")[: -len(after)]
        return rest

    def _indent(self, text: str) -> str:
        marker = self.fixed[0].rstrip("\n").rpartition("\n")[2]
        margin = marker[: len(marker) - len(marker.lstrip())]
        return indent(text, margin) if margin and not text.startswith(margin) else text


def _fixed_and_blocks(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fixed parts and the blocks of a text, `("",)` and `()` if it has no markers."""
    markers = list(_MARKER.finditer(text))
    kinds = [_START in marker[0] for marker in markers]
    if kinds != [True, False] * (len(kinds) // 2):
        raise TaskError(f"each {_START} must be followed by its {_END}, and no block may lie in another")
    if not markers:
        return ("",), ()
    cuts = [0]
    for marker, opens in zip(markers, kinds, strict=True):
        cuts.append(min(marker.end() + 1, len(text)) if opens else marker.start())
    parts = [text[begin:end] for begin, end in zip(cuts, [*cuts[1:], len(text)], strict=True)]
    return tuple(parts[::2]), tuple(parts[1::2])
