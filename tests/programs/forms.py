"""Forms in which strong and small models really write: what is taken of each, or what its rejection says.

`pick` is asked for, and of (0, [1, 2]) must become 2; what a reply takes back, or only shows, gives 1.
"""

from __future__ import annotations

import json
from textwrap import indent

from tests.programs.replies import BODY, Case, fenced

OLD = BODY.replace("-1", "0")
HELPER = "def score(x, k=1):\n    return k * x"
CALL = json.dumps({"name": "submit", "arguments": {"thought": "Go last.", "code": BODY}})


def harmony(*messages: tuple[str, str]) -> str:
    """Messages in gpt-oss's own format, as it comes where a server does not take it apart."""
    return "<|start|>assistant".join(f"<|channel|>{channel}<|message|>{text}<|end|>" for channel, text in messages)


def named(name: str, result: str) -> str:
    return f"def {name}(current, nodes, distances):\n    return {result}"


TAKEN = {
    # other functions beside the one that is asked for
    "an entry point that calls the new version": Case(
        fenced(f"{named('pick_v2', 'nodes[-1]')}\n\n{named('pick', 'pick_v2(current, nodes, distances)')}")
    ),
    "an entry point above the version that it calls": Case(
        fenced(f"{named('pick', 'pick_v2(current, nodes, distances)')}\n\n{named('pick_v2', 'nodes[-1]')}")
    ),
    "an entry point made of a version": Case(fenced(f"{OLD}\n\n{named('pick_v2', 'nodes[-1]')}\n\npick = pick_v2")),
    "a version that takes other arguments": Case(fenced(f"{BODY}\n\ndef pick_v2(x):\n    return x")),
    "helpers that begin like the entry point": Case(
        fenced(f"{BODY}\n\n{named('pick_nearest', 'nodes[0]')}\n\n{named('_pick_all', 'nodes')}")
    ),
    "a wrapped entry point": Case(fenced(f"import functools\n\n{BODY}\n\npick = functools.partial(pick)")),
    "overloads": Case(
        fenced(f"from typing import overload\n\n@overload\ndef pick(current: int, nodes, distances): ...\n\n{BODY}")
    ),
    # statements below the function
    "an example below": Case(fenced(f"{BODY}\n\n# Example\nprint(pick(0, [1, 2], None))")),
    "an example in a guard": Case(fenced(f"{BODY}\n\nif __name__ == '__main__':\n    pick(0, [], None)")),
    "what is computed below for the function": Case(
        fenced("def pick(a, b, c):\n    return TABLE[a]\n\ndef build():\n    return [2, 3]\n\nTABLE = build()")
    ),
    "what is computed by the function for itself": Case(
        fenced("TABLE = {}\n\ndef pick(a, b, c):\n    return TABLE.get(a, 2)\n\nTABLE[1] = pick(0, None, None)")
    ),
    # code that was wrapped
    "JSON": Case(json.dumps({"thought": "Go last.", "code": BODY})),
    "JSON in a fenced block": Case(f"Here:\n{fenced(json.dumps({'code': BODY}, indent=2), 'json')}\nDone."),
    "JSON whose code is fenced": Case(json.dumps({"answer": f"So:\n{fenced(BODY)}"})),
    "JSON with line breaks in its strings": Case('{"code": "' + BODY + '"}'),
    "the call of a tool": Case(f"<tool_call>\n{CALL}\n</tool_call>"),
    "the call of a tool behind prose": Case(f"I call the tool.\n\n{CALL}"),
    "the call of a tool whose arguments are JSON": Case(
        json.dumps([{"name": "f", "arguments": json.dumps({"code": BODY})}])
    ),
    "the call of a tool in tags": Case(
        f"<tool_call>\n<function=submit>\n<parameter=code>\n{BODY}\n</parameter>\n</function>\n</tool_call>"
    ),
    "a draft, then the call of a tool": Case(f"{fenced(OLD)}\nNo:\n{CALL}"),
    "tags around it": Case(f"<answer>\n{BODY}\n</answer>"),
    "brackets around it": Case(f"[PYTHON]\n{BODY}\n[/PYTHON]"),
    "quotes for a fence": Case(f"'''python\n{BODY}\n'''"),
    "a block of LaTeX": Case(f"\\begin{{verbatim}}\n{BODY}\n\\end{{verbatim}}"),
    "a list, then a block": Case(f"- **Idea:** the last\n- *Why*: it is free\n\n{fenced(BODY)}"),
    "a page's button above the code": Case(f"python\nCopy code\n{BODY}"),
    "a block with a file's name": Case(f"```python:pick.py\n{BODY}\n```"),
    "prose behind the code, within its block": Case(fenced(f"{BODY}\n\nThis goes to the last node. It's fast.")),
    "a fence that only closes, since the prompt opened it": Case(f"{BODY}\n```\nThis goes to the last node."),
    "code without a fence below a command": Case(f"{fenced('pip install numpy', 'bash')}\n{BODY}"),
    # thoughts and channels
    "channels": Case(harmony(("analysis", f"Perhaps\n{fenced(OLD)}"), ("final", fenced(BODY)))),
    "channels, the first of which began in the prompt": Case(
        harmony(("analysis", fenced(OLD)), ("final", fenced(BODY))).removeprefix("<|channel|>analysis<|message|>")
    ),
    "a channel that ends the reply": Case(
        harmony(("analysis", "Hm."), ("final", fenced(BODY))).replace("<|end|>", "<|return|>")
    ),
    "a channel for a tool": Case(
        harmony(("analysis", fenced(OLD)), ("commentary to=functions.submit <|constrain|>json", CALL))
    ),
    "thoughts between tokens": Case(f"<|START_THINKING|>{fenced(OLD)}<|END_THINKING|>{fenced(BODY)}"),
    "thoughts that are the whole reply": Case(f"<think>Perhaps\n{fenced(OLD)}\nor rather\n{fenced(BODY)}"),
    "a token behind the block": Case(f"{fenced(BODY)}<|im_end|>"),
    "a token before the code": Case(f"<|python_tag|>{BODY}<|eom_id|>"),
    "an end of sentence": Case(f"{fenced(BODY)}</s>"),
    # a name of its own
    "a function of another name": Case(fenced(named("choose_next", "nodes[-1]"))),
    "a function of another name that calls itself": Case(
        fenced("é = 1\n" + named("again", "nodes[-1] if nodes else again(current, [1], distances)"))
    ),
    # types that nobody imported
    "types that nobody imported": Case(
        fenced("def pick(a: int, b: List[int], c: Optional[NDArray]) -> Tuple[int, ...] | Any:\n    return b[-1]")
    ),
    "libraries that nobody imported": Case(fenced("def pick(a, b, c):\n    return deque(b)[-1] + math.floor(0.5)")),
    # cut off, but whole
    "cut off in the prose behind": Case(f"{fenced(BODY)}\nIt is better since", finish_reason="MAX_TOKENS"),
}

