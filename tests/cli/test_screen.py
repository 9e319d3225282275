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


def test_settings_are_named_as_options_and_the_sides_of_a_box_are_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @guarded
    def command(N: int = 1, c: int = 1, max_steps: int = 1) -> None:
        raise SettingsError("a region is W,S,E,N; N and c are given, and max_steps")

    with pytest.raises(typer.Exit):
        command()
    words = " ".join(capsys.readouterr().err.split())
    assert words == "error: a region is W,S,E,N; --N and --c are given, and --max-steps"


def test_a_setting_that_is_a_plain_word_is_named_as_an_option_where_a_message_begins_with_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    @guarded
    def command(height: int = 1, max_steps: int = 1) -> None:
        raise SettingsError("height must be from 2 to 6, whatever the height of max_steps")

    with pytest.raises(typer.Exit):
        command()
    words = " ".join(capsys.readouterr().err.split())
    assert words == "error: --height must be from 2 to 6, whatever the height of --max-steps"
