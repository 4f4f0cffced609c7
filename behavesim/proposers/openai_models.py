"""The models that an endpoint lists, with the days on which it shuts them down."""

from __future__ import annotations

import json

import httpx2

from behavesim.base.errors import ProposerError
from behavesim.base.heartbeat import Heartbeat
from behavesim.proposers.openai_answers import Fault
from behavesim.proposers.openai_endpoint import Endpoint

LISTING_S = 15.0
"""Time limit of the request for the list, in seconds."""


async def listed_models() -> dict[str, str | None]:
    """Ask the environment's endpoint for its models; return each with its shutdown day, such as 2026-12-11.

    The day is None if none is announced. Raises UsageError if the environment names no usable endpoint, and
    ProposerError, without the key in its message, if the endpoint gives no list.
    """
    endpoint = Endpoint(LISTING_S, Heartbeat())
    try:
        answer = await endpoint.response("/models")
        if not isinstance(answer, Fault) and answer.status_code == 404 and endpoint.add_version():
            answer = await endpoint.response(f"{endpoint.version}/models")
    finally:
        await endpoint.aclose()
    if (why := _why(answer)) is not None:
        raise ProposerError(endpoint.secrets.scrubbed(f"{endpoint.host} {why}"))
    assert not isinstance(answer, Fault), "one has been raised"
    found = _listed(answer.content)
    if found is None:
        raise ProposerError(f"{endpoint.host} answers with no list of models; check OPENAI_BASE_URL")
    clean = endpoint.secrets.clean
    return {clean(name): day and clean(day) for name, day in found.items()}


def _listed(body: bytes) -> dict[str, str | None] | None:
    """Return the models in a response's body, without those that have no name; None if it holds no list."""
    try:
        models = json.loads(body)["data"] or []
        days = [(model.get("id"), model.get("shutdown_date")) for model in models]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return {name: day if isinstance(day, str) else None for name, day in days if isinstance(name, str)}


def _why(answer: httpx2.Response | Fault) -> str | None:
    """Return why the answer holds no list, as the end of a sentence about the endpoint; None if it succeeded."""
    if isinstance(answer, Fault):
        return f"cannot be reached ({answer.message})"
    if answer.is_success:
        return None
    status = answer.status_code  # without the endpoint's own words, which may hold a part of the key
    known = {401: "refuses the key (401); check OPENAI_API_KEY", 404: "has no list of models"}
    return known.get(status, f"gives no list of models ({status})")
