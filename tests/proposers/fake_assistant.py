"""Speaks as claude, codex, copilot or aider does, by the name it is called by; FAKE says what it does."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

NAME, DEED = Path(sys.argv[0]).name, os.environ.get("FAKE", "edits")
PROGRAM = next((path for path in Path().glob("program.*")), Path("program.py"))
FILES = [str(path) for path in Path().rglob("*")]
PROMPT = sys.stdin.read() if NAME in ("claude", "codex") else Path("prompt.md").read_text()
Path(os.environ["FAKE_LOG"], f"{NAME}-{os.getpid()}").write_text(
    json.dumps(
        {
            "arguments": sys.argv[1:],
            "files": FILES,
            "folder": str(Path.cwd()),
            "environment": dict(os.environ),
            "prompt": PROMPT,
        }
    )
)


def leave(*words: str) -> None:
    """Leave a process that has a session of its own and holds the outputs open."""
    left = subprocess.Popen(words, start_new_session=True)
    Path(os.environ["FAKE_LOG"], "left").write_text(str(left.pid))


def say(*, text: str = "", error: str = "", kind: str = "", status: int | None = None) -> None:
    """Write what the assistant writes at its end: its last message and its counts, or its error."""
    failed = bool(error)
    match NAME:
        case "claude":
            counts = {
                "input_tokens": 10,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 30,
                "output_tokens": 40,
            }
            found = {"type": "result", "subtype": kind or "success", "is_error": failed}
            found |= {"errors": [error]} if kind else {"result": error or text}
            found |= {"api_error_status": status, "num_turns": 2}
            found |= {"total_cost_usd": 0.25, "usage": counts} if not failed or kind else {}
            print(json.dumps(found))
        case "codex":
            print(json.dumps({"type": "thread.started", "thread_id": "t"}))
            if failed:
                print(json.dumps({"type": "error", "message": error}))
                print(json.dumps({"type": "turn.failed", "error": {"message": error}}))
            else:
                item = {"id": "item_1", "type": "agent_message", "text": text}
                print(json.dumps({"type": "item.completed", "item": item}))
                counts = {"input_tokens": 60, "cached_input_tokens": 30, "output_tokens": 40}
                print(json.dumps({"type": "turn.completed", "usage": counts}))
        case "copilot":
            data = {"content": "", "outputTokens": 15, "toolRequests": [{"name": "edit"}]}
            print(json.dumps({"type": "assistant.message", "data": data}))
            if failed:
                print(json.dumps({"type": "session.error", "data": {"message": error}}))
                print(json.dumps({"type": "result", "exitCode": 1, "usage": {"premiumRequests": 1}}))
            else:
                data = {"content": text, "outputTokens": 25}
                print(json.dumps({"type": "assistant.message", "data": data}))
                print(json.dumps({"type": "result", "exitCode": 0, "usage": {"premiumRequests": 1}}))
        case "aider":
            print("Aider v0.86.2\nGit repo: none\nAdded program.py to the chat.\n")
            print(error or f"{text}\n\nTokens: 60 sent, 40 received. Cost: $0.25 message, $0.25 session.")
            counts = {"prompt_tokens": 30, "completion_tokens": 20, "cost": 0.125}
            log = Path(sys.argv[sys.argv.index("--analytics-log") + 1])
            for total in () if failed else (0.125, 0.25):
                event = {"event": "message_send", "properties": {**counts, "total_cost": total}}
                log.write_text((log.read_text() if log.exists() else "") + json.dumps(event) + "\n")


match DEED:
    case "edits":
        PROGRAM.write_text(PROGRAM.read_text().replace("return x", "return x + 1"))
        say(text="Adds one to the number.")
    case "prints":
        say(text="{Two is more.}\n```python\ndef f(x):\n    return x + 2\n```")
    case "signed-out":
        say(error="Invalid API key · Please run /login")
        sys.exit(1)
    case "limited":
        say(error="You've hit your usage limit; try again at 5 pm", status=429)
        sys.exit(1)
    case "used-up":
        say(error="Reached the maximum number of turns", kind="error_max_turns")
        sys.exit(1)
    case "used-up after its edit":
        PROGRAM.write_text("def f(x):\n    return x + 3\n")
        say(error="Reached the maximum number of turns", kind="error_max_turns")
        sys.exit(1)
    case "fails once":
        tried = Path(os.environ["FAKE_LOG"], "tried")
        if not tried.exists():
            tried.touch()
            sys.exit("Segmentation fault")
        say(text="def f(x): return 4")
    case "writes without end":
        for _ in range(6):
            sys.stdout.write('{"type": "noise", "data": "' + "x" * 2**20 + '"}\n')
        PROGRAM.write_text("def f(x):\n    return x + 5\n")
        say(text="Much ado.")
    case "hangs":
        leave("sleep", "1000")
        time.sleep(1000)
    case "edits and hangs":
        PROGRAM.write_text("def f(x):\n    return x + 6\n")
        time.sleep(1000)
    case "leaves a process":
        leave("sleep", "1000")
        say(text="def f(x): return 7")
    case "leaves a process without its variables":
        leave("env", "-i", "sleep", "1000")
        say(text="def f(x): return 7")
    case "says its key at its end":
        PROGRAM.write_text("def f(x):\n    return 9\n")
        say(text="y" * 980 + os.environ["ANTHROPIC_API_KEY"])
    case "fails with its key in its words":
        say(error="y" * 480 + os.environ["ANTHROPIC_API_KEY"])
    case "leaves folders in folders":
        for _ in range(2000):
            Path("d").mkdir()
            os.chdir("d")
        say(text="def f(x): return 10")
    case "changes files outside":
        Path("../outside.txt").resolve().write_text("x")
        Path("other.py").write_text("x = 1\n")
        PROGRAM.unlink()
        PROGRAM.symlink_to(os.environ["FAKE_LOG"] + "/key")
        say(text="def f(x): return 8")
