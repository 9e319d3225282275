"""No function takes so many arguments that only their order says what they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import privtrace

ROOT = Path(privtrace.__file__).parent

#: Arguments at most, keyword-only ones and the object itself aside.
MOST = 8


def crowded(text: str) -> Iterator[str]:
    """Name the functions that take more than MOST arguments by position."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            if len(names) - (names[:1] in (["self"], ["cls"])) > MOST:
                yield node.name


def test_functions_take_few_arguments_by_position() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): names
        for path in ROOT.rglob("*.py")
        if (names := {*crowded(path.read_text())})
    }
    assert not found, "group what belongs together in a NamedTuple"


def test_a_function_with_too_many_is_found() -> None:
    few, many = (", ".join(f"a{n}" for n in range(count)) for count in (MOST, MOST + 1))
    assert [*crowded(f"def f(self, {few}, *, one, two): ...")] == []
    assert [*crowded(f"def g({many}): ...\nclass C:\n    async def h(self, {many}): ...")] == ["g", "h"]
