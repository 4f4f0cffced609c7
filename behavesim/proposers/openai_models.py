"""The models that an endpoint lists, and until when it serves them."""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx2

from behavesim.base.errors import ProposerError
from behavesim.base.heartbeat import Heartbeat
from behavesim.proposers.openai_answers import Fault
from behavesim.proposers.openai_endpoint import Endpoint

LISTING_S = 15.0
"""How long the list may take."""


async def listed_models() -> dict[str, str | None]:
    """The models by name, each with the day on which it is shut down, as 2026-12-11; None where none is announced.

    Raises UsageError where the environment names no usable endpoint, and ProposerError, in words that never hold the
    key, where it gives no list.
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
    """The models of a list, those without a name left out; None if it is no list."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    models = document.get("data", ()) if isinstance(document, Mapping) else ()
    if models is not None and not (isinstance(models, list) and all(isinstance(model, Mapping) for model in models)):
        return None
    days = ((model.get("id"), model.get("shutdown_date")) for model in models or [])
    return {name: day if isinstance(day, str) else None for name, day in days if isinstance(name, str)}


def _why(answer: httpx2.Response | Fault) -> str | None:
    """Why there is no list, as the end of a sentence about the endpoint; None if there may be one."""
    if isinstance(answer, Fault):
        return f"cannot be reached ({answer.message})"
    if answer.is_success:
        return None
    match answer.status_code:
        case 401:  # in the endpoint's own words a part of the key may stand
            return "refuses the key (401); check OPENAI_API_KEY"
        case 404:
            return "has no list of models"
        case status:
            return f"gives no list of models ({status})"
