"""Replies from coding assistants: Claude Code, Codex, Copilot and aider, run without a person, each in a new folder.

An assistant finds the prompt as a file and the program to improve beside it. What it leaves in the program's file is
the reply; if it leaves it as it was, what it printed is. It runs with the person's account, outside the sandbox.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import stat
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import uuid4

from pydantic import Field

from behavesim.base.config import Adjustable
from behavesim.base.errors import UsageError
from behavesim.base.tokens import Usage, token_count
from behavesim.programs.answer import add_fence, blocks, fenced_blocks, outside, thought_in
from behavesim.proposers.command import LONGEST_OUTPUT, Ended, how_it_ended, run_shell
from behavesim.proposers.proposer import Proposer, ProposerContext, ProposerSettings
from behavesim.proposers.retry import Completion, Fault, RetryLimits, RetryPolicy
from behavesim.proposers.secrets import Secrets, is_secret_name
from behavesim.state.events import Prompt, Reply
from behavesim.task.evaluated import PLAIN_PATH, join_files, separate_files

# The file with the prompt, and the one in which aider counts its tokens.
PROMPT_FILE = "prompt.md"
_COUNTS_FILE = ".counts.jsonl"
# Most searches for processes of a call that is over; one that waits for a disk dies later.
MOST_SWEEPS = 20
# Seconds in which an assistant has to say whether somebody has signed in.
ANSWERED_S = 10.0
# The variable that marks all processes of one call, so that those which left its group are found.
_MARK = "BEHAVESIM_ASSISTANT"
# What a report says of an output that ends too early.
_NO_RESULT = "it wrote no result"
# Words of an assistant that may not ask now, and of one that nobody has signed in.
_LIMITED = re.compile(r"\b(?:rate|usage|session|weekly|hourly|your) ?-?limit|\bquota|\b429\b|\b529\b|overloaded", re.I)
_SIGNED_OUT = re.compile(r"\blog ?-?in\b|authenticat|unauthori[sz]ed|api.?key|credentials|\b40[13]\b", re.I)


@dataclass(frozen=True)
class Report:
    """What an assistant's output says of one call."""

    # Its last message; "" if there is none.
    text: str = ""
    # The tokens and the cost; None if it says nothing of them.
    usage: Usage | None = None
    # Why it failed; "" if it does not say so.
    error: str = ""
    # Whether it ended at its own limit of turns or money, at which it would end again.
    is_used_up: bool = False


def _objects(lines: str) -> list[Mapping[str, Any]]:
    """Return the JSON objects among the lines of a text; other lines are passed over."""
    found: list[Mapping[str, Any]] = []
    for line in lines.splitlines():
        with suppress(ValueError, RecursionError):
            if isinstance(parsed := json.loads(line), dict):
                found.append(parsed)
    return found


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


class AssistantSettings(ProposerSettings):
    """The settings of a proposer that runs a coding assistant."""

    request_timeout_s: Adjustable[float] = Field(1800.0, gt=0)
    """Time limit by the clock of one call of the assistant, in seconds; after it, it is killed."""
    assistant_options: str = ""
    """Further words of the assistant's command line, such as '--model NAME --max-turns 40'; they may give it rights."""


