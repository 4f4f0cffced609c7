"""Changes to a program's text that LLM4AD's evaluators ask for before it is run."""

from __future__ import annotations

import ast

from behavesim.base.syntax import parsed

_PROTECTED = "_protected_div"


def accelerated(source: str, name: str) -> str:
    """Return the program with `@numba.jit(nopython=True)` on each function of this name, and numba imported."""
    tree, compiled = parsed(source), parsed("numba.jit(nopython=True)")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            node.decorator_list += [each.value for each in compiled.body if isinstance(each, ast.Expr)]
    return _importing(tree, "import numba")


def without_zero_division(source: str, delta: float, is_accelerated: bool) -> str:
    """Return the program with each x / y replaced by a call that returns x / (y + delta), but not `x /= y`.

    `is_accelerated` compiles the called function with numba.
    """
    divided = ast.unparse(ast.fix_missing_locations(_Division().visit(parsed(source))))
    defined = f"\n\ndef {_PROTECTED}(x, y, delta={delta}):\n    return x / (y + delta)\n"
    return accelerated(divided + defined, _PROTECTED) if is_accelerated else divided + defined


def seeded(source: str, name: str, seed: int) -> str:
    """Return the program with numpy's global generator (as `np`) seeded first in each top-level function `name`."""
    tree = parsed(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            node.body.insert(0, parsed(f"np.random.seed({seed})").body[0])
    return ast.unparse(tree)


class _Division(ast.NodeTransformer):
    """Replaces each x / y in a syntax tree by a call of the protected division."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.Call(ast.Name(_PROTECTED, ast.Load()), [node.left, node.right], [])


def _importing(tree: ast.Module, statement: str) -> str:
    is_future = [isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body]
    last = max((place for place, found in enumerate(is_future) if found), default=-1)
    tree.body.insert(last + 1, parsed(statement).body[0])
    return ast.unparse(ast.fix_missing_locations(tree))
