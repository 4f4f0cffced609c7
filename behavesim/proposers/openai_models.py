"""The models that an endpoint lists, and until when it serves them; asked with the package openai."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

import openai

from behavesim.base.errors import ProposerError
from behavesim.base.heartbeat import Heartbeat
from behavesim.proposers.openai_endpoint import Endpoint
from behavesim.proposers.openai_settings import base_url

LISTING_S = 15.0
"""How long the list may take."""


async def listed_models() -> dict[str, str | None]:
    """The models by name, each with the day on which it is shut down, as 2026-12-11; None where none is announced.

    Raises UsageError where the environment names no usable endpoint, and ProposerError, in words that never hold the
    key, where it gives no list.
    """
    endpoint, url = Endpoint(LISTING_S, Heartbeat()), base_url().rstrip("/")
    try:
        async with asyncio.timeout(LISTING_S):
            try:
                found = await _listed(url)
            except openai.NotFoundError:  # as for replies, a URL may be given without /v1
                found = await _listed(f"{url}/v1")
    except (openai.OpenAIError, TimeoutError) as error:
        raise ProposerError(endpoint.scrubbed(f"{endpoint.host} {_why(error)}")) from None
    except (ValueError, AttributeError, TypeError):  # the package takes the form of an answer on trust
        raise ProposerError(f"{endpoint.host} answers with no list of models; check OPENAI_BASE_URL") from None
    return {endpoint.clean(name): day and endpoint.clean(day) for name, day in found.items()}


async def _listed(url: str) -> Mapping[str, str | None]:
    key = os.environ.get("OPENAI_API_KEY")
    client = openai.AsyncOpenAI(base_url=url, api_key=key or "none", max_retries=0)
    headers = {} if key else {"Authorization": openai.Omit()}
    async with client:
        return {
            model.id: model.shutdown_date if isinstance(model.shutdown_date, str) else None
            async for model in client.models.list(extra_headers=headers)
            if isinstance(model.id, str)
        }


def _why(error: openai.OpenAIError | TimeoutError) -> str:
    """What an error means, as the end of a sentence about the endpoint."""
    match error:
        case openai.AuthenticationError():  # in the endpoint's own words a part of the key may stand
            return "refuses the key (401); check OPENAI_API_KEY"
        case openai.NotFoundError():
            return "has no list of models"
        case openai.APIStatusError():
            return f"gives no list of models ({error.status_code})"
        case openai.APITimeoutError() | TimeoutError():
            return "does not answer in time"
        case _:
            return f"cannot be reached ({error.__cause__ or error})"
