"""The endpoint's files and batches: each request is sent again until it is answered, or ends the run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import httpx2

from behavesim.proposers.limiter import LONGEST_BACKOFF_S, Limiter, backoff_s
from behavesim.proposers.openai_endpoint import FILE_BYTES, Endpoint, Send
from behavesim.proposers.patience import Fault, Perseverance, PromptTries

ENDED = ("completed", "failed", "expired", "cancelled")
"""The endpoint's words for a batch that does nothing more."""

NAME = "behavesim"
"""The field of a batch's metadata that holds its name."""

LISTED = 100
"""Batches on a page of the endpoint's list: the most that OpenAI allows."""

T = TypeVar("T")
Document = Mapping[str, Any]
"""A JSON object of the endpoint."""


class BatchCalls:
    """Makes, finds and reads batches with the package's own methods.

    All methods raise ProposerError if asking again would not help, or if nothing was answered for too long.
    """

    def __init__(self, endpoint: Endpoint, limiter: Limiter, persevering: Perseverance, poll_s: float) -> None:
        """`poll_s` is the first pause in seconds between two looks at a batch; it doubles, up to a minute."""
        self._endpoint, self._limiter, self._persevering, self._poll_s = endpoint, limiter, persevering, poll_s

    async def uploaded(self, name: str, content: bytes) -> str:
        """Upload a batch's prompts; return the file's id."""
        return await self._called(
            lambda client, headers: _raw(
                client.files.with_raw_response.create(
                    file=(f"{name}.jsonl", content), purpose="batch", extra_headers=headers
                )
            ),
            self._id,
        )

    async def created(self, file: str, name: str) -> str:
        """Make a batch of an uploaded file; return its id. After a fault it is looked for by its name first."""
        tries = self._persevering.begin(0)
        while True:
            found = await self._tried(
                tries,
                lambda client, headers: _raw(
                    client.batches.with_raw_response.create(
                        completion_window="24h",
                        endpoint="/v1/chat/completions",
                        input_file_id=file,
                        metadata={NAME: name},
                        extra_headers=headers,
                    )
                ),
                self._id,
            )
            if found := found or await self.found(name):
                return found

    async def found(self, name: str) -> str:
        """Return the id of the batch of this name in the endpoint's list; "" if it has none."""
        query: dict[str, str] = {}
        while True:
            page = await self._called(
                lambda client, headers, query=query: _raw(  # type: ignore[misc]
                    client.batches.with_raw_response.list(limit=LISTED, extra_query=query, extra_headers=headers)
                ),
                _document,
            )
            data = page.get("data")
            listed = [each for each in data if isinstance(each, Mapping)] if isinstance(data, list) else []
            for each in listed:
                metadata = each.get("metadata")
                if isinstance(metadata, Mapping) and metadata.get(NAME) == name:
                    return str(each.get("id") or "")
            last = str(listed[-1].get("id")) if listed else ""
            if not page.get("has_more") or not last or last == query.get("after"):
                return ""
            query = {"after": last}

    async def ended(self, batch: str) -> Document:
        """Wait for the end of a batch, for as long as it takes; return what the endpoint says of it then."""
        looks = 0
        while True:
            said = await self._called(
                lambda client, headers: _raw(client.batches.with_raw_response.retrieve(batch, extra_headers=headers)),
                _document,
            )
            if said.get("status") in ENDED:
                return said
            looks += 1
            await asyncio.sleep(backoff_s(looks, self._poll_s, jitter=1.0))

    async def content(self, file: str) -> bytes:
        """Return a file's content."""
        return await self._called(
            lambda client, headers: _raw(client.files.with_raw_response.content(file, extra_headers=headers)),
            _content,
        )

    def _id(self, response: httpx2.Response) -> str | Fault:
        document = _document(response)
        if isinstance(document, Fault):
            return document
        found = document.get("id")
        if isinstance(found, str) and found:
            return self._endpoint.secrets.clean(found)
        return Fault("passing", "the endpoint answered without an id")

    async def _called(self, send: Send, read: Callable[[httpx2.Response], T | Fault]) -> T:
        tries = self._persevering.begin(0)
        while (found := await self._tried(tries, send, read)) is None:
            pass
        return found

    async def _tried(self, tries: PromptTries, send: Send, read: Callable[[httpx2.Response], T | Fault]) -> T | None:
        """Send a request once; return what is read from its answer, or None after the pause that its fault asks for."""
        async with self._limiter.slot() as cuts:
            self._persevering.refuse_if_stopped()
            response = await self._endpoint.fetched(send)
            found = response if isinstance(response, Fault) else read(response)
            if not isinstance(found, Fault):
                self._persevering.replied()
                self._limiter.succeeded({} if isinstance(response, Fault) else response.headers)
                return found
            if found.meaning == "limited":
                pause = self._limiter.refused(cuts, found.wait_s)
                self._persevering.sparing("pause", f"{found.message}; waiting {pause:.0f} s", pause)
        if found.meaning == "path" and self._endpoint.add_version():
            return None
        if found.meaning in ("path", "request", "prompt", "parameter"):
            advice = "if the endpoint has no batches, or this one is gone, go on with --set batch=false"
            found = replace(found, meaning="fatal", message=f"{found.message}; {advice}")
        wait_s = self._persevering.after_fault(tries, found)
        await asyncio.sleep(LONGEST_BACKOFF_S if wait_s is None else wait_s)
        return None


async def _raw(call: Awaitable[Any]) -> httpx2.Response:
    """Return the plain answer to a call of the package, which would read it as a type of its own."""
    response: httpx2.Response = (await call).http_response
    return response


def _document(response: httpx2.Response) -> Document | Fault:
    """Return the JSON object in an answer, or the fault that it holds something else."""
    try:
        found = json.loads(response.content)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else Fault("passing", "the endpoint answered with no JSON object")


def _content(response: httpx2.Response) -> bytes | Fault:
    if len(response.content) > FILE_BYTES:
        return Fault("fatal", f"the replies of a batch are longer than {FILE_BYTES >> 20} MB")
    return response.content
