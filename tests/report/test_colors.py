"""Colors that any eye can tell apart: lightness carries the order, in light and dark; text is legible."""

from __future__ import annotations

import re
from importlib.resources import files

import numpy as np
import pytest

from privtrace.methods import registry
from privtrace.report.colors import SHADES, STEPS, Rising, apart, style

# Machado, Oliveira and Fernandes (2009), at full severity, for linear RGB.
EYES = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
    "no color": np.tile([0.2126, 0.7152, 0.0722], (3, 1)),
}
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def linear(color: str) -> np.ndarray:
    """Read #rrggbb as linear RGB."""
    channels = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lightness(colors: list[str], eye: str) -> np.ndarray:
    """Compute CIE L* of colors as an eye sees them."""
    seen = np.clip([EYES[eye] @ linear(color) for color in colors], 0, 1) @ LUMINANCE
    return np.where(seen > 216 / 24389, 116 * np.cbrt(seen) - 16, seen * 24389 / 27)


def scale(letter: str, dark: bool) -> list[str]:
    """Read the colors of a scale from the style sheet."""
    light_rules, dark_rules = style().split("@media screen and (prefers-color-scheme: dark)")
    found = re.findall(rf"\.{letter}(\d+) {{ fill: (#[0-9a-f]{{6}}); }}", dark_rules if dark else light_rules)
    assert [int(number) for number, _ in found] == list(range(len(found)))
    return [color for _, color in found]


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_more_is_darker_on_light_pages_and_lighter_on_dark_ones(eye: str, dark: bool) -> None:
    colors = scale("q", dark)
    steps = np.diff(lightness(colors, eye)) * (1 if dark else -1)
    assert len(colors) == SHADES and steps.min() > 0.5 and steps.sum() > 70


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_differences_grow_from_the_middle_outward(eye: str, dark: bool) -> None:
    colors = scale("d", dark)
    assert len(colors) == 2 * STEPS + 1
    for side in (colors[STEPS:], colors[STEPS::-1]):
        steps = np.diff(lightness(side, eye)) * (1 if dark else -1)
        assert steps.min() > 0.5 and steps.sum() > 35


@pytest.mark.parametrize("eye", ["all cones", "protanopia", "deuteranopia", "tritanopia"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_less_and_more_are_not_taken_for_each_other(eye: str, dark: bool) -> None:
    colors = scale("d", dark)
    less, more = (np.clip(EYES[eye] @ linear(colors[end]), 0, 1) for end in (0, -1))
    assert np.abs(less - more).max() > 0.1


def test_shades_rise_with_numbers_and_stay_in_range() -> None:
    values = np.array([-5.0, 0.0, 0.1, 1.0, 50.0, 100.0])
    shades = Rising(100.0).shades(values)
    assert shades[0] == shades[1] == 0 and shades[-1] == SHADES - 1
    assert np.all(np.diff(shades) >= 0)


def test_differences_have_a_middle_and_two_ends() -> None:
    assert apart(np.array([-8.0, -4.0, -2.0, 0.0, 2.0, 4.0]), 4.0).tolist() == [0, 0, 3, 10, 17, 20]


def themes() -> dict[str, dict[str, str]]:
    sheet = files("privtrace.report").joinpath("assets", "page.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root {([^}]*--paper[^}]*)}", sheet)
    return {
        name: dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for name, block in (("light", light), ("dark", dark))
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "panel", "wash"])
@pytest.mark.parametrize("text", ["ink", "soft", "red", "link"])
def test_text_stands_out_from_its_ground(theme: str, ground: str, text: str) -> None:
    """By 4.5 at least, as WCAG 2 asks for."""
    names = themes()[theme]
    light, dark = sorted((float(linear(names[name]) @ LUMINANCE) for name in (ground, text)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("method", registry.OURS)
def test_the_colors_of_methods_stand_out(method: str) -> None:
    """By 3 at least, as WCAG 2 asks for what is not text."""
    for theme, color in zip(("light", "dark"), registry.find(method).colors, strict=True):
        ground = themes()[theme]["paper"]
        light, dark = sorted((float(linear(name) @ LUMINANCE) for name in (ground, color)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3
