"""What must hold of any answer of an endpoint, whatever its bytes."""

from __future__ import annotations

import os

from behavesim.base.heartbeat import Heartbeat
from behavesim.base.tokens import MOST_TOKENS, Usage
from behavesim.proposers.openai_answers import REASON_LIMIT, answer
from behavesim.proposers.openai_endpoint import Endpoint
from behavesim.proposers.openai_settings import Terms
from behavesim.proposers.retry import VERSION, Completion, Fault, seconds_until_refill
from behavesim.state.events import Reply, Responded
from behavesim.store.codec import decode, encode

KEY = "sk-planted-0123456789abcdef"
TERMS = Terms("m", ("temperature", "max_tokens", "system"))


def endpoint() -> Endpoint:
    """An endpoint that nobody asks, with the key planted; it reads the environment as it is now."""
    before = {name: os.environ.get(name) for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL")}
    os.environ |= {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    try:
        return Endpoint(1.0, Heartbeat())
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def check(asked: Endpoint, data: bytes) -> None:
    """Take an answer: a line each for its status, Retry-After and content type, and then its body."""
    status, pause, kind, body = (*data.split(b"\n", 3), b"", b"", b"", b"")[:4]
    headers = {
        "content-type": kind.decode("utf-8", "surrogateescape"),
        "retry-after": pause.decode("utf-8", "surrogateescape"),
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": pause.decode("utf-8", "surrogateescape"),
    }
    number = int(status) if status.isdigit() and len(status) == 3 else 200
    found = answer(number, headers, body, TERMS, asked.secrets.clean)
    assert 0 <= seconds_until_refill(headers) < float("inf")
    if isinstance(found, Completion):
        check_completion(found)
    else:
        check_fault(found, asked.secrets.scrubbed(found.message))


def check_completion(found: Completion) -> None:
    reply = Reply(found.text, "m", (found.usage,), found.finish_reason)
    assert decode(*encode(Responded(0, reply))) == Responded(0, reply)
    assert KEY not in found.text
    reason = found.finish_reason or ""
    assert reason.isprintable() and len(reason) <= REASON_LIMIT and KEY not in reason
    check_usage(found.usage)


def check_fault(found: Fault, line: str) -> None:
    assert line.isprintable() and len(line) <= 500 and KEY not in line
    assert found.remedy in ("", VERSION, *TERMS.optional)
    assert found.wait_s is None or 0 <= found.wait_s < float("inf")
    if found.usage is not None:
        check_usage(found.usage)


def check_usage(usage: Usage) -> None:
    for count in (usage.prompt, usage.cached, usage.completion, usage.reasoning, usage.cache_write):
        assert count is None or (type(count) is int and 0 <= count < MOST_TOKENS)
    tier = usage.tier or ""
    assert tier.isprintable() and len(tier) <= REASON_LIMIT and KEY not in tier
