"""What this machine offers a run: cores, a model's key, endpoint and models, and how well the sandbox can be closed."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from urllib.parse import urlsplit

from behavesim.base.errors import BehavesimError, nearest
from behavesim.base.version import __version__
from behavesim.proposers.openai_settings import base_url
from behavesim.proposers.price_list import PriceList, name_of_list
from behavesim.proposers.prices import as_setting
from behavesim.search.settings import resolve
from behavesim.task import TaskReference

NO_KEY = "not set: the offline proposer is used unless OPENAI_API_KEY is set"


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_endpoint() -> bool:
    """Whether the environment names a model's endpoint, or a key for the usual one."""
    return bool(os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"))


async def findings(models: Sequence[str]) -> dict[str, str | int]:
    """What was found, by what it is about; the key itself is never among it."""
    return {
        "behavesim": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "key": "set" if os.environ.get("OPENAI_API_KEY") else NO_KEY,
        **(await _endpoint(models) if has_endpoint() else {"endpoint": "not asked"}),
        "sandbox": await _sandbox(),
    }


async def _endpoint(models: Sequence[str]) -> dict[str, str]:
    """What the endpoint says of itself, and of each model."""
    from behavesim.proposers.openai_models import listed_models  # two clients, which take a while to load

    try:
        listed = await listed_models()
    except BehavesimError as error:
        return {"endpoint": str(error)}
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


async def _sandbox() -> str:
    from behavesim.search.build import (
        sandbox,  # and all of a search, for which others who ask for the cores do not wait
    )

    try:
        task = TaskReference("tsp").load()
        async with sandbox(resolve({"task": "tsp", "allow_weak_isolation": True}), task) as pool:
            return "; ".join((pool.isolation, *pool.notes))
    except BehavesimError as error:
        return f"does not work: {error}"