class AssistantProposer(Proposer[AssistantSettings], ABC):
    """Calls a coding assistant for each reply, in a temporary folder and a process group of its own.

    The folder holds `prompt.md` and the last program that the prompt shows. The assistant gets this process's
    environment without the keys of others. Its tokens and its cost are as it says. When a call is over, its processes
    are killed, but for those that left its group and cleared their environment, and the folder is removed.
    """

    settings_type = AssistantSettings
    # The name of the assistant's program.
    program: ClassVar[str]
    # Words of the command line behind the name.
    words: ClassVar[tuple[str, ...]]
    # Matches the names of the variables with its own keys: it gets no others.
    keys: ClassVar[str]
    # The command that installs it.
    install: ClassVar[str]
    # What a person does to sign in.
    sign_in: ClassVar[str]
    # Whether it reads the prompt from its standard input; if not, a word names the prompt's file.
    reads_input: ClassVar[bool] = False
    # Whether the names of the program's files stand behind all other words.
    takes_files: ClassVar[bool] = False
    # Words of the command that ends with 0 if somebody has signed in; empty if it has none.
    status: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    @abstractmethod
    def report(out: str, folder: Path) -> Report:
        """Return what an assistant's output, and its folder, say of a call."""

    def __init__(self, options: Sequence[str], limits: RetryLimits, context: ProposerContext) -> None:
        """`options` are further words of the command line; each call may take `limits.request_s` seconds."""
        self._options, self._clock, self._limit_s = options, context.clock, limits.request_s
        self._suffix = context.task.suffix or ".txt"
        self._secrets = Secrets.of(os.environ.items())
        self._policy = RetryPolicy(limits, context, self._secrets)

    @classmethod
    def of(cls, settings: AssistantSettings, context: ProposerContext) -> Self:
        """Return the proposer of a run.

        Raises UsageError if `assistant_options` cannot be split into words, or hold a key: they are kept with the run.
        """
        if Secrets.of(os.environ.items()).are_in(settings.assistant_options):
            raise UsageError("assistant_options hold a key, and are kept with the run; leave it in a variable")
        try:
            options = shlex.split(settings.assistant_options)
        except ValueError as error:
            raise UsageError(f"assistant_options cannot be split into words: {error}") from None
        return cls(options, RetryLimits(request_s=settings.request_timeout_s), context)

    @classmethod
    def missing(cls) -> str:
        """Return that the assistant's program is not on the PATH, and how to install it; "" if it is there."""
        if shutil.which(cls.program):
            return ""
        return f"there is no program {cls.program} on the PATH; install it ({cls.install}) and sign in"

    @classmethod
    async def is_signed_in(cls) -> bool | None:
        """Return whether somebody has signed in to the installed assistant; None if it has no command that says so."""
        if not cls.status:
            return None
        try:
            async with asyncio.timeout(ANSWERED_S):
                ended = await run_shell(shlex.join([cls.program, *cls.status]), "", dict(os.environ))
        except (TimeoutError, OSError):
            return None
        return ended.code == 0

    async def propose(self, prompt: Prompt, number: int) -> Reply:
        """Return the program that the assistant left in its file, after its idea; else what it printed.

        If the prompt was given up, the text is empty and `fault` says why. Raises ProposerError if no prompt has had a
        reply for too long, or, before the first reply, if the assistant is not there or not signed in.
        """
        # a negative number is that of a note: words are asked for, and no program
        shown = fenced_blocks(prompt.text)[-1:] if number >= 0 else []
        files = self._files(shown[0]) if shown else {}
        text = prompt.text + (_request(list(files)) if files else "")
        tries = self._policy.begin(number, self.program, text)
        return await self._policy.reply(tries, lambda: self._ask(text, files))

    def _files(self, source: str) -> dict[str, str]:
        """Return the files of a program, texts by path."""
        files = {"": source}
        with suppress(ValueError):  # a rejected program, which is shown to be repaired, may have impossible paths
            found = separate_files(source)
            # a program that names, say, .claude/settings.json would give rights to the assistant that repairs it
            files = found if all(path == "" or _is_harmless(path) for path in found) else files
        return {path or f"program{self._suffix}": f"{text.rstrip()}\n" for path, text in files.items()}

    async def _ask(self, text: str, files: Mapping[str, str]) -> Completion | Fault:
        try:
            # not below the run's folder: there assistants would find the journal, and instructions for other work
            folder = Path(tempfile.mkdtemp(prefix=f"behavesim-{self.program}-"))
        except OSError as error:
            return self._fault(f"gets no folder: {error.strerror}", None, is_setup=True)
        mark = uuid4().hex
        try:
            for path, content in {**files, PROMPT_FILE: text}.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(content, encoding="utf-8", errors="replace")
            ended, report = await self._run(text, list(files), folder, mark)
            if not (changed := _changed(folder, files)):
                return self._judge(ended, report)
            # also where the call failed: it is paid for
            is_named = any(f"=== file: {path} ===" in text for path in files)
            said = _reply_with(self._secrets.clean(report.text), changed, is_named)  # cleaned before its idea is cut
            return Completion(self._secrets.clean(said), None, report.usage or Usage())
        except OSError as error:
            return self._fault(f"cannot be started: {error.strerror}", None, is_setup=True)
        finally:  # without await, which a second cancellation would end
            _kill_marked(mark)
            with suppress(RecursionError):  # up to Python 3.12 of folders in folders; the reply is worth more
                shutil.rmtree(folder, ignore_errors=True)

    async def _run(self, text: str, files: Sequence[str], folder: Path, mark: str) -> tuple[Ended | None, Report]:
        """Call the assistant; return how it ended, None if its time was up, and what it says of the call."""
        words = [self.program, *self.words, *self._options]
        words += files if self.takes_files else ()
        command = f"cd {shlex.quote(str(folder))} && exec {shlex.join(words)}"
        given = text if self.reads_input else ""
        is_own = re.compile(self.keys).match
        kept = {name: value for name, value in os.environ.items() if is_own(name) or not is_secret_name(name)}
        try:
            async with self._clock.timeout(self._limit_s):
                ended = await run_shell(command, given, {**kept, _MARK: mark}, lambda: _kill_marked(mark))
        except TimeoutError:
            return None, Report(error=f"gave no reply within {self._limit_s:g} s")
        return ended, self.report(ended.out, folder)

    def _judge(self, ended: Ended | None, report: Report) -> Completion | Fault:
        """Return what the assistant printed as the reply, or why there is none."""
        error = report.error or (how_it_ended(ended) if ended is not None and ended.code else "")
        if not error:
            return Completion(self._secrets.clean(report.text), None, report.usage or Usage())
        if ended is not None and report.error == _NO_RESULT:
            error = f"{error}: it {how_it_ended(ended)}"
        if report.is_used_up:
            return self._fault(error, report.usage, action="give up")
        if _LIMITED.search(error):
            return self._fault(error, report.usage, action="slow down")
        is_absent = ended is not None and ended.code in (126, 127)
        return self._fault(error, report.usage, is_setup=is_absent or bool(_SIGNED_OUT.search(error)))

    def _fault(self, what: str, usage: Usage | None, action: Any = "ask again", is_setup: bool = False) -> Fault:
        hint = f"; sign in: {self.sign_in}" if is_setup and _SIGNED_OUT.search(what) else ""
        # what reports no tokens may have taken some
        may_be_billed = usage is None and not is_setup
        # whole: it is cleaned before it is cut, which could leave a part of a key that no pattern knows
        message = f"{self.program}: {what}{hint}"
        return Fault(action, message, usage, is_setup=is_setup, may_be_billed=may_be_billed)


