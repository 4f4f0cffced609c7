"""What this machine offers a run: cores, a model's key, endpoint and models, and how well the sandbox can be closed."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlsplit

from behavesim.base.errors import BehavesimError, nearest
from behavesim.base.version import __version__
from behavesim.proposers.openai_settings import base_url
from behavesim.proposers.price_list import PriceList, name_of_list
from behavesim.proposers.prices import as_setting
from behavesim.search.settings import resolve
from behavesim.task import TaskReference

OFFLINE = "not set: the offline proposer is used unless OPENAI_API_KEY or OPENAI_BASE_URL is set"
KEYLESS = "not set: the endpoint of OPENAI_BASE_URL is asked without one"


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_endpoint() -> bool:
    """Whether the environment names a model's endpoint, or a key for the usual one."""
    return bool(os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"))


@dataclass(frozen=True)
class Findings:
    """What was found, by what it is about, and what of it a person has to mend before a run can work."""

    found: Mapping[str, str | int]
    broken: tuple[str, ...] = ()


async def findings(models: Sequence[str]) -> Findings:
    """What this machine offers a run; the key itself is never among it."""
    given: dict[str, str | int] = {
        "behavesim": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "key": _key(),
    }
    broken: list[str] = []
    parts = {"endpoint": _endpoint(models), "sandbox": _sandbox()}
    for name, part in parts.items():
        try:
            given |= await part
        except BehavesimError as error:
            given[name] = str(error)
            broken.append(name)
    return Findings(given, tuple(broken))


def _key() -> str:
    if os.environ.get("OPENAI_API_KEY"):
        return "set"
    return KEYLESS if has_endpoint() else OFFLINE


async def _endpoint(models: Sequence[str]) -> dict[str, str]:
    """What the endpoint says of itself, and of each model; raises BehavesimError if it gives no list of models."""
    if not has_endpoint():
        return {"endpoint": "not asked"}
    from behavesim.proposers.openai_models import listed_models  # openai and aiohttp take half a second to load

    listed = await listed_models()
    prices, today = PriceList(base_url()), date.today().isoformat()
    known = {f"model {model}": "; ".join(remarks(model, listed, prices, today)) for model in models}
    host = urlsplit(base_url()).hostname  # alone: before it a password may stand
    return {"endpoint": f"{host} answers; models listed: {len(listed)}", "prices": name_of_list(), **known}


def remarks(model: str, listed: Mapping[str, str | None], prices: PriceList, today: str) -> list[str]:
    """What to know before a model is asked: whether it is served, until when, and whether its price is known."""
    remarks = [_served(model, listed, today)]
    if prices.deprecates(model):
        remarks.append("its vendor is going to end it")
    if not prices.knows(model):
        remarks.append(f"its price is unknown: --max-cost needs {as_setting(model)}")
    return remarks


def _served(model: str, listed: Mapping[str, str | None], today: str) -> str:
    if model not in listed:
        return f"not served; {nearest(model, listed) or 'choose another with --model'}"
    day = listed[model]
    if not day:
        return "served"
    return f"{'served, and ends' if day > today else 'ended'} on {day}; choose another with --model"


async def _sandbox() -> dict[str, str]:
    """How well the sandbox is closed; raises BehavesimError if it does not work."""
    from behavesim.search.build import (
        sandbox,  # and all of a search, for which others who ask for the cores do not wait
    )

    task = TaskReference("tsp").load()
    async with sandbox(resolve({"task": "tsp", "allow_weak_isolation": True}), task) as pool:
        return {"sandbox": "; ".join((pool.isolation, *pool.notes))}
