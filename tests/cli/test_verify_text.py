"""What `verify` says of what it found."""

from __future__ import annotations

from collections import Counter

from behavesim_cli.verify import NOT_CHECKED, text

from behavesim.audit.audit import Discrepancy
from behavesim.audit.verify import LOST_REPLY, Verification


def test_what_was_not_checked_stands_on_a_line_with_why_that_is_fine() -> None:
    found = Verification("first", 90, 40, 20, 3, Counter({"timeout": 24, "not in the sample": 2}))
    first, *lines = text(found, "first").splitlines()
    assert first.startswith("run first is verified: ")
    assert lines == [
        "checked: 90 events, 40 decisions derived again, 20 programs run again, "
        "3 results of programs that had been run before",
        f"not checked: 24 {NOT_CHECKED['timeout']}",
        "not checked: 2 results of candidates that --sample did not draw",
    ]


def test_differences_because_of_lost_replies_are_counted_as_such() -> None:
    lost = Discrepancy(5, "Responded", 1, LOST_REPLY, "Reply()")
    other = Discrepancy(9, "Added", 1, "island 1", "island 2")
    first, *lines = text(Verification("first", differences=[lost, other]), "first").splitlines()
    why = "1 because a reply was lost, which --salvage could not read. The others may follow from that"
    assert first == f"run first differs in 2 events; {why}"
    assert lines[:2] == ["first at event 5 (Responded of candidate 1):", f"  expected {LOST_REPLY}"]
    assert "lost" not in text(Verification("first", differences=[other]), "first")
