"""Draws texts from a grammar in llama.cpp's notation, as a model that is held to it could write them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\w+|\{\d+,\d+\}|[()|?]')
Rules = Mapping[str, list[str]]


def rules_of(grammar: str) -> Rules:
    """Return the tokens of each rule by its name."""
    lines = (line.split(" ::= ", 1) for line in grammar.splitlines())
    return {name: _TOKEN.findall(body) for name, body in lines}


def drawn(rules: Rules, rng: random.Random, name: str = "root") -> str:
    """Return a text that the rule allows, every choice by chance."""
    text, end = _any(rules, rules[name], 0, rng)
    assert end == len(rules[name]), f"{name} cannot be read behind {rules[name][end]}"
    return text


def _any(rules: Rules, tokens: list[str], at: int, rng: random.Random) -> tuple[str, int]:
    ways = []
    while True:
        parts = []
        while at < len(tokens) and tokens[at] not in "|)":
            part, at = _item(tokens, at)
            parts.append(part)
        ways.append(parts)
        if at == len(tokens) or tokens[at] == ")":
            break
        at += 1
    return "".join(_text(rules, tokens, part, rng) for part in rng.choice(ways)), at


def _item(tokens: list[str], at: int) -> tuple[tuple[int, int, int], int]:
    """Return where an item begins, and how often it may stand; and where the next begins."""
    begin, depth = at, 0
    while True:
        depth += {"(": 1, ")": -1}.get(tokens[at], 0)
        at += 1
        if not depth:
            break
    again = tokens[at] if at < len(tokens) else ""
    if again == "?":
        return (begin, 0, 1), at + 1
    if again.startswith("{"):
        least, most = map(int, again[1:-1].split(","))
        return (begin, least, most), at + 1
    return (begin, 1, 1), at


def _text(rules: Rules, tokens: list[str], item: tuple[int, int, int], rng: random.Random) -> str:
    begin, least, most = item
    count = rng.randint(least, most) if rng.random() < 0.4 else least  # else most texts are endless
    return "".join(_once(rules, tokens, begin, rng) for _ in range(count))


def _once(rules: Rules, tokens: list[str], at: int, rng: random.Random) -> str:
    token = tokens[at]
    if token == "(":
        return _any(rules, tokens, at + 1, rng)[0]
    if token.startswith('"'):
        return str(json.loads(token))
    if token.startswith("["):
        ranges = re.sub(r"(.)-(.)", lambda m: "".join(map(chr, range(ord(m[1]), ord(m[2]) + 1))), token[1:-1])
        return rng.choice(ranges)
    return drawn(rules, rng, token)
