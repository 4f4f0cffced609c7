"""The files of a batch: prompts are written as JSON lines, and results are read from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from behavesim.base.text import one_line
from behavesim.proposers.openai_answers import Completion, answer
from behavesim.proposers.patience import Fault
from behavesim.proposers.price_list import BATCH

URL = "/v1/chat/completions"
"""What a batch's requests ask, in the vendor's own terms, whatever the path of the endpoint is."""


def written(bodies: Mapping[int, Mapping[str, Any]]) -> bytes:
    """Return the file that asks these requests, by the number of the prompt."""
    lines = ({"custom_id": str(number), "method": "POST", "url": URL, "body": body} for number, body in bodies.items())
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def results(
    content: bytes, optional: Callable[[int], Collection[str]], clean: Callable[[str], str]
) -> Iterator[tuple[int, Completion | Fault]]:
    """Yield each result in a file of an ended batch, with the prompt's number; lines without a number are left out.

    `optional` returns the parameters that a prompt's request could leave out, and `clean` removes secrets.
    """
    for text in content.splitlines():
        try:
            line = json.loads(text.decode("utf-8", "replace"))
            number, response = int(line["custom_id"]), line.get("response")
            if response:
                status, body = int(response["status_code"]), json.dumps(response.get("body")).encode()
            else:
                why = line["error"]["message"]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):  # JSON of any other form
            continue
        if response:
            yield number, _priced(answer(status, {}, body, optional(number), clean))
        else:
            yield number, Fault("passing", f"the batch left a prompt undone: {one_line(clean(str(why)), 300)}")


def failure(batch: Mapping[str, Any], clean: Callable[[str], str]) -> Fault:
    """Return the fault of a batch that the endpoint refused as a whole, from the first of the errors it lists."""
    errors = batch.get("errors")
    listed = errors.get("data") if isinstance(errors, Mapping) else None
    error = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], Mapping) else {}
    if error.get("code") == "token_limit_exceeded":
        said = one_line(clean(str(error.get("message") or "")), 300)
        return Fault("limited", f"the endpoint takes no further batch until others have ended: {said}")
    meant = answer(400, {}, json.dumps({"error": dict(error) or "no reason given"}).encode(), (), clean)
    message = meant.message if isinstance(meant, Fault) else "its filter refuses it"
    return Fault("fatal", f"the endpoint refuses the batch: {message}")


def _priced(found: Completion | Fault) -> Completion | Fault:
    """Return a result whose tokens have the price of batches; what would be asked again at once goes into the next."""
    if isinstance(found, Completion):
        return replace(found, usage=replace(found.usage, tier=BATCH))
    meaning = "passing" if found.meaning in ("limited", "path", "setup") else found.meaning
    return replace(found, meaning=meaning, usage=found.usage and replace(found.usage, tier=BATCH))
