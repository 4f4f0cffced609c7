"""Defaults that follow from the budget: settings made for 2 000 candidates, and what suits fewer.

A person's value always wins. A run keeps the resolved values in its settings, so that a larger budget on resume leaves
them as they are. `docs/reference/settings.md` has the table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic.fields import FieldInfo

# The budget (candidates) for which the declared defaults were made, most of them the paper's: from it on they hold.
FULL_BUDGET = 2000


@dataclass(frozen=True)
class BudgetDefault:
    """How the default of a setting follows from a budget below FULL_BUDGET."""

    # Name of the setting, the same in every method that has it.
    setting: str
    # The default as a share of the budget, rounded down.
    share: float
    # Least default, however small the budget is.
    least: int
    # Why it depends on the budget, for people who read the table.
    reason: str

    def value(self, budget: int, declared: int) -> int:
        """Return the default for a budget; it is never above the `declared` one, and equals it from FULL_BUDGET on."""
        if budget >= FULL_BUDGET:
            return declared
        return min(declared, max(self.least, int(self.share * budget)))


# Each is a share of the budget, so that a search of 100 candidates has the same phases as one of 2 000.
BUDGET_DEFAULTS = (
    BudgetDefault(
        "window",
        share=1 / 10,
        least=2,
        reason="A prompt knows no result of the window - 1 candidates before it. A tenth leaves ten rounds of "
        "learning; at least 2 requests go on at once.",
    ),
    BudgetDefault(
        "n_init",
        share=1 / 4,
        least=0,
        reason="Initial programs see the template alone: a quarter leaves most of the budget to the search. A "
        "tenth was no better in a few pilot runs of 30 and 100.",
    ),
    BudgetDefault(
        "initial_population",
        share=1 / 4,
        least=2,
        reason="ReEvo's initial programs see the template alone; pairs of parents come from them.",
    ),
    BudgetDefault(
        "islands",
        share=1 / 50,
        least=2,
        reason="An island learns from its own programs alone, and with few candidates it has few. A few pilot runs of "
        "30 and 100 did not tell one island, two and three apart.",
    ),
    BudgetDefault(
        "samples_per_prompt",
        share=1 / 500,
        least=1,
        reason="A second reply to the same prompt cannot know the first. Few requests are better spent on new prompts.",
    ),
    BudgetDefault(
        "population",
        share=1 / 10,
        least=2,
        reason="A population that is still filling up selects nothing: ten times its size leaves time to select.",
    ),
)


def suited_to_budget(
    fields: Mapping[str, FieldInfo], budget: int, fixed: Collection[str] = frozenset()
) -> dict[str, Any]:
    """Return by name the defaults of settings, given as pydantic fields, that suit a budget; without those in `fixed`.

    Settings that BUDGET_DEFAULTS does not name, and those whose declared default is no number, are left out.
    """
    found = {}
    for each in BUDGET_DEFAULTS:
        declared = fields[each.setting].default if each.setting in fields else None
        if isinstance(declared, int) and each.setting not in fixed:
            found[each.setting] = each.value(budget, declared)
    return found
