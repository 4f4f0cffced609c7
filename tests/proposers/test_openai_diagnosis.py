"""An endpoint that cannot be asked is named by the cause within a few tries, with what to do about it."""

from __future__ import annotations

import asyncio
import errno
import gc
import re
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx2
import pytest
import trustme
import uvloop

from behavesim.base.errors import ProposerError, UsageError
from behavesim.proposers.openai_answers import diagnose_fault, listens
from behavesim.proposers.openai_endpoint import is_onward
from behavesim.proposers.openai_environment import Route
from behavesim.proposers.retry import RetryLimits
from tests.proposers import chat_server as chat
from tests.proposers.asking import KEY, openai_proposer, prompt

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
HASTY = RetryLimits(request_s=20.0, start_s=0.2, backoff_s=0.01)


@asynccontextmanager
async def saying(
    noise: bytes | Callable[[bytes], bytes], tls: ssl.SSLContext | None = None, at: str = "127.0.0.1"
) -> AsyncIterator[str]:
    """A port that answers whatever it is told with these bytes, and hangs up; yields host and port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.read(2**16)
        while not (isinstance(noise, bytes) or asked.endswith(b"}")) and (more := await reader.read(2**16)):
            asked += more
        writer.write(noise if isinstance(noise, bytes) else noise(asked))
        writer.close()

    server = await asyncio.start_server(answer, at, 0, ssl=tls)
    async with server:
        yield f"{at}:{server.sockets[0].getsockname()[1]}"


@pytest.fixture(scope="module")
def tls() -> ssl.SSLContext:
    """A server's side, with a certificate that nobody has reason to trust."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def verdict(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """What a run at a URL stops with, and the notes before it; there is no name server to be waited for."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    async def stops_with(url: str, limits: RetryLimits = HASTY) -> tuple[str, list[str]]:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        notes: list[str] = []
        async with openai_proposer(limits=limits, notes=notes.append) as proposer:
            with pytest.raises(ProposerError) as caught:
                await proposer.propose(prompt(), 0)
        assert "\n" not in str(caught.value)
        return str(caught.value), notes

    return stops_with


