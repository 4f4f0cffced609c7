"""What this machine offers a run: cores, a model's key and endpoint, and how well the sandbox can be closed."""

from __future__ import annotations

import asyncio
import os
import platform
from importlib.metadata import version
from urllib.parse import urlsplit

from behavesim.build import sandbox
from behavesim.errors import BehavesimError
from behavesim.settings import resolve

NO_KEY = "not set: the offline proposer is used unless OPENAI_API_KEY is set"


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_endpoint() -> bool:
    """Whether the environment names a model's endpoint, or a key for the usual one."""
    return bool(os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL"))


async def findings() -> dict[str, str | int]:
    """What was found, by what it is about; the key itself is never among it."""
    endpoint = os.environ.get("OPENAI_BASE_URL", "")
    return {
        "behavesim": version("behavesim"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "key": "set" if os.environ.get("OPENAI_API_KEY") else NO_KEY,
        "endpoint": await _endpoint(endpoint) if endpoint else "https://api.openai.com/v1",
        "sandbox": await _sandbox(),
    }


async def _endpoint(url: str) -> str:
    """Whether something listens where the endpoint is said to be; nothing is sent."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        _, writer = await asyncio.wait_for(asyncio.open_connection(parts.hostname, port), timeout=3)
    except (OSError, ValueError, TimeoutError) as error:
        return f"{parts.hostname}: cannot be reached ({error or type(error).__name__})"
    writer.close()
    return f"{parts.hostname}:{port} answers"


async def _sandbox() -> str:
    try:
        async with sandbox(resolve({"task": "tsp", "allow_weak_isolation": True})) as pool:
            return "; ".join((pool.isolation, *pool.notes))
    except BehavesimError as error:
        return f"does not work: {error}"
