"""What this machine offers a run: cores, a model's key, endpoint and models, and the isolation of the sandbox."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import date
from functools import partial
from urllib.parse import urlsplit

from behavesim import __version__
from behavesim.base.errors import BehavesimError, SandboxError, nearest
from behavesim.base.heartbeat import Heartbeat
from behavesim.proposers.openai_settings import base_url, has_endpoint
from behavesim.proposers.prices import PriceList, as_setting, name_of_list
from behavesim.sandbox.limits import Limits
from behavesim.sandbox.pool import Pool, TreePool
from behavesim.task import TaskReference
from behavesim.task.verdict import Failure

# What `findings` says of the key if the environment has neither a key nor an endpoint.
OFFLINE = "not set: the offline proposer is used unless OPENAI_API_KEY or OPENAI_BASE_URL is set"
# What `findings` says of the key if the environment has an endpoint and no key.
KEYLESS = "not set: the endpoint of OPENAI_BASE_URL is asked without one"

# What `findings` says of the endpoint if the environment names none.
NOT_ASKED = "not asked"


@dataclass(frozen=True)
class Findings:
    """`found` maps each thing checked, such as "sandbox", to what was found; `broken` names those to be repaired."""

    found: Mapping[str, str | int]
    broken: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """One line that says what this machine is ready for, or what must be repaired first."""
        offline = "ready for offline runs; NOT READY for"
        if "sandbox" in self.broken:
            return "NOT READY: the sandbox must be repaired first; its line says why"
        if self.broken:
            return f"{offline} {' and '.join(self.broken)}: see below"
        models = {name: str(what) for name, what in self.found.items() if name.startswith("model ")}
        unserved = [name for name, said in models.items() if said.startswith(("not served", "ended"))]
        if unserved:
            return f"{offline} {' and '.join(unserved)}: see below"
        weak = "" if str(self.found["sandbox"]).startswith("strong") else "; isolation is weak: --allow-weak-isolation"
        asked = "endpoint" in self.found and self.found["endpoint"] != NOT_ASKED
        ready = "ready for runs with a model" if asked else "ready for offline runs; to ask a model, set OPENAI_API_KEY"
        return f"{ready}{weak}"


async def findings(models: Sequence[str]) -> Findings:
    """Check the machine, the endpoint with these models, and both kinds of sandbox; the key is never in the result.

    A check that fails with a BehavesimError is in `broken`, and its message is in `found`.
    """
    given: dict[str, str | int] = {
        "behavesim": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "key": "set" if os.environ.get("OPENAI_API_KEY") else KEYLESS if has_endpoint() else OFFLINE,
    }
    broken: list[str] = []
    parts: Mapping[str, Callable[[], Awaitable[Mapping[str, str]]]] = {
        "endpoint": partial(_endpoint, models),
        "sandbox": _sandbox,
        "evaluators": _evaluators,
        "assistants": _assistants,
    }
    for name, part in parts.items():
        try:
            given |= await part()  # called here, as a Ctrl-C before leaves no coroutine that nobody awaits
        except BehavesimError as error:
            given[name] = str(error)
            broken.append(name)
    return Findings(given, tuple(broken))


async def _endpoint(models: Sequence[str]) -> dict[str, str]:
    # Without an endpoint nothing is asked: {"endpoint": "not asked"}.
    if not has_endpoint():
        return {"endpoint": NOT_ASKED}
    from behavesim.proposers.openai_endpoint import LISTING_S, Endpoint  # openai and aiohttp take half a second to load

    async with aclosing(Endpoint(LISTING_S, Heartbeat())) as endpoint:
        listed = await endpoint.models()
    prices, today = PriceList(base_url()), date.today().isoformat()
    known = {f"model {model}": "; ".join(remarks(model, listed, prices, today)) for model in models}
    host = urlsplit(base_url()).hostname  # alone: before it a password may stand
    return {"endpoint": f"{host} answers; models listed: {len(listed)}", "prices": name_of_list(), **known}


def remarks(model: str, listed: Mapping[str, str | None], prices: PriceList, today: str) -> list[str]:
    """Return whether a model is served and until when, and what is unusual about it.

    `listed` maps the endpoint's models to the day on which each ends (YYYY-MM-DD), None if unknown; `today` is in that
    form.
    """
    remarks = [_serving_text(model, listed, today)]
    if prices.deprecates(model):
        remarks.append("its vendor is going to end it")
    if not prices.knows(model):
        remarks.append(f"its price is unknown: --max-cost needs {as_setting(model)}")
    return remarks


def _serving_text(model: str, listed: Mapping[str, str | None], today: str) -> str:
    if model not in listed:
        return f"not served; {nearest(model, listed) or 'choose another with --model'}"
    day = listed[model]
    if not day:
        return "served"
    return f"{'served, and ends' if day > today else 'ended'} on {day}; choose another with --model"


async def _assistants() -> dict[str, str]:
    """Return for each coding assistant on the PATH whether somebody has signed in, by its own command if it has one."""
    from behavesim.proposers.assistants import ASSISTANTS

    found = {}
    for each in ASSISTANTS:
        if shutil.which(each.program):
            known = await each.is_signed_in()
            words = "not known" if known is None else "yes" if known else f"no: {each.sign_in}"
            found[f"assistant {each.program}"] = f"installed; signed in: {words}"
    return found


async def _evaluators() -> dict[str, str]:
    if sys.platform != "linux":
        return {"evaluators": "they need Linux: their processes cannot be confined here"}
    limits = Limits(timeout_s=10.0, memory_mb=256, output_mb=1)
    async with TreePool("behavesim.sandbox.keeper:load_echo", "", 1, limits, allow_weak_isolation=True) as pool:
        sent = await pool.send("")
    if isinstance(sent, Failure):
        raise SandboxError(f"an evaluation that does nothing failed: {sent.message}")
    return {"evaluators": "; ".join((pool.isolation, *pool.notes))}


async def _sandbox() -> dict[str, str]:
    async with Pool(TaskReference("tsp"), "search", workers=1, allow_weak_isolation=True) as pool:
        return {"sandbox": "; ".join((pool.isolation, *pool.notes))}
