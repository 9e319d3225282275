"""Commands end with a sentence, whatever interrupts them."""

from __future__ import annotations

import pytest
import typer

from privtrace.cli.screen import guarded
from privtrace.errors import SettingsError


def test_an_interrupt_in_compiled_code_is_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    """Python finds a result with an exception set, and says so in a SystemError."""

    @guarded
    def command() -> None:
        try:
            raise SystemError("a result with an exception set") from KeyboardInterrupt()
        except SystemError as error:
            raise SystemError("a result with an exception set") from error

    with pytest.raises(typer.Exit) as end:
        command()
    assert end.value.exit_code == 130 and "interrupted" in capsys.readouterr().err


def test_another_error_of_the_system_is_not() -> None:
    @guarded
    def command() -> None:
        raise SystemError("something else")

    with pytest.raises(SystemError):
        command()


def test_messages_are_shown_as_they_were_raised(capsys: pytest.CaptureFixture[str]) -> None:
    @guarded
    def command(N: int = 1, c: int = 1, max_steps: int = 1) -> None:
        raise SettingsError("a region is W,S,E,N; N and c are given, and --max-steps (max_steps)")

    with pytest.raises(typer.Exit):
        command()
    words = " ".join(capsys.readouterr().err.split())
    assert words == "error: a region is W,S,E,N; N and c are given, and --max-steps (max_steps)"
