"""A chat server that also has a vendor's files and batches, and can be told to fail at each of their moments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.proposers.chat_server import Answer, Asked, Behaviour, ChatServer, document, fails, improving

Lost = Callable[[str], Answer | None]
"""Returns what to send in place of the answer to a step, which is carried out all the same; None for the answer."""


@dataclass
class Batch:
    """A batch at the vendor; `replies` are the prompts that it was billed for."""

    id: str
    file: str
    metadata: Mapping[str, Any]
    status: str = "in_progress"
    errors: object = None
    billed: list[str] = field(default_factory=list)


class BatchServer(ChatServer):
    """Carries out batches with `behaviour`, one line after another; nothing ends while `is_open` is False.

    `steps` has the requests so far: "upload", "create", "list", "look", "output", "delete". `deleted` are names of
    files, which stay in `files`, too, and are not found any more. `fault` replaces the answer to a step
    before it is carried out, `lost` after. `ends` says how a batch ends; lines whose number is in `undone` stay
    undone then.
    """

    def __init__(self, behaviour: Behaviour = improving) -> None:
        super().__init__(behaviour)
        self.files: dict[str, bytes] = {}
        self.deleted: list[str] = []
        self.batches: dict[str, Batch] = {}
        self.steps: list[str] = []
        self.is_open = True
        self.ends: Callable[[Batch], str] = lambda batch: "completed"
        self.errors: object = None
        self.undone: Callable[[int, int], bool] = lambda batch, line: False
        self.fault: Lost = lambda step: None
        self.lost: Lost = lambda step: None

    @property
    def billed(self) -> list[str]:
        """The prompts that were billed, in the order of the batches."""
        return [prompt for batch in self.batches.values() for prompt in batch.billed]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if not (named := re.fullmatch(r"(?:/v1)?/(files|batches)(?:/([\w-]+))?(/content)?", request.path)):
            return await super()._handle(request)
        steps = {"POST": "upload", "GET": "output", "DELETE": "delete"} if named[1] == "files" else {"POST": "create"}
        step = steps.get(request.method, "look" if named[2] else "list")
        content = await request.read() if step == "create" else b""
        uploaded = (await request.post())["file"].file.read() if step == "upload" else b""  # type: ignore[union-attr]
        self.asked.append(Asked(len(self.asked), request.path, dict(request.headers), {}))
        self.steps.append(step)
        answer = self.fault(step)
        if answer is None:
            answer = self._carried_out(step, named[2] or "", uploaded, content, request.query)
            answer = self.lost(step) or answer
        return await self._send(request, len(self.asked) - 1, answer)

    def _carried_out(self, step: str, name: str, uploaded: bytes, content: bytes, query: Mapping[str, str]) -> Answer:
        match step:
            case "upload":
                self.files[f"file-{len(self.files)}"] = uploaded
                return document({"id": f"file-{len(self.files) - 1}", "object": "file"})
            case "create":
                given = json.loads(content)
                assert (given["endpoint"], given["completion_window"]) == ("/v1/chat/completions", "24h")
                made = Batch(f"batch_{len(self.batches)}", given["input_file_id"], given["metadata"])
                self.batches[made.id] = made
                return document(self._said(made))
            case "list":
                newest = list(reversed(self.batches))
                rest = newest[newest.index(query["after"]) + 1 :] if "after" in query else newest
                listed = [self._said(self.batches[each]) for each in rest[:1]]  # pages of one
                return document({"object": "list", "data": listed, "has_more": len(rest) > 1})
            case "look" if name in self.batches:
                self._end(self.batches[name])
                return document(self._said(self.batches[name]))
            case "delete" if name in self.files:
                self.deleted.append(name)
                return document({"id": name, "object": "file", "deleted": True})
            case "output" if name in self.files and name not in self.deleted:
                return Answer(body=self.files[name])
        return fails(404, f"No such thing: {name}")

    def _end(self, batch: Batch) -> None:
        """Carry out a batch that is still open; if it fails or is cancelled, none of its prompts is billed."""
        if not self.is_open or batch.status != "in_progress":
            return
        batch.status, batch.errors = self.ends(batch), self.errors
        if batch.status == "failed":
            return
        done: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
        for place, text in enumerate(self.files[batch.file].splitlines()):
            line = json.loads(text)
            if self.undone(list(self.batches).index(batch.id), place):
                error = {"code": "batch_expired", "message": "This request could not be executed in time."}
                done[False].append({"custom_id": line["custom_id"], "response": None, "error": error})
                continue
            answer = self.behaviour(Asked(place, line["url"], {}, line["body"]))
            if answer.status == 200:
                batch.billed.append(line["body"]["messages"][-1]["content"])
            response = {"status_code": answer.status, "request_id": "r", "body": json.loads(answer.body)}
            done[answer.status == 200].append({"custom_id": line["custom_id"], "response": response, "error": None})
        for is_done, name in ((True, "output"), (False, "error")):
            if done[is_done]:
                lines = reversed(done[is_done])  # the vendor promises no order
                self.files[f"{batch.id}-{name}"] = "".join(f"{json.dumps(line)}\n" for line in lines).encode()

    def _said(self, batch: Batch) -> dict[str, Any]:
        files = {
            f"{name}_file_id": f"{batch.id}-{name}" if f"{batch.id}-{name}" in self.files else None
            for name in ("output", "error")
        }
        told = {"id": batch.id, "object": "batch", "status": batch.status, "metadata": batch.metadata}
        files["input_file_id"] = batch.file
        return {**told, "errors": batch.errors, **files}