REFUSED = {
    "another name and other parameters": Case(
        fenced("def choose_next(a, b, c):\n    return b"),
        "no-function",
        says="no function 'pick' is defined at module level",
    ),
    "another name in each of two blocks": Case(
        f"{fenced(named('pick_v1', 'nodes'))}\n{fenced(named('pick_v2', 'nodes'))}", "no-function", says="'pick'"
    ),
    "another name, cut off": Case(
        f"{fenced(named('pick_v2', 'nodes'))}\nAnd", "truncated", finish_reason="length", says="limit of tokens"
    ),
    "part of a diff": Case(fenced("@@ -7 +7 @@\n-    return best\n+    return nodes[-1]", "diff"), "syntax"),
    "a class with a method": Case(
        fenced(f"class Heuristic:\n{indent(named('pick', '1').replace('(', '(self, ', 1), '    ')}"),
        "no-function",
        says="it is a method of the class 'Heuristic'",
    ),
    "a coroutine": Case(fenced(f"async {BODY}"), "signature", says="pick: it is a coroutine; write a plain function"),
    "a helper that is no Python below": Case(
        fenced(f"{BODY}\n\ndef score(x):\n    return x +"), "syntax", says="line 5: invalid syntax"
    ),
    "the body alone": Case(fenced("best = nodes[-1]\nreturn best"), "syntax", says="'return' outside function"),
    "cut off in a later block": Case(
        f"{fenced(OLD)}\n```python\ndef pick(a, b, c):", "truncated", finish_reason="length", says="limit of tokens"
    ),
    "cut off in the imports of a later block": Case(
        f"{fenced(OLD)}\nBetter:\n```python\nimport math\n", "truncated", finish_reason="max_tokens"
    ),
    "cut off behind a helper": Case(f"{fenced(HELPER)}\nAnd then", "truncated", finish_reason="length"),
    "cut off, as another endpoint says it": Case(f"```python\n{OLD}", "truncated", finish_reason="model_length"),
    "left off in a later block without a word of why": Case(
        f"{fenced(OLD)}\n```python\ndef pick(a, b, c):\n    return max(b, key=lambda", "syntax", finish_reason=None
    ),
    "JSON cut off": Case(CALL[:-20], "truncated", finish_reason="length"),
    "a thought cut off behind a draft": Case(f"<think>{fenced(OLD)}", "truncated", finish_reason="length"),
}
