"""What this machine offers a run: cores, a model's key, endpoint and models, and the isolation of the sandbox."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlsplit

from behavesim.base.errors import BehavesimError, nearest
from behavesim.base.version import __version__
from behavesim.engine.settings import resolve
from behavesim.proposers.openai_settings import base_url
from behavesim.proposers.price_list import PriceList, name_of_list
from behavesim.proposers.prices import as_setting
from behavesim.task import TaskReference

OFFLINE = "not set: the offline proposer is used unless OPENAI_API_KEY or OPENAI_BASE_URL is set"
KEYLESS = "not set: the endpoint of OPENAI_BASE_URL is asked without one"


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_endpoint() -> bool:
    """Whether the environment names a model's endpoint, or a key for the usual one."""
    return bool(os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"))


@dataclass(frozen=True)
class Findings:
    """`found` maps each thing checked to what was found; `broken` names those that must be repaired before a run."""

    found: Mapping[str, str | int]
    broken: tuple[str, ...] = ()


async def findings(models: Sequence[str]) -> Findings:
    """Check the machine, the endpoint with these models, and the sandbox; the key itself is never in the result.

    A check that fails is in `broken`, and its error message is in `found`; nothing is raised.
    """
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
    """Return remarks on the endpoint and on each model; raises BehavesimError if it gives no list of models."""
    if not has_endpoint():
        return {"endpoint": "not asked"}
    from behavesim.proposers.openai_models import listed_models  # openai and aiohttp take half a second to load

    listed = await listed_models()
    prices, today = PriceList(base_url()), date.today().isoformat()
    known = {f"model {model}": "; ".join(remarks(model, listed, prices, today)) for model in models}
    host = urlsplit(base_url()).hostname  # alone: before it a password may stand
    return {"endpoint": f"{host} answers; models listed: {len(listed)}", "prices": name_of_list(), **known}


def remarks(model: str, listed: Mapping[str, str | None], prices: PriceList, today: str) -> list[str]:
    """Return remarks on a model: whether it is served, when it ends, and what to do if its price is unknown.

    `listed` maps the endpoint's models to the day on which each ends (YYYY-MM-DD), None if it is not known; `today` is
    such a day.
    """
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
    """Return the isolation of the sandbox and notes on it; raises BehavesimError if the sandbox does not work."""
    from behavesim.engine.build import sandbox  # a slow import, which users of `cores` do not need

    task = TaskReference("tsp").load()
    async with sandbox(resolve({"task": "tsp", "allow_weak_isolation": True}), task) as pool:
        return {"sandbox": "; ".join((pool.isolation, *pool.notes))}
