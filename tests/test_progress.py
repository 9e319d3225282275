"""Progress says how far work is and how long it will take, where somebody watches."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from privtrace import progress


@pytest.mark.parametrize(
    ("done", "total", "elapsed_s", "expected"),
    [
        (0, 90, 5.0, "Comparing"),
        (5, None, 5.0, "Comparing"),
        (30, 90, 60.0, "Comparing: 30 of 90, about 2 min left"),
        (30, 90, 50.0, "Comparing: 30 of 90, about 100 s left"),
        (1, 1001, 30.0, "Comparing: 1 of 1,001, about 8.3 h left"),
        (90, 90, 60.0, "Comparing: 90 of 90, about 0 s left"),
    ],
)
def test_an_estimate_goes_by_what_is_done(
    done: int, total: int | None, elapsed_s: float, expected: str
) -> None:
    assert progress.far("Comparing", done, total, elapsed_s) == expected


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for the kernel of a notebook, and list what it shows."""
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)

    def display(what: str, *, display_id: bool) -> Any:
        assert display_id
        shown.append(what)
        return handle

    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))
    monkeypatch.setattr(progress, "_EVERY_S", 0.0)
    return shown


def test_a_notebook_gets_a_line_that_is_replaced(lines: list[str]) -> None:
    with progress.Progress().stage("Comparing <5>", 4) as advance:
        advance(1)
        advance(3)
    assert lines[0] == "Comparing &lt;5&gt;"
    assert lines[1].startswith("Comparing &lt;5&gt;: 1 of 4, about ")
    assert lines[2].startswith("Comparing &lt;5&gt;: 4 of 4, about 0 s left")
    assert lines[3].startswith("Comparing &lt;5&gt;: done in ") and len(lines) == 4


def test_nobody_watches_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.Progress().stage("Comparing", 4) as advance:
        advance(4)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_with_an_estimate() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with progress.bar(console, "Comparing", 4) as advance:
        advance(4)
    assert "Comparing" in screen.getvalue() and "100%" in screen.getvalue()
