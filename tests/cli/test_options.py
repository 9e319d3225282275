"""Options come from settings: the same names, help, kinds and defaults, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import run

import privtrace as pt
from privtrace.cli.commands import app_for
from privtrace.cli.options import FitOptions
from privtrace.methods import registry
from privtrace.methods.declaring import Flag
from privtrace.methods.settings import Settings

BOX = {"region": "0,0,10,10", "epsilon": "0.5"}
OWN = [(method, name) for method in registry.OURS for name in registry.find(method).settings.own()]


def offered(*arguments: str) -> dict[str, Any]:
    """List the options that a command has, when it is given arguments."""
    from typer.main import get_command

    command = get_command(app_for(arguments)).commands[arguments[0]]  # type: ignore[attr-defined]
    return {parameter.name: parameter for parameter in command.params}


@pytest.mark.parametrize("command", ["fit", "synth", "plan", "explain"])
@pytest.mark.parametrize("method", registry.OURS)
def test_every_setting_is_an_option_with_its_meaning_limits_and_default(command: str, method: str) -> None:
    options, declared = offered(command, "--method", method), registry.find(method).settings.declared()
    for name, setting in declared.items():
        if command == "explain" and name == "epsilon":
            continue
        assert setting.help in options[name].help and setting.kind.span in options[name].help
        if setting.default not in (None, True, False) and not setting.is_required:
            assert f"default: {setting.default}" in options[name].help
        assert options[name].opts == [f"--{name.replace('_', '-')}"]
        assert options[name].is_flag is isinstance(setting.kind, Flag)
    others = {name for other, name in OWN if other != method} - {*declared}
    assert not others & {*options}


def test_without_a_method_help_shows_what_all_methods_share(tmp_path: Path) -> None:
    shown = run("help", "fit", cwd=tmp_path).stdout
    lines = shown.splitlines()
    assert len(lines) <= 50  # one screen
    listed = [line.split()[0] for line in lines if line.startswith("  --")]
    for name, setting in Settings.declared().items():  # details are shown with a method
        assert (setting.option in listed) is not setting.is_detail, name
    assert not {*listed} & {f"--{name.replace('_', '-')}" for _, name in OWN}
    assert all(method in shown for method in registry.OURS)
    assert "bridgetrace (default)" in shown
    words = " ".join(shown.split())
    assert "Synthesize times. [default: bridgetrace, if there are times]" in words
    assert "last excluded. [default: all days]" in words and "points. [default: measured]" in words


@pytest.mark.parametrize("method", registry.OURS)
def test_with_a_method_help_adds_its_own(method: str, tmp_path: Path) -> None:
    entry = registry.find(method)
    for arguments in (("help", "fit", "--method", method), ("fit", f"--method={method}", "--help")):
        _, _, own = run(*arguments, cwd=tmp_path).stdout.partition(f"Settings of {entry.label} ({entry.docs}):")
        listed = [line.split()[0] for line in own.splitlines() if line.startswith("  --")]
        details = [name for name, setting in Settings.declared().items() if setting.is_detail]
        assert listed == [f"--{name.replace('_', '-')}" for name in [*details, *entry.settings.own()]]


@pytest.mark.parametrize("method", registry.OURS)
def test_options_make_the_synthesizer_that_settings_make(method: str) -> None:
    made = FitOptions(method=method, given=BOX).synthesizer()
    assert made == registry.find(method).settings(epsilon=0.5, region=pt.Region.box(0, 0, 10, 10))
    assert made.method == method


def test_options_reach_their_settings() -> None:
    region = pt.Region.box(0, 0, 10, 10)

    def made(method: str, **given: str | bool) -> Settings:
        return FitOptions(method=method, given={**BOX, **given}).synthesizer()

    bridgetrace = pt.BridgeTrace(epsilon=0.5, region=region, spacing=2.5, K=6, rounds=0)
    assert made("bridgetrace", spacing="2.5", K="6", rounds="0") == bridgetrace
    privtrace = pt.PrivTrace(epsilon=0.5, region=region, order=2, second_layer=False, theta2=3)
    assert made("privtrace", order="2", second_layer=False, theta2="3") == privtrace
    published = pt.PrivTrace.paper(c=1200, population=1_310_000, epsilon=0.5, region=region)
    assert made("privtrace", c="1200", population="1310000", fallback=False) == published
    adatrace = pt.AdaTrace(epsilon=0.5, region=region, N=7, public_count=9)
    assert made("adatrace", N="7", public_count="9") == adatrace
    dpt = pt.DPT(epsilon=0.5, region=region, mapping="coarsest", hysteresis=True, trees_share="0.8")
    assert made("dpt", mapping="coarsest", hysteresis=True, trees_share="0.8") == dpt


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--theta1=5", "--method=dpt"), "--theta1 is a setting of privtrace, and the method is dpt"),
        (
            ("--max-steps=5", "--method=adatrace"),
            "--max-steps is a setting of privtrace and dpt, and the method",
        ),
        (("--no-hysteresis", "--method=privtrace"), "is a setting of dpt, and the method is privtrace"),
        (("--K=6", "--method", "adatrace"), "leave it out, or use --method bridgetrace"),
        (("--order=1",), "--order is a setting of privtrace, and the method is bridgetrace"),
        (("--N=6", "--method=magic"), "--method (method) must be one of bridgetrace, privtrace, adatrace, dpt"),
        (("--magic=6",), "No such option: --magic"),
        (("--K=six",), "--K (K) must be a whole number from 1 to 200, not 'six'"),
        (("--K=0",), "--K (K) must be a whole number from 1 to 200, not '0'"),
        (("--cell-factor=-1",), "--cell-factor (cell_factor) must be a positive number from 1e-12 to 1e+12"),
        (("--order=3", "--method=privtrace"), "--order (order) must be 'adaptive', 1 or 2, not '3'"),
        (("--visits-share=much",), "--visits-share (visits_share) must be a positive decimal number"),
        (("--unit=walk",), "--unit (unit) must be 'trajectory' or 'user', not 'walk'"),
        (("--unit=user",), "for example --max-per-user 5 (max_per_user=5)"),
    ],
)
def test_mistakes_end_with_2_in_the_settings_own_words(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    done = run("plan", "--region=0,0,10,10", "--epsilon=1", "--count=5", *arguments, cwd=tmp_path, code=2)
    assert words in " ".join(done.stderr.split())


def test_what_is_needed_is_said(tmp_path: Path) -> None:
    assert "region is needed" in run("plan", "--epsilon=1", "--count=5", cwd=tmp_path, code=2).stderr
    done = run("plan", "--region=0,0,10,10", "--count=5", cwd=tmp_path, code=2)
    assert "--epsilon (epsilon) is required: The privacy budget" in done.stderr
