"""Options say what settings say: the same names and the same defaults."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

import privtrace as pt
from privtrace.cli.options import FitOptions

SETTINGS = pt.PrivTrace(epsilon=1, region=pt.Region.box(0, 0, 1, 1)).own_settings()


@pytest.mark.parametrize("name", SETTINGS)
def test_an_option_has_the_default_of_its_setting(name: str) -> None:
    setting = next(field for field in fields(pt.PrivTrace) if field.name == name)
    option = next(field for field in fields(FitOptions) if field.name == name)
    assert setting.default is not MISSING
    assert (str(option.default) if name == "order" else option.default) == setting.default


def test_options_make_the_synthesizer_that_settings_make() -> None:
    options = FitOptions(region="0,0,10,10", epsilon="0.5")
    assert options.synthesizer() == pt.PrivTrace(epsilon=0.5, region=pt.Region.box(0, 0, 10, 10))
