"""Which function of a program is the one that a task asks for: by its name, else by the way it can be called."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from behavesim.programs.definitions import identifiers, missing_names, module_statements, names_in
from behavesim.programs.parsing import Parsed, parse, without
from behavesim.programs.signatures import Arguments, callables, complaint, positional
from behavesim.programs.usage import without_usage
from behavesim.state.verdict import Failure

_NEWER = r"(?:v?\d+|new(?:er)?|improved|better|optimi[sz]ed|enhanced|revised|updated|refined|modified|fixed|final)"


@dataclass(frozen=True)
class EntryPoint:
    """The function that a task asks for: its name, and the arguments it is called with."""

    name: str
    arguments: ast.arguments

    @cached_property
    def _versions(self) -> re.Pattern[str]:
        """The names of the function, and of an improved one beside which a model leaves the old one standing."""
        return re.compile(rf"_?(?:{_NEWER}_)*{re.escape(self.name)}(?:_?{_NEWER})*", re.IGNORECASE)

    def named(self, program: Parsed) -> Parsed | Failure:
        """The program, if it defines the entry point or a newer version of it, which is then called as it is.

        Of several versions the last is meant that no other definition uses. Raises SyntaxError where the renamed
        program is none.
        """
        functions = callables(program.tree.body)
        versions = [name for name in functions if self._versions.fullmatch(name)]
        fitting = [name for name in versions if not complaint(functions[name], self.arguments)]
        if not versions:
            return self._missing(program)
        if not fitting:
            return self._misfit(functions, self.name if self.name in versions else versions[-1])
        program = without_usage(program, versions)
        if versions == [self.name]:
            return program
        used = _used(program)
        meant = ([name for name in fitting if name not in used] or fitting)[-1]
        older = [name for name in versions if name != meant and name not in used]
        return self._renamed(_without_functions(program, older), meant)

    def alike(self, program: Parsed, used_elsewhere: Set[str]) -> Parsed | Failure:
        """The program with the one function called as the entry point is that can stand for it under another name.

        It takes the right arguments, under the template's names where several do, and no other function uses it, be it
        in this program or `used_elsewhere`. Raises SyntaxError as `named` does.
        """
        functions = callables(program.tree.body)
        fitting = [name for name in functions if not complaint(functions[name], self.arguments)]
        if not fitting and len(functions) == 1:
            return self._misfit(functions, *functions)
        program = without_usage(program, fitting)
        free = [name for name in fitting if name not in _used(program) | used_elsewhere]
        meant = [name for name in free if self._has_same_names(functions[name])] or free
        return self._renamed(program, meant[0]) if len(meant) == 1 else self._missing(program, meant)

    def _has_same_names(self, found: Arguments) -> bool:
        return isinstance(found, ast.arguments) and positional(found) == positional(self.arguments)

    def _renamed(self, program: Parsed, name: str) -> Parsed | Failure:
        """The program with a function called as the entry point is, and what was called so by another name."""
        if name == self.name:
            return program
        if self.name in missing_names(program.source):
            return Failure("no-function", f"{name!r} uses the {self.name!r} that it should replace"[:500])
        taken = identifiers(program.tree)
        names = {name: self.name}
        if self.name in taken:
            names[self.name] = next(free for n in count(1) if (free := f"{self.name}_{n}") not in taken)
        pattern = rf"(?<![\w.])(?:{'|'.join(map(re.escape, names))})(?!\w)"
        return parse(re.sub(pattern, lambda found: names[found[0]], program.source))

    def _misfit(self, functions: Mapping[str, Arguments], name: str) -> Failure:
        return Failure("signature", f"{name}: {complaint(functions[name], self.arguments)}"[:500])

    def _missing(self, program: Parsed, candidates: Collection[str] = ()) -> Failure:
        said = f"no function {self.name!r} is defined at module level"
        if candidates:
            said += f"; it is not clear which of {', '.join(candidates)} is meant"
        elif (place := _class_with(program, self.name)) is not None:
            said += f"; it is a method of the class {place!r}"
        return Failure("no-function", said[:500])


def _used(program: Parsed) -> set[str]:
    """The names that a statement of the module mentions and does not itself define."""
    used: set[str] = set()
    for statement in program.tree.body:
        used |= names_in(statement) - {*callables([statement])}
    return used


def _without_functions(program: Parsed, names: Collection[str]) -> Parsed:
    nodes = [node for node in program.tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    return without(program, nodes)


def _class_with(program: Parsed, method: str) -> str | None:
    for node in module_statements(program.tree.body):
        if isinstance(node, ast.ClassDef) and method in callables(node.body):
            return node.name
    return None
