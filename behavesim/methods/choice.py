"""From settings to their method."""

from __future__ import annotations

from behavesim.config import Settings
from behavesim.methods.best_of_n import BestOfN
from behavesim.methods.eoh import EoH
from behavesim.methods.funsearch import FunSearch
from behavesim.methods.niche import Niche
from behavesim.methods.protocol import SearchMethod
from behavesim.prompts.eoh import EohPrompts
from behavesim.prompts.funsearch import FunSearchPrompts
from behavesim.task import Task

EOH = ("eoh", "eoh+behavesim")


def method(settings: Settings, task: Task) -> SearchMethod:
    """The method the settings name."""
    prompts = FunSearchPrompts(task.description, task.template, task.entry_point)
    if settings.method in EOH:
        return EoH(settings, EohPrompts(task.description, task.template, task.entry_point))
    if settings.method == "niche":
        return Niche(settings, prompts)
    if settings.method == "best-of-n":
        return BestOfN(prompts)
    return FunSearch(settings, prompts)


def compares(settings: Settings) -> bool:
    """Whether a search under these settings depends on what programs do, and not on their scores alone."""
    if settings.method in EOH:
        return chooses_by_dissimilarity(settings)
    if settings.method in ("funsearch", "funsearch+behavesim"):
        return settings.placement == "behaviour" or (settings.clustered_start and settings.n_init > 0)
    return settings.method == "niche"


def chooses_by_dissimilarity(settings: Settings) -> bool:
    """Whether parents and survivors are chosen by dominance-dissimilarity (EoH+BehaveSim)."""
    return settings.method in EOH and settings.selection == "dissimilarity"
