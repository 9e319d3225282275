"""Imports point one way, and private numbers become public ones only in the files that are named for it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import privtrace

ROOT = Path(privtrace.__file__).parent

# From the top of the pipeline to the bottom: a module imports only from lines above its own, or its own folder.
ORDER = [
    "errors",
    "observer",
    "spelling",
    "about",
    "trajectories",
    "paths",
    "counts",
    "datasets",
    "io",
    "privacy",
    "backends",
    "space",
    "markov",
    "trips",
    "trees",
    "bridges",
    "walk",
    "calibrate",
    "release",
    "synthesizers",
    "models",
    "export",
    "evaluation",
    "report",
    "cli",
    "__main__",
]
# One-line conveniences that call the module below them when they are called.
DOWNWARD = {
    ("trajectories", "io"),
    ("synthesizers", "models"),
    ("synthesizers", "export"),
    ("synthesizers", "report"),
    ("evaluation", "report"),
}
# Who may know the ledger: its own folder, the crossings, the recipes; others may read and print its numbers.
CROSSINGS = {f"{room}/measure.py" for room in ("space", "markov", "trips", "trees", "bridges")}
RECIPES = {
    f"synthesizers/{name}.py" for name in ("settings", "fitted", "bridgetrace", "privtrace", "adatrace", "dpt")
}
PRINTERS = {
    "release.py",
    "models.py",
    "evaluation/ladder.py",
    "report/promise.py",
    "report/release_page.py",
    "cli/showing.py",
    "cli/spending.py",
}

MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


def tree(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text())


def imports(module: str) -> set[str]:
    """List what a module imports from the package: 'io.atomic', 'privacy.ledger.Ledger', ..."""
    found = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("privtrace"):
            base = (node.module or "").removeprefix("privtrace").removeprefix(".")
            found |= {f"{base}.{alias.name}".strip(".") for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.removeprefix("privtrace.") for alias in node.names if "privtrace." in alias.name
            }
    return found


def layer(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


def test_every_module_has_its_line() -> None:
    assert {layer(module) for module in MODULES} - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("module", [module for module in MODULES if module != "__init__.py"])
def test_imports_point_up(module: str) -> None:
    here = layer(module)
    for name in imports(module):
        there = name.split(".")[0]
        assert there == here or ORDER.index(there) < ORDER.index(here) or (here, there) in DOWNWARD, (
            f"{module} imports {name}, which is below it"
        )


@pytest.mark.parametrize("module", MODULES)
def test_only_crossings_and_recipes_know_the_ledger(module: str) -> None:
    names = {name for name in imports(module) if name.startswith("privacy.ledger") or name == "privacy.ledger"}
    if layer(module) == "privacy" or module in CROSSINGS | RECIPES:
        return
    words = ("Epsilon", "Charge", "decimal", "exact") if module in PRINTERS else ("Epsilon",)
    allowed = {f"privacy.ledger.{name}" for name in words}
    assert names <= allowed, f"{module} must not import {names - allowed}"


@pytest.mark.parametrize("module", [m for m in MODULES if m not in CROSSINGS and layer(m) != "privacy"])
def test_only_crossings_spend(module: str) -> None:
    calls = {
        node.func.attr
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert not calls & {"laplace", "laplace_blocks"}


@pytest.mark.parametrize("module", [m for m in MODULES if layer(m) not in ("privacy", "__init__")])
def test_only_the_scan_chooses_and_only_recipes_take_budget_files(module: str) -> None:
    names = {name.rpartition(".")[0] for name in imports(module)}
    assert "privacy.selection" not in names or module == "backends/scan.py"
    assert "privacy.budget_file" not in names or layer(module) in ("synthesizers", "cli")


@pytest.mark.parametrize("module", MODULES)
def test_exact_counts_are_seen_by_crossings_alone(module: str) -> None:
    """Evaluation compares with real data and is NOT PRIVATE on its face."""
    if module in CROSSINGS or module.endswith("/counts.py") or layer(module) == "evaluation":
        return
    counting = ("counts.", "markov.counts", "trips.counts", "trees.counts", "bridges.counts")
    assert not {name for name in imports(module) if name.startswith(counting) or "_counts" in name}
    attributes = {node.attr for node in ast.walk(tree(module)) if isinstance(node, ast.Attribute)}
    assert "tally" not in attributes


# Rooms that count, and rooms that work on what was measured.
AFTER = ("markov", "trips", "trees", "bridges", "walk", "calibrate", "release", "models", "export")


@pytest.mark.parametrize("module", [m for m in MODULES if layer(m) in AFTER])
def test_post_processing_sees_no_private_data(module: str) -> None:
    """After the crossing, only walked paths and synthetic trajectories remain."""
    if module in CROSSINGS or module.endswith("/counts.py"):
        return
    assert not {name for name in imports(module) if name in ("trajectories.Source", "backends.scan.Scan")}


@pytest.mark.parametrize("module", MODULES)
def test_nothing_executes_files_or_draws_noise_elsewhere(module: str) -> None:
    names = {node.id for node in ast.walk(tree(module)) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(tree(module)) if isinstance(node, ast.Attribute)}
    modules = {
        alias.name.split(".")[0]
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        (node.module or "").split(".")[0] for node in ast.walk(tree(module)) if isinstance(node, ast.ImportFrom)
    }
    assert not modules & {"pickle", "marshal", "shelve", "random"}
    assert not names & {"eval", "exec"}
    if layer(module) != "datasets":
        assert "default_rng" not in attributes
