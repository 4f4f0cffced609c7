"""Replies as models write them, each with what must become of it."""

from __future__ import annotations

from dataclasses import dataclass

from behavesim.programs.reading import FunctionForm

TEMPLATE = '''import numpy as np

SCALE = 2.0


def weigh(x):
    return x * SCALE


def pick(current: int, nodes: np.ndarray, distances: np.ndarray) -> int:
    """The next node to visit."""
    return nodes[0]
'''

TABS = "\tx = 1\n\tif x:\n\t\t\t\t\t\t\t\tx = 2\n"

PICK = FunctionForm(TEMPLATE, "pick")

BODY = "def pick(current, nodes, distances):\n    return nodes[-1]"


@dataclass(frozen=True)
class Case:
    """A reply, and why it is rejected; '' where it holds a program, which then returns `gives` for (0, [1, 2]).

    A rejection's message holds `says`.
    """

    text: str
    reason: str = ""
    gives: object = 2
    finish_reason: str | None = "stop"
    says: str = ""


def fenced(code: str, label: str = "python") -> str:
    return f"```{label}\n{code}\n```"


def both(*parts: str) -> str:
    return "\nThen:\n".join(parts)


ACCEPTED = {
    "one fenced block": Case(fenced(BODY)),
    "no label": Case(fenced(BODY, "")),
    "label py": Case(fenced(BODY, "py")),
    "label Python3 in capitals": Case(fenced(BODY, "Python3")),
    "label with attributes": Case(fenced(BODY, "python title=pick.py")),
    "another label altogether": Case(fenced(BODY, "text")),
    "tilde fence": Case(f"~~~python\n{BODY}\n~~~"),
    "four backticks": Case(f"````python\n{BODY}\n````"),
    "prose around": Case(f"Sure! Here it is:\n\n{fenced(BODY)}\n\nIt's better because it isn't worse."),
    "unclosed": Case(f"```python\n{BODY}"),
    "unclosed with prose behind": Case(f"```python\n{BODY}\n\nThis isn't code, it's prose."),
    "opened behind a sentence": Case(f"The code: ```python\n{BODY}\n```"),
    "indented as in a list": Case(
        "1. So:\n\n   ```python\n" + BODY.replace("def", "   def").replace("    r", "       r") + "\n   ```"
    ),
    "a whole block with a margin": Case(fenced("    " + BODY.replace("\n", "\n    "))),
    "no fence": Case(BODY),
    "no fence, prose before and behind": Case(f"I'd do it so.\n\n{BODY}\n\nThat's all, isn't it?"),
    "no fence, imports and helper": Case(
        "Improved version:\nimport math\n\nLIMIT = 2\n\ndef cap(x):\n    return min(x, LIMIT)\n\n"
        "def pick(current, nodes, distances):\n    return math.floor(cap(9))\nHope it helps!"
    ),
    "no fence, prose that begins like an import": Case(f"import the following function and use it\n{BODY}"),
    "the last of several": Case(f"{fenced(BODY.replace('-1', '0'))}\nBetter still:\n{fenced(BODY)}"),
    "a block of usage after it": Case(f"{fenced(BODY)}\nUse it:\n{fenced('pick(0, [1, 2], None)')}"),
    "a shell block before it": Case(f"{fenced('pip install numpy', 'bash')}\n{fenced(BODY)}"),
    "a shell block after it": Case(f"{fenced(BODY)}\n{fenced('python main.py', 'bash')}"),
    "output after it": Case(f"{fenced(BODY)}\nOutput:\n{fenced('2', '')}"),
    "a later block with the wrong signature": Case(both(fenced(BODY), fenced("def pick(a):\n    return a"))),
    "a later block with a syntax error": Case(both(fenced(BODY), fenced("def pick(a, b, c):\n    return ("))),
    "imports in a block of their own": Case(
        both(fenced("import math"), fenced("def pick(a, b, c):\n    return math.floor(2.5)"))
    ),
    "the template's import left out": Case(
        fenced("def pick(current, nodes, distances):\n    return int(np.max(nodes))")
    ),
    "imports and helpers kept": Case(
        fenced(f"import math\nfrom math import floor as f\n\ndef g(x):\n    return f(x)\n\n{BODY}")
    ),
    "future import with something missing": Case(
        fenced("from __future__ import annotations\n\ndef pick(a, b: Missing, c):\n    return np.max(b)")
    ),
    "other names for the parameters": Case(fenced("def pick(a, b, c):\n    return b[-1]")),
    "more parameters, with defaults": Case(fenced("def pick(a, b, c, *, k=2, **rest):\n    return k")),
    "star arguments": Case(fenced("def pick(*args):\n    return args[1][-1]")),
    "a lambda": Case(fenced("pick = lambda current, nodes, distances: nodes[-1]")),
    "an alias": Case(fenced(BODY.replace("pick", "improved") + "\n\npick = improved")),
    "defined twice": Case(fenced(BODY.replace("-1", "0") + "\n\n" + BODY)),
    "a class beside it": Case(
        fenced("class State:\n    def pick(self):\n        return 2\n\ndef pick(a, b, c):\n    return State().pick()")
    ),
    "decorated": Case(
        fenced(
            "import functools\n\ndef same(f):\n"
            "    @functools.wraps(f)\n    def g(*a):\n        return f(*a)\n    return g\n"
            f"\n@same\n{BODY}"
        )
    ),
    "a main guard": Case(fenced(f'{BODY}\n\nif __name__ == "__main__":\n    print(pick(0, [1], None))')),
    "a main guard in the middle": Case(fenced(f"x = 1\nif __name__ == '__main__':\n    x = 2\n\n{BODY}")),
    "inside try": Case(
        fenced(f"try:\n    import nothing_of_the_kind\nexcept ImportError:\n    nothing = None\n{BODY}")
    ),
    "windows line ends": Case(fenced(BODY).replace("\n", "\r\n")),
    "old mac line ends": Case(fenced(BODY).replace("\n", "\r")),
    "a byte-order mark": Case("\ufeff" + fenced("\ufeff" + BODY)),
    "non-breaking spaces": Case(fenced(BODY.replace("    ", "\u00a0\u00a0\u00a0\u00a0"))),
    "tabs": Case(fenced(BODY.replace("    ", "\t"))),
    "thinking aloud": Case(f"<think>Perhaps\n{fenced(BODY.replace('-1', '0'))}\nno.</think>\n{fenced(BODY)}"),
    "thinking begun in the prompt": Case(f"hm, {fenced(BODY.replace('-1', '0'))}\n</think>\n\n{fenced(BODY)}"),
    "thinking that leaves a block open": Case(
        f"hm:\n```python\n{BODY.replace('-1', '0')}\nno, rather</think>\n{fenced(BODY)}"
    ),
    "thinking in capitals": Case(f"<THINKING>def pick(</THINKING>{fenced(BODY)}"),
    "a fence in a docstring": Case(
        fenced('def pick(a, b, c):\n    """Do\n\n    ```py\n    pick(0, [1], None)\n    ```\n    """\n    return b[-1]')
    ),
    "an unknown escape in a string": Case(fenced("def pick(a, b, c):\n    '\\d'\n    return b[-1]")),
    "cut off behind a whole block": Case(f"{fenced(BODY)}\nAnd then", finish_reason="length"),
    "no finish reason": Case(fenced(BODY), finish_reason=None),
}

