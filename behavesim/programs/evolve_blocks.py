"""EVOLVE-BLOCK markers: the parts of a program that a model may change, and the fixed text around them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import indent

from behavesim.base.errors import TaskError

_START, _END = "EVOLVE-BLOCK-START", "EVOLVE-BLOCK-END"
_MARKER = re.compile(rf"^[^\w\n]*(?:{_START}|{_END})\b[^\n]*$", re.MULTILINE)
"""A line with a marker after punctuation and whitespace alone, as in a comment; a sentence about markers is none."""


@dataclass(frozen=True)
class Frame:
    """The fixed text of a program: `fixed` is the text before, between and after its blocks, with the markers' lines.

    It has one part more than there are blocks; for a program without markers it is `("",)`.
    """

    fixed: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Frame:
        """Return the fixed text of a program; without markers there is none, and all of the program may change.

        Raises TaskError unless each START marker is followed by its END marker.
        """
        return cls(_fixed_and_blocks(text)[0])

    @property
    def has_blocks(self) -> bool:
        """Whether the program has EVOLVE-BLOCK markers; without them, all of it may change."""
        return len(self.fixed) > 1

    def blocks_of(self, text: str) -> tuple[str, ...] | None:
        """Return the text inside each block, in order, if the rest of `text` equals this frame; else None.

        For a frame without markers that is `()` if the text has none either.
        """
        try:
            fixed, blocks = _fixed_and_blocks(text)
        except TaskError:
            return None
        return blocks if fixed == self.fixed else None

    def spans(self, text: str) -> list[tuple[int, int]] | None:
        """Return where each block of `text` begins (its first index) and ends (the one after its last).

        None if the text outside the blocks is not this frame's. If the frame has no markers, the whole text is one
        block.
        """
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

    def filled(self, blocks: tuple[str, ...]) -> str:
        """Return the program with these texts in its blocks, one for each.

        Line breaks around a text are replaced by one at its end; a blank text leaves its block empty. Raises ValueError
        if the number of texts is not the number of blocks.
        """
        inner = (f"{block.strip(chr(10))}\n" if block.strip() else "" for block in blocks)
        between = zip(inner, self.fixed[1:], strict=True)
        return self.fixed[0] + "".join(block + fixed for block, fixed in between)

    def completed(self, text: str) -> str | None:
        """Return the program that results from this frame and a model's code; None if the code's markers do not fit.

        Code with as many blocks gives only its blocks; the text outside them is dropped. If the frame has one block,
        code without markers is taken for the block; where it begins or ends with the frame's text, that is removed. A
        frame without blocks returns the code.
        """
        if not self.has_blocks:
            return text
        try:
            _, blocks = _fixed_and_blocks(text)
        except TaskError:
            return None
        if len(blocks) == len(self.fixed) - 1:
            return self.filled(blocks)
        return self.filled((self._without_surroundings(text),)) if not blocks and len(self.fixed) == 2 else None

    def _without_surroundings(self, text: str) -> str:
        """Return code for the only block without this frame's text around it, indented as the block's marker is."""
        before, after = (_MARKER.sub("", part).strip("\n") for part in self.fixed)
        rest = self._indented(text.strip("\n"))
        # each is removed if the model repeated all of it, even if it left out the other
        if before and rest.startswith(before):
            rest = rest[len(before) :]
        if after and rest.rstrip("\n").endswith(after):
            rest = rest.rstrip("\n")[: -len(after)]
        return rest

    def _indented(self, text: str) -> str:
        marker = self.fixed[0].rstrip("\n").rpartition("\n")[2]
        margin = marker[: len(marker) - len(marker.lstrip())]
        return indent(text, margin) if margin and not text.startswith(margin) else text


def _fixed_and_blocks(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fixed parts and the blocks of a text, `("",)` and `()` if it has no markers.

    Raises TaskError unless each START marker is followed by its END marker.
    """
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
