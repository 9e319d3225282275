"""One list of methods: ours, those of installed packages, and those that a program registers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.examples.lines import FOLDER, lines

import privtrace as pt
import privtrace.methods as pm
from privtrace.methods import registry
from privtrace.models import from_bytes, to_bytes

ROOT = FOLDER.parents[1]
BOX = pt.Region.box(0, 0, 10, 10)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


@pytest.mark.parametrize("name", registry.OURS)
def test_an_entry_is_whole(name: str) -> None:
    method = registry.find(name)
    assert method.name == name == method.settings.method and method.package is None
    assert (ROOT / method.docs).read_text().startswith("# ")
    assert method.label in (ROOT / method.docs).read_text()
    assert all(len(color) == 7 and int(color[1:], 16) >= 0 for color in method.colors)
    assert (ROOT / "src/privtrace/methods" / name / "recipe.py").exists()


def test_names_and_colors_are_told_apart() -> None:
    methods = [registry.find(name) for name in registry.OURS]
    assert len({method.label for method in methods}) == len(methods)
    assert len({color for method in methods for color in method.colors}) == 2 * len(methods)


def test_registering_makes_a_method_known(wanderers: pt.Trajectories) -> None:
    with pytest.raises(pt.SettingsError, match=r"must be one of bridgetrace, .*, not 'straight-lines'"):
        lines.StraightLines(epsilon=1, region=BOX).fit(wanderers)
    pt.register(lines.METHOD)
    pt.register(lines.METHOD)  # as a cell of a notebook that runs again
    assert registry.names() == [*registry.OURS, "straight-lines"]
    model = lines.StraightLines(epsilon=1, region=BOX).fit(wanderers)
    assert isinstance(model, lines.StraightLinesModel) and from_bytes(to_bytes(model)).release == model.release


def test_a_foreign_method_says_so_wherever_it_goes(wanderers: pt.Trajectories, tmp_path: Path) -> None:
    pt.register(lines.METHOD)
    model = lines.StraightLines(epsilon=1, region=BOX).fit(wanderers)
    package = "straight_lines (not installed as a package)"
    model.save(tmp_path / "a.model")
    for shown in (model, pt.load(tmp_path / "a.model")):
        said = dict(shown.release.statement())["Method"]
        assert shown.release.package == package and f"from the package {package}" in said
        assert "The authors of privtrace have not reviewed this method" in said
        assert "The authors of privtrace have not reviewed this method" in shown.report().html
    ours = pt.AdaTrace(epsilon=1, region=BOX).fit(wanderers)
    assert "reviewed" not in dict(ours.release.statement())["Method"]
    assert b"package" not in to_bytes(ours)


def test_a_file_of_a_method_that_is_not_there_is_refused(
    wanderers: pt.Trajectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    pt.register(lines.METHOD)
    content = to_bytes(lines.StraightLines(epsilon=1, region=BOX).fit(wanderers))
    monkeypatch.setattr(registry, "_registered", {})
    words = r"method is 'straight-lines'; this version knows .*; install straight_lines .*, or register"
    with pytest.raises(pt.ModelFormatError, match=words):
        from_bytes(content)


@dataclass(frozen=True, kw_only=True)
class Impostor(lines.StraightLines):  # type: ignore[misc,name-defined]
    method: ClassVar[str] = "bridgetrace"


@dataclass(frozen=True, kw_only=True)
class Shouting(lines.StraightLines):  # type: ignore[misc,name-defined]
    method: ClassVar[str] = "LINES"


@dataclass(frozen=True, kw_only=True)
class Careless(lines.StraightLines):  # type: ignore[misc,name-defined]
    undeclared: int = 3


@dataclass(frozen=True, kw_only=True)
class Colliding(lines.StraightLines):  # type: ignore[misc,name-defined]
    seed: int = pm.setting("Anything.", pm.Whole(0, 9), 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"settings": Impostor}, "a method called bridgetrace already exists"),
        ({"settings": Shouting}, "lowercase letters"),
        ({"settings": object}, "must be a subclass of privtrace.methods.Settings"),
        ({"model": object}, "its model must be a subclass of privtrace.methods.Model"),
        ({"colors": ("#fff", "red; } body {")}, "its two colors"),
        ({"settings": Colliding}, "the commands already have an option seed"),
        (
            {"schema": {"count": ("<i8", 1)}},
            "the schema must name the fields of the model: count, density, trips",
        ),
        ({"schema": {**lines.SCHEMA, "trips": ("<f8", 2)}}, "arrays of a schema must have the type <i8 or <i4"),
    ],
)
def test_what_would_fail_later_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(pt.SettingsError, match=words):
        pt.register(replace(lines.METHOD, **change))


def test_a_setting_that_is_not_declared_is_refused() -> None:
    with pytest.raises(TypeError, match="undeclared is not declared"):
        pt.register(replace(lines.METHOD, settings=Careless))


def test_another_packages_name_cannot_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    pt.register(lines.METHOD)
    monkeypatch.setattr(registry, "_package_of", lambda settings: "other 1.0")
    with pytest.raises(pt.SettingsError, match="already"):
        pt.register(lines.METHOD)


def test_a_method_does_not_say_itself_who_brings_it() -> None:
    pt.register(replace(lines.METHOD, package=None))
    assert registry.find("straight-lines").package == "straight_lines (not installed as a package)"


def test_settings_of_another_class_are_not_the_methods(wanderers: pt.Trajectories) -> None:
    with pytest.raises(pt.SettingsError, match="Impostor is not the method that is registered as bridgetrace"):
        Impostor(epsilon=1, region=BOX).fit(wanderers)


def test_what_a_method_is_written_with_can_be_imported() -> None:
    assert {*pm.__all__} <= {*dir(pm)} and all(getattr(pm, name) is not None for name in pm.__all__)
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        pm.magic  # noqa: B018


def test_reserved_names_are_those_of_the_command_line() -> None:
    from typer.main import get_command

    from privtrace.cli.commands import app_for

    commands = get_command(app_for(["fit", "--help"])).commands  # type: ignore[attr-defined]
    shared = {*pm.Settings.declared(), "help"}
    taken = {p.name for name in ("plan", "fit", "synth", "explain") for p in commands[name].params} - shared
    assert {"given", *taken} == {*registry.RESERVED}
