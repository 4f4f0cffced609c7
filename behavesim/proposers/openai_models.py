"""The models that an endpoint lists, with the days on which its vendor says they will be shut down."""

from __future__ import annotations

import json

import httpx2

from behavesim.base.errors import ProposerError
from behavesim.base.heartbeat import Heartbeat
from behavesim.proposers.openai_endpoint import Endpoint
from behavesim.proposers.patience import Fault

LISTING_S = 15.0
"""Time limit of the request for the list, in seconds."""


async def listed_models() -> dict[str, str | None]:
    """Ask the environment's endpoint for its models; return the shutdown day of each by its name.

    The day is the endpoint's text, such as 2026-12-11; None if it gives none. Raises UsageError if the environment
    names no usable endpoint, and ProposerError, without the key in its message, if the endpoint gives no list.
    """
    endpoint = Endpoint(LISTING_S, Heartbeat())
    try:
        answer = await endpoint.response("/models")
        if not isinstance(answer, Fault) and answer.status_code == 404 and endpoint.add_version():
            answer = await endpoint.response(f"{endpoint.version}/models")
    finally:
        await endpoint.aclose()
    found = _listed(answer)
    if isinstance(found, str):
        raise ProposerError(endpoint.secrets.scrubbed(f"{endpoint.host} {found}"))
    clean = endpoint.secrets.clean
    return {clean(name): day and clean(day) for name, day in found.items()}


def _listed(answer: httpx2.Response | Fault) -> dict[str, str | None] | str:
    """Return the shutdown days in an answer by model name; if it holds no list, the end of a sentence that says why.

    Models without a name are left out.
    """
    if isinstance(answer, Fault):
        return f"cannot be reached ({answer.message})"
    if not answer.is_success:
        status = answer.status_code  # without the endpoint's own words, which may hold a part of the key
        known = {401: "refuses the key (401); check OPENAI_API_KEY", 404: "has no list of models"}
        return known.get(status, f"gives no list of models ({status})")
    try:
        models = json.loads(answer.content)["data"] or []
        days = [(model.get("id"), model.get("shutdown_date")) for model in models]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):  # JSON of any other form
        return "answers with no list of models; check OPENAI_BASE_URL"
    return {name: day if isinstance(day, str) else None for name, day in days if isinstance(name, str)}