def unresolved(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    async def resolve(*args: Any, **kwargs: Any) -> None:
        raise socket.gaierror(code, "no")

    # not the loop's own function, which uvloop lets nobody replace
    monkeypatch.setattr(aiohttp.resolver.ThreadedResolver, "resolve", resolve)


async def test_a_port_where_nobody_listens_is_said_at_once_and_waited_for(verdict: Any) -> None:
    message, notes = await verdict("http://127.0.0.1:9/v1")
    assert "no reply for" in message
    assert "127.0.0.1:9 refuses connections" in message
    assert "start it, or check OPENAI_BASE_URL; asking again until nobody has had a reply for 0.2 s" in notes[0]
    assert len(notes) == 1


async def test_a_host_that_there_is_not_stops_the_run_after_a_few_tries(
    verdict: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    unresolved(monkeypatch, socket.EAI_NONAME)
    message, notes = await verdict("http://nobody.example/v1", RetryLimits(start_s=1e9, backoff_s=0.01))
    assert message == "there is no host 'nobody.example'; check OPENAI_BASE_URL and the network"
    assert notes == [f"{message}; asking again"]


async def test_a_host_in_letters_beyond_ascii_is_that_of_the_endpoint_and_no_proxys(
    verdict: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    unresolved(monkeypatch, socket.EAI_NONAME)
    message, _ = await verdict("http://bücher.example/v1", RetryLimits(start_s=1e9, backoff_s=0.01))
    assert message == "there is no host 'xn--bcher-kva.example'; check OPENAI_BASE_URL and the network"


async def test_a_host_that_is_no_address_stops_the_run(verdict: Any) -> None:
    message, _ = await verdict("http://127.1:9/v1", RetryLimits(start_s=1e9, backoff_s=0.01))
    assert message == "OPENAI_BASE_URL or the proxy's URL is not valid; check both"


CONNECTION = SimpleNamespace(host="api.example", port=443, ssl=True)
OUT_OF_REACH = [
    (aiohttp.ConnectionTimeoutError(), "does not respond to connections; check OPENAI_BASE_URL and firewalls"),
    (
        aiohttp.ClientConnectorError(CONNECTION, OSError(errno.EHOSTUNREACH, "No route to host")),  # type: ignore[arg-type]
        "cannot be reached (No route to host); check the network and OPENAI_BASE_URL",
    ),
]


@pytest.mark.parametrize(("error", "said"), OUT_OF_REACH, ids=lambda each: type(each).__name__)
async def test_a_server_out_of_reach_is_waited_for(error: Exception, said: str) -> None:
    fault = await diagnose_fault(error, Route(httpx2.URL("https://api.example/v1"), None), 1.0, is_new=False)
    assert (fault.action, fault.message) == ("ask again", f"api.example:443 {said}")
    assert not fault.may_be_billed


async def test_a_proxy_that_does_not_respond_is_named() -> None:
    route = Route(httpx2.URL("https://api.example/v1"), "http://127.0.0.1:3128")
    fault = await diagnose_fault(aiohttp.ConnectionTimeoutError(), route, 1.0, is_new=False)
    assert fault.message.startswith("the proxy 127.0.0.1:3128 (HTTPS_PROXY) does not respond to connections")


async def test_a_name_that_cannot_be_looked_up_at_present_is_waited_for(
    verdict: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    unresolved(monkeypatch, socket.EAI_AGAIN)
    message, _ = await verdict("http://nobody.example/v1")
    assert "no reply for" in message
    assert "'nobody.example' cannot be looked up at present; check the network" in message


async def test_a_certificate_without_trust_is_named_with_how_to_trust_it(verdict: Any, tls: Any) -> None:
    async with saying(OK, tls) as where:
        message, _ = await verdict(f"https://{where}/v1")
    assert f"the certificate of {where} is not trusted" in message
    assert "SSL_CERT_FILE" in message


async def test_a_certificate_that_is_trusted_by_the_environment_will_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    body = chat.says("hello").body
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    async with saying(reply, context) as where:
        monkeypatch.setenv("OPENAI_BASE_URL", f"https://{where}/v1")
        async with openai_proposer(limits=HASTY) as proposer:
            assert (await proposer.propose(prompt(), 0)).text == "hello"


async def test_https_to_a_port_without_tls_is_told_to_be_http(verdict: Any) -> None:
    async with saying(OK) as where:
        message, _ = await verdict(f"https://{where}/v1")
    assert message == f"{where} speaks no TLS; write http:// in OPENAI_BASE_URL"


async def test_a_server_that_refuses_encryption_or_hangs_up_before_it_is_named(verdict: Any) -> None:
    async with saying(b"\x15\x03\x03\x00\x02\x02\x28") as where:  # TLS: fatal, handshake failure
        message, _ = await verdict(f"https://{where}/v1")
    assert re.fullmatch(rf"no encrypted connection to {where} \(\w*HANDSHAKE_FAILURE\); check OPENAI_BASE_URL", message)
    async with saying(b"") as where:
        message, _ = await verdict(f"https://{where}/v1")
    assert f"{where} cannot be reached (" in message and "(None)" not in message


async def test_http_to_a_port_with_tls_is_told_to_be_https(verdict: Any, tls: Any) -> None:
    async with saying(OK, tls) as where:
        message, _ = await verdict(f"http://{where}/v1")
    assert message == f"{where} wants an encrypted connection; write https:// in OPENAI_BASE_URL"


WRONG = [
    (b"", "closed the connection without an answer; its own log may say why"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "broke off in the middle of its answer"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "broke off in the middle of its answer"),
    (b"SSH-2.0-OpenSSH_9.6\r\n", "something that is not HTTP .*SSH-2.0"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "something that is not HTTP"),
    (b"HTTP/1.1 200 \xff\r\nContent-Length: 2\r\n\r\n{}", "something that is not HTTP"),
    (b"HTTP/1.1 301 Gone\r\nLocation: http://[::1/\r\nContent-Length: 0\r\n\r\n", "redirects to nowhere"),
    (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", "something that is not HTTP"),
    (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", "middle of its answer"),
    (b"HTTP/1.1 301 Gone\r\nLocation: ftp://elsewhere/\r\nContent-Length: 0\r\n\r\n", "redirects to nowhere"),
    (b"HTTP/1.1 307 Gone\r\nLocation: /\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "redirects to nowhere"),
]


@pytest.mark.parametrize(("noise", "named"), WRONG)
async def test_what_is_wrong_with_an_answer_is_named(verdict: Any, noise: bytes, named: str) -> None:
    async with saying(noise) as where:
        message, _ = await verdict(f"http://{where}/v1")
    assert where in message
    assert re.search(named, message)


FORMS = [
    b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n\x0b\x02",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: 2\r\n\r\n(\xb5",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 308 Moved\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"a" * 20_000 + b"\r\nContent-Length: 2\r\n\r\n{}",
]


@pytest.mark.parametrize("noise", [*(noise for noise, _ in WRONG), *FORMS])
async def test_an_answer_that_is_broken_in_form_counts_as_a_request_that_may_be_billed(
    monkeypatch: pytest.MonkeyPatch, noise: bytes
) -> None:
    body = chat.says("hello").body
    well = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    async with saying(lambda asked: noise if b"broken" in asked else well) as where:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://{where}/v1")
        async with openai_proposer(2, RetryLimits(backoff_s=0.001, attempts=4, setup=99)) as proposer:
            asked = asyncio.ensure_future(proposer.propose(prompt("broken"), 1))
            while not asked.done():
                assert (await proposer.propose(prompt(), 0)).text == "hello"
    reply = asked.result()
    assert reply.fault
    assert reply.unanswered + sum(call.prompt is None for call in reply.calls) >= 4


def greeted(port: socket.socket) -> None:
    """Send a line to each connection as soon as it is there, and hang up."""
    with suppress(OSError):
        while True:
            connection, _ = port.accept()
            connection.sendall(b"220 ready\r\n")
            connection.close()


def test_a_probe_of_tls_may_be_cancelled_at_any_step_without_an_error_that_nobody_took() -> None:
    lost: list[Any] = []

    async def cancelled_after(steps: int, port: int, context: ssl.SSLContext) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: lost.append(told))
        probing = asyncio.ensure_future(listens("127.0.0.1", port, context))
        for _ in range(steps):
            await asyncio.sleep(0)
        time.sleep(0.01)  # as on a busy machine: what the server says is there before the probe goes on
        await asyncio.sleep(0)
        probing.cancel()
        await asyncio.gather(probing, return_exceptions=True)

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=greeted, args=(server,), daemon=True).start()
        for steps in range(8):
            uvloop.run(cancelled_after(steps, server.getsockname()[1], context))
        server.shutdown(socket.SHUT_RDWR)
    gc.collect()
    assert lost == []


async def test_localhost_is_asked_at_its_address_of_ipv6_where_it_has_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    body = chat.says("hello").body
    try:
        async with saying(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body), at="::1") as where:
            monkeypatch.setenv("OPENAI_BASE_URL", f"http://localhost:{where.rpartition(':')[2]}/v1")
            async with openai_proposer(limits=HASTY) as proposer:
                assert (await proposer.propose(prompt(), 0)).text == "hello"
    except OSError:
        pytest.skip("this machine has no IPv6")


async def test_localhost_stays_where_it_is_if_nobody_listens_at_its_address_of_ipv6(verdict: Any) -> None:
    message, _ = await verdict("http://localhost:9/v1")
    assert "localhost:9 refuses connections" in message


async def test_an_endpoint_that_has_moved_names_its_new_address(verdict: Any) -> None:
    async with chat.ChatServer() as there:
        moved = f"HTTP/1.1 301 Moved\r\nLocation: {there.url}/\x1b[2J\r\nContent-Length: 0\r\n\r\n"
        there.behaviour = chat.echo
        async with saying(moved.encode()) as where:
            message, _ = await verdict(f"http://{where}/v1")
    assert f"the endpoint has moved to {there.url}" in message
    assert "\x1b" not in message


ORIGINS = [
    ("https", "http", True),  # prompt, headers and password would go out in clear text
    ("http", "https", True),
    ("http", "http", True),
    ("https", "https", True),
    ("https", "https", False),
]


@pytest.mark.parametrize(("scheme", "onward", "is_other"), ORIGINS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed_within_one_origin_alone(scheme: str, onward: str, is_other: bool, status: int) -> None:
    same = f"{scheme}://api.example/v1/chat/completions"
    others = [f"{onward}://api.example:444/x", f"{onward}://api.example.evil/x"]
    if onward != scheme:
        others.append(f"{onward}://api.example/v1/chat/completions")
    for place in others if is_other else [f"{scheme}://api.example/v2/chat/completions", "/v2/chat/completions"]:
        request = httpx2.Request("POST", same, content=b"{}")
        answer = httpx2.Response(status, headers={"location": place}, request=request)
        target = httpx2.URL(same).join(place)
        answer.next_request = httpx2.Request("POST" if status in (307, 308) else "GET", target)
        assert is_onward(answer) == (not is_other and status in (307, 308)), place


async def test_an_endpoint_on_https_that_redirects_to_http_gets_no_second_request(
    verdict: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    async with chat.ChatServer() as plain:
        moved = f"HTTP/1.1 308 Moved\r\nLocation: {plain.url}/chat/completions\r\nContent-Length: 0\r\n\r\n"
        async with saying(moved.encode(), context) as where:
            message, _ = await verdict(f"https://me:secret@{where}/v1")
    assert f"the endpoint has moved to {plain.url}; put that into OPENAI_BASE_URL" in message
    assert plain.asked == []


async def test_a_proxy_is_named_and_its_password_is_not(verdict: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@127.0.0.1:9")
    message, _ = await verdict("https://api.example/v1")
    assert "the proxy 127.0.0.1:9 (HTTPS_PROXY) refuses connections" in message
    assert "secret" not in message


async def test_a_proxy_that_refuses_is_quoted(verdict: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with saying(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        message, _ = await verdict("https://api.example/v1")
        assert f"the proxy {proxy} (HTTPS_PROXY) lets nobody through to api.example:443 (407" in message
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy}")
        message, _ = await verdict("http://api.example/v1")
        assert "the proxy wants a login (407)" in message


async def test_a_proxy_takes_user_and_password_from_its_url(
    server: Any, proposer_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url.replace("//", "//me:secret@").removesuffix("/v1"))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://api.example/v1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with openai_proposer(limits=HASTY) as proposer:
        assert (await proposer.propose(prompt(), 0)).text == "reply to hello"
    assert server.asked[0].headers["Proxy-Authorization"].startswith("Basic ")
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"


UNUSABLE = ["socks5://127.0.0.1:1080", "http://[::1", "http://host:port", "http://host:99999", "://", "http://", "ä b"]


@pytest.mark.parametrize("proxy", UNUSABLE)
def test_a_proxy_that_cannot_be_used_is_refused(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://api.example/v1")
    for name in ("HTTP_PROXY", "http_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", proxy)
    monkeypatch.setenv("NO_PROXY", "")
    with pytest.raises(UsageError, match=r"NO_PROXY=api\.example"):
        openai_proposer()
    monkeypatch.setenv("NO_PROXY", "api.example")
    openai_proposer()


OTHERS = [
    ("web_page()", r"a web page \(Welcome to nginx!\); check OPENAI_BASE_URL"),
    ("web_page(404, 'Not Found')", r"nothing answers chat completions there \(404\): Not Found; check OPENAI_BASE_URL"),
    ("event_stream()", "an event stream; have it answer at once, with stream = false"),
]


@pytest.mark.parametrize(("answer", "named"), OTHERS)
async def test_an_endpoint_of_another_kind_is_named_with_its_first_words(
    server: Any, verdict: Any, answer: str, named: str
) -> None:
    server.behaviour = chat.script(then=eval(answer, vars(chat)))
    message, _ = await verdict(server.url, RetryLimits(start_s=1e9, backoff_s=0.01))
    assert re.search(named, message)
    assert len(server.asked) <= 3


async def test_what_would_stop_a_run_at_its_start_is_ridden_out_once_it_has_had_a_reply(
    server: Any, proposer_of: Any
) -> None:
    server.behaviour = chat.script(chat.echo, *[chat.web_page()] * 5)
    async with proposer_of() as proposer:
        for number in range(2):
            assert (await proposer.propose(prompt(), number)).text == "reply to hello"
