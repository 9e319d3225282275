"""Options say what settings say: the same names, the same defaults, for the methods that have them."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, get_type_hints

import pytest

import privtrace as pt
from privtrace.cli.options import FitOptions, MappingName, MethodName, MethodOptions, OrderName, method_class
from privtrace.methods.settings import Settings

BOX = {"region": "0,0,10,10", "epsilon": "0.5"}
COMMON = {field.name for field in fields(Settings)}
OWN = [
    (method, field.name)
    for method in MethodName
    for field in fields(method_class(method))
    if field.name not in COMMON
]


def option(name: str) -> Any:
    """Find how an option is declared."""
    return get_type_hints(MethodOptions, include_extras=True)[name].__metadata__[0]


@pytest.mark.parametrize(("method", "name"), OWN)
def test_every_setting_has_an_option_that_says_its_default(method: MethodName, name: str) -> None:
    default = next(field for field in fields(method_class(method)) if field.name == name).default
    assert default is not MISSING
    shown, dashed = option(name).show_default, name.replace("_", "-")
    expected = dashed if default is True else f"no-{dashed}" if default is False else str(default)
    if isinstance(shown, str):  # "0.01, privtrace 0.02, dpt 0.02"
        others = dict(other.split(" ", 1) for other in shown.split(", ")[1:])
        shown = others.get(method.value, shown.partition(",")[0])
    assert shown in ((False, "by rule") if default is None else (expected,))


@pytest.mark.parametrize("name", sorted({name for _, name in OWN}))
def test_help_names_the_methods_that_have_a_setting(name: str) -> None:
    have = [method.value for method, own in OWN if own == name]
    said = option(name).help.partition(":")[0]
    assert said == ("all methods" if len(have) == len(MethodName) else ", ".join(have))


def test_every_option_of_a_method_is_a_setting() -> None:
    names = {field.name for field in fields(MethodOptions)} - COMMON - {"method"}
    assert names == {name for _, name in OWN}


@pytest.mark.parametrize("method", MethodName)
def test_options_make_the_synthesizer_that_settings_make(method: MethodName) -> None:
    made = FitOptions(**BOX, method=method).synthesizer()
    assert made == method_class(method)(epsilon=0.5, region=pt.Region.box(0, 0, 10, 10))
    assert made.method == method.value


def test_options_reach_their_settings() -> None:
    region = pt.Region.box(0, 0, 10, 10)
    bridgetrace = FitOptions(**BOX, spacing=2.5, K=6, rounds=0).synthesizer()
    assert bridgetrace == pt.BridgeTrace(epsilon=0.5, region=region, spacing=2.5, K=6, rounds=0)
    privtrace = FitOptions(
        **BOX, method=MethodName.privtrace, order=OrderName.second, second_layer=False, theta2=3.0
    ).synthesizer()
    assert privtrace == pt.PrivTrace(epsilon=0.5, region=region, order=2, second_layer=False, theta2=3)
    adatrace = FitOptions(**BOX, method=MethodName.adatrace, N=7, public_count=9).synthesizer()
    assert adatrace == pt.AdaTrace(epsilon=0.5, region=region, N=7, public_count=9)
    dpt = FitOptions(**BOX, method=MethodName.dpt, mapping=MappingName.coarsest, hysteresis=True).synthesizer()
    assert dpt == pt.DPT(epsilon=0.5, region=region, mapping="coarsest", hysteresis=True)


@pytest.mark.parametrize(
    ("method", "given", "words"),
    [
        ("dpt", {"theta1": 5.0}, "--theta1 is a setting of privtrace, and the method is dpt"),
        (
            "adatrace",
            {"max_steps": 5},
            "--max-steps is a setting of privtrace and dpt, .* take --method privtrace",
        ),
        ("privtrace", {"hysteresis": False}, "--hysteresis is a setting of dpt"),
        ("adatrace", {"K": 6}, "--K is a setting of bridgetrace and privtrace, .* take --method bridgetrace"),
        ("privtrace", {"spacing": 6}, "--spacing is a setting of bridgetrace, and the method is privtrace"),
        ("bridgetrace", {"order": OrderName.first}, "--order is a setting of privtrace, .* is bridgetrace"),
        ("privtrace", {"N": 6}, "--N is a setting of adatrace"),
    ],
)
def test_a_setting_of_another_method_is_refused(method: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(pt.SettingsError, match=words):
        FitOptions(**BOX, method=MethodName(method), **given).synthesizer()