def _request(files: Sequence[str]) -> str:
    """Return what an assistant is asked besides: to leave its program in the file in place of its reply."""
    which, them = ("the file", "it") if len(files) == 1 else ("the files", "them")
    return (
        f"\n\nYou work in a folder of your own, with the last program above in {which} {', '.join(files)}. Change "
        f"{them} so that your complete program is there; other files are ignored. Your answer is then the idea alone, "
        "without the program.\n"
    )


def _is_harmless(path: str) -> bool:
    """Whether assistants take a file of this name for one of a program, not for settings or instructions."""
    return PLAIN_PATH.fullmatch(path) is not None and Path(path).suffix.lower() not in (".md", ".json", ".yml", ".toml")


def _changed(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of those files of the program that differ from what they were."""
    now = {path: _read_file(folder / path) for path in files}
    return {path: text for path, text in now.items() if text and text.strip() != files[path].strip()}


def _read_file(path: Path) -> str | None:
    """Return a file's text; None if it is none, is too long, or a link: that may lead to a key."""
    try:
        # without blocking: a named pipe would wait for ever
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST_OUTPUT or found.st_nlink > 1:
                return None
            return file.read(LONGEST_OUTPUT).decode(errors="replace")
    except OSError:
        return None


def _reply_with(said: str, changed: Mapping[str, str], is_named: bool) -> str:
    """Return a reply as a model would give it: the idea in braces on one line, then each file in a fenced block."""
    # `is_named`: each file begins with a line that names it, as those of a program of several files do
    idea = re.sub(r"[{}]", "", thought_in(outside(said, blocks(said)))).strip()
    parts = [f"{{{idea}}}"] if idea else []
    for path, text in changed.items():
        with suppress(ValueError):  # it holds a line that begins another file
            parts.append(add_fence(join_files({path: text}) if is_named else text, Path(path).suffix[1:]))
    return "\n\n".join(parts)


def _kill_marked(mark: str) -> None:
    """Kill all processes of a call, also those that left its group. Linux only: elsewhere the group is all."""
    sought = f"{_MARK}={mark}".encode()
    for _ in range(MOST_SWEEPS):  # again until none is left: one may have started another meanwhile
        found = [pid for pid, environment in _environments() if sought in environment.split(b"\0")]
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _environments() -> Iterator[tuple[int, bytes]]:
    """Yield the living processes of this user with their environments."""
    for folder in Path("/proc").iterdir() if sys.platform == "linux" else ():
        if folder.name.isdecimal():
            with suppress(OSError):  # another user's, or it ended; a dead one that nobody waits for has none
                yield int(folder.name), (folder / "environ").read_bytes()


class ClaudeProposer(AssistantProposer):
    """Claude Code (`claude -p`) writes each program, in a folder of its own."""

    program = "claude"
    words = (
        *("-p", "--output-format", "json", "--no-session-persistence", "--strict-mcp-config"),
        *("--tools", "Read,Edit,Write,Glob,Grep", "--permission-mode", "acceptEdits", "--max-turns", "20"),
    )
    keys = r"ANTHROPIC_|CLAUDE_|AWS_"
    install = "npm install -g @anthropic-ai/claude-code"
    sign_in = "claude auth login"
    reads_input = True
    status = ("auth", "status")

    @staticmethod
    def report(out: str, folder: Path) -> Report:
        """Read the one object of `--output-format json`; it counts tokens of the cache beside the others."""
        found = next((each for each in reversed(_objects(out)) if each.get("type") == "result"), None)
        if found is None:
            return Report(error=_NO_RESULT)
        counts = _part(found, "usage")
        fresh, written, read = (
            token_count(counts.get(name))
            for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        )
        usage = Usage(
            prompt=None if fresh is None else fresh + (written or 0) + (read or 0),
            cached=read,
            completion=token_count(counts.get("output_tokens")),
            cache_write=written,
            cost_usd=found.get("total_cost_usd"),
        ).checked()
        kind, text = _text(found, "subtype"), _text(found, "result")
        if not found.get("is_error") and kind in ("success", ""):
            return Report(text, usage)
        status = found.get("api_error_status")
        errors = found.get("errors")
        words = text or "; ".join(map(str, errors if isinstance(errors, list) else ()))
        error = " ".join(str(each) for each in (status, kind if kind != "success" else "", words) if each)
        return Report("", usage, error or "it failed", is_used_up=kind.startswith("error_max_"))


class CodexSettings(AssistantSettings):
    """The settings of Codex, which says no cost."""

    counted_as = "codex"


class CodexProposer(AssistantProposer):
    """Codex (`codex exec`) writes each program, in a folder of its own."""

    settings_type = CodexSettings
    program = "codex"
    words = (
        *("exec", "--json", "--skip-git-repo-check", "--ephemeral", "--color", "never"),
        *("--sandbox", "workspace-write", "-c", 'web_search="disabled"'),
    )
    keys = r"OPENAI_|CODEX_"
    install = "npm install -g @openai/codex"
    sign_in = "codex login"
    reads_input = True
    status = ("login", "status")

    @staticmethod
    def report(out: str, folder: Path) -> Report:
        """Read the events of `exec --json`."""
        text, usage, error = "", None, ""
        for event in _objects(out):
            match event.get("type"):
                case "item.completed" if _part(event, "item").get("type") == "agent_message":
                    text = _text(_part(event, "item"), "text")
                case "turn.completed":
                    counts = _part(event, "usage")
                    usage = Usage(
                        prompt=counts.get("input_tokens"),
                        cached=counts.get("cached_input_tokens"),
                        completion=counts.get("output_tokens"),
                        reasoning=counts.get("reasoning_output_tokens"),
                        cache_write=counts.get("cache_write_input_tokens"),
                    ).checked()
                    error = ""  # an earlier one was of a try that it repeated
                case "turn.failed":
                    error = _text(_part(event, "error"), "message") or "its turn failed"
                case "error":
                    error = _text(event, "message") or "it failed"
        return Report(text, usage, error or ("" if usage or text else _NO_RESULT))


class CopilotSettings(AssistantSettings):
    """The settings of Copilot, which says no cost."""

    counted_as = "copilot"


class CopilotProposer(AssistantProposer):
    """GitHub Copilot (`copilot -p`) writes each program, in a folder of its own."""

    settings_type = CopilotSettings
    program = "copilot"
    words = (
        *("-p", f"Read the file {PROMPT_FILE} in this folder and do what it asks.", "--output-format", "json"),
        *("--allow-tool", "read", "--allow-tool", "write", "--deny-tool", "shell", "--deny-tool", "url"),
        *("--no-ask-user", "--no-custom-instructions", "--disable-builtin-mcps", "--no-auto-update"),
    )
    keys = r"COPILOT_|GH_|GITHUB_"
    install = "npm install -g @github/copilot"
    sign_in = "copilot login"

    @staticmethod
    def report(out: str, folder: Path) -> Report:
        """Read the events of `--output-format json`. It counts tokens of replies alone, and no money."""
        texts, counts, error, result = [""], [], "", None
        for event in _objects(out):
            match event.get("type"):
                case "assistant.message":
                    texts += [text] if (text := _text(_part(event, "data"), "content")) else []
                    counts.append(token_count(_part(event, "data").get("outputTokens")))
                case "result":
                    result = event
                case "session.error":
                    error = _text(_part(event, "data"), "message") or "its session failed"
        known = [count for count in counts if count is not None]
        usage = Usage(completion=sum(known)) if known else None
        if result is None:
            return Report("", usage, error or _NO_RESULT)
        code = result.get("exitCode")
        return Report(texts[-1], usage, (error or f"it says exit code {code}") if code else "")


class AiderProposer(AssistantProposer):
    """aider (`aider --message-file`) writes each program, in a folder of its own."""

    program = "aider"
    words = (
        *("--message-file", PROMPT_FILE, "--yes-always", "--no-git", "--no-suggest-shell-commands", "--no-detect-urls"),
        *("--no-stream", "--no-pretty", "--no-fancy-input", "--no-check-update", "--no-show-release-notes"),
        *("--no-show-model-warnings", "--no-analytics", "--analytics-log", _COUNTS_FILE, "--map-tokens", "0"),
    )
    keys = r".*_API_KEY$|AIDER_|AWS_"
    install = "pip install aider-install && aider-install"
    sign_in = "set the key of a model that it can ask, such as OPENAI_API_KEY"
    takes_files = True

    @staticmethod
    def report(out: str, folder: Path) -> Report:
        """Read the counts that aider wrote to a file, an event for each message; a price that it does not know is 0."""
        events = _objects(_read_file(folder / _COUNTS_FILE) or "")
        sent = [_part(event, "properties") for event in events if event.get("event") == "message_send"]
        if not sent:
            return Report(error=" | ".join(out.strip().splitlines()[-3:]) or _NO_RESULT)
        prompt, completion = (
            sum(token_count(each.get(name)) or 0 for each in sent) for name in ("prompt_tokens", "completion_tokens")
        )
        # around the answer of the model stand aider's own lines
        said = re.split(r"^Tokens: \S+ sent", re.split(r"^Added .+ to the chat\.$", out, flags=re.M)[-1], flags=re.M)[0]
        return Report(
            said, Usage(prompt=prompt, completion=completion, cost_usd=sent[-1].get("total_cost") or None).checked()
        )


# All assistants, in the order in which people are told of them.
ASSISTANTS: tuple[type[AssistantProposer], ...] = (ClaudeProposer, CodexProposer, CopilotProposer, AiderProposer)
