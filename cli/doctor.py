"""`behavesim doctor`: what this machine offers a run."""

from __future__ import annotations

import os

import typer

from .options import AsJson, print_json


def doctor(as_json: AsJson = False) -> None:
    """Check key, endpoint, cores and sandbox; the key itself is never shown."""
    import asyncio

    findings = asyncio.run(_findings())
    if as_json:
        print_json(findings)
        return
    for name, value in findings.items():
        typer.echo(f"{name:12} {value}")


async def _findings() -> dict[str, str | int | bool]:
    import platform
    from importlib.metadata import version

    key = bool(os.environ.get("OPENAI_API_KEY"))
    endpoint = os.environ.get("OPENAI_BASE_URL", "")
    return {
        "behavesim": version("behavesim"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 1,
        "key": "set" if key else "not set: the offline proposer is used unless OPENAI_API_KEY is set",
        "endpoint": await _endpoint(endpoint) if endpoint else "the default of the openai package",
        "sandbox": await _sandbox(),
    }


async def _endpoint(url: str) -> str:
    """Whether something listens where the endpoint is said to be; nothing is sent."""
    import asyncio
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        _, writer = await asyncio.wait_for(asyncio.open_connection(parts.hostname, port), timeout=3)
    except (OSError, ValueError, TimeoutError) as error:
        return f"{parts.hostname}: cannot be reached ({error or type(error).__name__})"
    writer.close()
    return f"{parts.hostname}:{port} answers"


async def _sandbox() -> str:
    from behavesim.errors import BehavesimError
    from behavesim.sandbox import Limits, Pool
    from behavesim.task import TaskReference

    try:
        async with Pool(TaskReference("tsp"), "search", 1, Limits(), allow_weak_isolation=True) as pool:
            return "; ".join((pool.isolation, *pool.notes))
    except BehavesimError as error:
        return f"does not work: {error}"