REJECTED = {
    "nothing": Case("", "empty"),
    "white space": Case(" \n\t\r\n", "empty"),
    "thought only": Case("<think>I should write code</think>", "no-function"),
    "thought never ended": Case("<think>I should write code", "no-function"),
    "nothing, cut off": Case("", "truncated", finish_reason="length"),
    "thought cut off": Case("<think>I should write", "truncated", finish_reason="length"),
    "block cut off": Case("```python\ndef pick(a, b, c):\n    x = 1", "truncated", finish_reason="length"),
    "fence-less and cut off": Case(BODY, "truncated", finish_reason="length"),
    "an apology": Case("I'm sorry, but I can't help with that.", "refusal"),
    "a refusal": Case("As an AI language model, I am unable to write this.", "refusal"),
    "content filter": Case("", "refusal", finish_reason="content_filter"),
    "content filter in a block": Case(
        "```python\ndef pick(a, b, c):\n    x", "refusal", finish_reason="content_filter"
    ),
    "prose": Case("One could always go to the nearest node.", "no-function"),
    "only a call": Case(fenced("print(pick(0, [1], None))"), "no-function"),
    "only imports": Case(fenced("import numpy as np"), "no-function"),
    "an empty block": Case(fenced(""), "no-function"),
    "two functions of other names": Case(
        fenced("def one(a, b, c):\n    return a\n\ndef two(a, b, c):\n    return b"), "no-function"
    ),
    "a wrapper of what it should define": Case(fenced("def better(a, b, c):\n    return pick(a, b, c)"), "no-function"),
    "inside a class": Case(fenced("class S:\n    def pick(self, a, b, c):\n        return b"), "no-function"),
    "another language": Case(fenced("function pick(a, b, c) { return b[0]; }", "js"), "syntax"),
    "too few parameters": Case(fenced("def pick(a, b):\n    return a"), "signature"),
    "too many parameters": Case(fenced("def pick(a, b, c, d):\n    return a"), "signature"),
    "parameters in another order": Case(fenced("def pick(nodes, current, distances):\n    return nodes"), "signature"),
    "a keyword argument that nobody gives": Case(fenced("def pick(a, b, c, *, d):\n    return a"), "signature"),
    "a coroutine": Case(fenced("async def pick(a, b, c):\n    return a"), "signature"),
    "a bracket never closed": Case(fenced("def pick(a, b, c):\n    return (b"), "syntax"),
    "no fence and a syntax error": Case("def pick(a, b, c):\n    return (b\n\nThat's it.", "syntax"),
    "bad indentation": Case(fenced("def pick(a, b, c):\nreturn b"), "syntax"),
    "a null character": Case(fenced("def pick(a, b, c):\n    return '\0'"), "syntax"),
    "a lone surrogate": Case(fenced("def pick(a, b, c):\n    return '\ud800'"), "syntax"),
    "return outside": Case(fenced("return 1"), "syntax"),
    "nested without end": Case(fenced(f"def pick(a, b, c):\n    return {'(' * 500}a{')' * 500}"), "syntax"),
    "a sum without end": Case(fenced(f"def pick(a, b, c):\n    return a{' + a' * 200}"), "syntax"),
    "branches without end": Case(fenced("if True:\n    x = 1\n" + "elif x:\n    pass\n" * 200 + BODY), "syntax"),
    "a program too long for a prompt": Case(fenced(BODY + "\n# and so on" * 3000), "too-long"),
    "a program too long without its tabs": Case(fenced(f"def pick(a, b, c):\n{TABS * 900}    return b"), "syntax"),
    "a program without a fence that is too long": Case(BODY + "\nx = 1" * 6000, "too-long"),
    "a finally in each finally": Case(
        fenced(BODY + "".join(f"\n{' ' * k}try: pass\n{' ' * k}finally:" for k in range(19)) + " pass"), "too-complex"
    ),
    "a reply too long to be read": Case("so " * 200_000 + fenced(BODY), "too-long"),
    "a number without end": Case(fenced(f"def pick(a, b, c):\n    return {'9' * 6000}"), "syntax"),
}

