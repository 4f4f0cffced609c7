"""A table of facts: one line each, a name and a value, without headings."""

from __future__ import annotations

from collections.abc import Mapping

from behavesim.analysis.table import Column, Table


def facts_table(name: str, title: str, facts: Mapping[str, str]) -> Table:
    """Return a table with a row for each fact, in order; its columns have no headings for people."""
    return Table(name, title, (Column("what", title=""), Column("value", title="")), tuple(facts.items()))