HOSTILE = {
    "prose": "It is so. " * 45_000,
    "letters": "a" * 450_000,
    "spaces behind a colon": "a:" + " " * 450_000,
    "lines of spaces": (" " * 1000 + "\n") * 450 + "def pick(",
    "words in a brace never closed": "{" + "a " * 200_000 + "\n" + fenced(BODY),
    "braces": "{a b" * 90_000 + fenced(BODY),
    "backticks": "`" * 450_000,
    "fences": "```\n" * 110_000,
    "blocks": (fenced("def pick(a, b, c):\n    return x") + "\n") * 9000,
    "blocks of other names": "\n".join(fenced(f"def f{k}(a):\n    return f{k + 1}(a)") for k in range(9000)),
    "tags": "<think>" * 60_000,
    "other tags closed": "<think></thought>" * 25_000 + fenced(BODY),
    "functions that need one another": both(
        fenced("\n".join(f"def f{k}(a):\n    return f{k + 1}(a)" for k in range(700))),
        fenced("def pick(a, b, c):\n    return f0(b)"),
    ),
    "statements": fenced(BODY + "\n" + "a;" * 14_000),
    "decorators": fenced("@f\n" * 9000 + BODY),
    "indents": fenced("def pick(a,b,c):\n" + "".join("\t  " * (1 + k % 3) + "x=1\n" for k in range(3000))),
    "code that ends in prose": "\n".join(f"x{k} = {k}" for k in range(2500)) + "\nthis is no code",
    "brackets": fenced("def pick(a, b, c):\n    return " + "(" * 14_000),
    "minuses": fenced("def pick(a, b, c):\n    return " + "-" * 29_000 + "1"),
    "attributes": fenced("def pick(a, b, c):\n    return a" + ".a" * 14_000),
    "quotes": fenced("def pick(a, b, c):\n    return " + "'" * 29_000),
    "nested strings": fenced("def pick(a, b, c):\n    return " + "f'{" * 9000),
}
"""Replies that take time in proportion to the square of their length, or more, where reading is not done with care."""
