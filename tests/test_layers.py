"""Imports point one way, and private numbers become public ones in one place that can be read in an hour."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

import privtrace

ROOT = Path(privtrace.__file__).parent
ARCHITECTURE = ROOT.parents[1] / "ARCHITECTURE.md"

# From the top of the pipeline to the bottom: a module imports only from lines above its own, or its own folder.
ORDER = [
    "errors",
    "observer",
    "progress",
    "caching",
    "compiling",
    "notebooks",
    "searching",
    "exponential",
    "spelling",
    "about",
    "random",
    "coordinates",
    "trajectories",
    "paths",
    "runs",
    "geometry",
    "calendar",
    "parsing",
    "storage",
    "rows",
    "empirical_bayes",
    "within",
    "io",
    "frames",
    "datasets",
    "backends",
    "privacy",
    "soundness",
    "space",
    "zones",
    "timing",
    "release",
    "methods",
    "models",
    "export",
    "testing",
    "evaluation",
    "study",
    "report",
    "cli",
    "__main__",
]
# One-line conveniences that call the module below them when they are called.
DOWNWARD = {
    ("trajectories", "io"),
    ("trajectories", "frames"),
    ("io", "frames"),
    ("methods", "models"),
    ("methods", "export"),
    ("methods", "report"),
    ("evaluation", "report"),
    ("study", "report"),
}

MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
MEASURES = {module for module in MODULES if module.endswith("/measure.py")}
KERNELS = {module for module in MODULES if module.endswith("/counts.py")}
RECIPES = {module for module in MODULES if module.endswith("/recipe.py")}
FITTING = {"methods/fitting.py"}
#: Lets a fit measure points and times before its recipe.
TIMED = {"methods/timed.py"}
#: What whoever writes a method from outside imports, and what checks their methods, on data that it makes.
AUTHORS = {"methods/__init__.py"}
TESTING = {module for module in MODULES if module.startswith("testing/")}

#: The folders of methods.
FOLDERS = {module.split("/")[1] for module in RECIPES}

#: Layers that work on what was measured, but for kernels, measures, and where a fit begins.
AFTER = ("timing", "release", "methods", "models", "export")

#: Who may import what holds private things or spends epsilon; its own folder aside.
MAY_IMPORT = {
    "privacy.crossing": MEASURES | FITTING | AUTHORS | TESTING,
    "privacy.accumulator": TESTING,
    "privacy.ledger.Ledger": FITTING | TESTING,
    "privacy.selection": set(),
    "privacy.choosing": FITTING,
    "privacy.noise.SystemNoise": FITTING | {"cli/spending.py"},  # which asks it whether anything was drawn
    "privacy.contributions": KERNELS | MEASURES | AUTHORS | TESTING,
    "backends.passes": FITTING
    | {
        "privacy/crossing.py",
        "privacy/selection.py",
        "privacy/choosing.py",
        "evaluation/comparison.py",
        "cli/files.py",
    },
    "space.clip": FITTING | {"evaluation/frame.py", "evaluation/decomposition.py"},
    "space.inside": {"methods/common/measure.py", "cli/files.py"},
    **{f"{module.removesuffix('.py').replace('/', '.')}": MEASURES | KERNELS | AUTHORS for module in KERNELS},
    "timing.counts": {"timing/measure.py"},
    "timing.measure": TIMED,
}


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text())


@cache
def imports(module: str) -> frozenset[str]:
    """List what a module imports from the package: 'storage.atomic', 'privacy.ledger.Ledger', ..."""
    found = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("privtrace"):
            base = (node.module or "").removeprefix("privtrace").removeprefix(".")
            found |= {f"{base}.{alias.name}".strip(".") for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.removeprefix("privtrace.") for alias in node.names if "privtrace." in alias.name
            }
    return frozenset(found)


def attributes(module: str) -> set[str]:
    return {node.attr for node in ast.walk(tree(module)) if isinstance(node, ast.Attribute)}


def layer(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


def is_of(name: str, what: str) -> bool:
    return name == what or name.startswith(f"{what}.")


def test_every_module_has_its_line() -> None:
    assert {layer(module) for module in MODULES} - {"__init__"} == set(ORDER)


def test_the_table_of_layers_has_this_order() -> None:
    section = ARCHITECTURE.read_text().split("## The layers\n")[1].split("\n### ")[0]
    assert [*re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE), "__main__"] == ORDER


def test_imports_point_up() -> None:
    downward = [
        f"{module} imports {name}, which is below it"
        for module in MODULES
        if module != "__init__.py"
        for name in imports(module)
        for here, there in [(layer(module), name.split(".")[0])]
        if there != here and ORDER.index(there) >= ORDER.index(here) and (here, there) not in DOWNWARD
    ]
    assert not downward


def test_no_method_imports_another() -> None:
    """What two need stands beside them, and imports none of them; the registry alone knows all, by name."""
    assert len(FOLDERS) >= 4
    wrong = [
        f"{module} imports {name}"
        for module in MODULES
        if module.startswith("methods/")
        for name in imports(module)
        for here, there in [(module.split("/")[1], [*name.split("."), ""][1])]
        if name.startswith("methods.") and there in FOLDERS - {here}
    ]
    assert not wrong


def test_private_things_are_imported_only_where_they_may() -> None:
    wrong = [
        f"{module} imports {name}"
        for what, allowed in MAY_IMPORT.items()
        for module in MODULES
        if module not in allowed and module != "__init__.py"
        for name in imports(module)
        if is_of(name, what) and not (layer(module) == "privacy" and what.startswith("privacy."))
    ]
    assert not wrong


def test_budget_files_are_taken_by_fits_alone() -> None:
    users = {layer(m) for m in MODULES for name in imports(m) if is_of(name, "privacy.budget_file")}
    assert users - {"__init__"} == {"privacy", "methods", "cli"}


def test_noise_is_drawn_by_the_ledger_and_asked_for_by_the_crossing_alone() -> None:
    calls = {
        (module, node.func.attr)
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    spending = {module for module, call in calls if call in ("laplace", "laplace_blocks")}
    assert spending - TESTING == {"privacy/crossing.py", "privacy/ledger.py"}
    crossing = ("measure_together", "measure_blocks", "making", "noisy")
    measuring = {module for module, call in calls if call in crossing}
    assert measuring <= MEASURES | RECIPES | {"privacy/crossing.py"}


def test_exact_numbers_are_seen_where_they_may() -> None:
    """Evaluation compares with real data and is NOT PRIVATE on its face; `check` looks for the curator."""
    seeing = {
        "dense": {"privacy/ledger.py"},
        "bounded": {"privacy/crossing.py"},
        "passes": {"privacy/crossing.py"},
        "tally": {"methods/common/measure.py", "evaluation/measured.py", "cli/files.py"},
    }
    for name, allowed in seeing.items():
        assert {module for module in MODULES if name in attributes(module)} == allowed, name


def test_post_processing_sees_no_private_data() -> None:
    """After the crossing, only walked paths and synthetic trajectories remain."""
    before = MEASURES | KERNELS | FITTING | TIMED | {"methods/settings.py"}
    after = {m for m in MODULES if layer(m) in AFTER} - before
    assert not {m for m in after for name in imports(m) if name in ("trajectories.Source", "io.read")}


def test_nothing_executes_files_or_draws_noise_elsewhere() -> None:
    for module in MODULES:
        names = {node.id for node in ast.walk(tree(module)) if isinstance(node, ast.Name)}
        packages = {
            alias.name.split(".")[0]
            for node in ast.walk(tree(module))
            if isinstance(node, ast.Import)
            for alias in node.names
        } | {
            (node.module or "").split(".")[0]
            for node in ast.walk(tree(module))
            if isinstance(node, ast.ImportFrom)
        }
        assert not packages & {"pickle", "marshal", "shelve", "random"}, module
        # What a process sends to one that it started is no file.
        assert "cloudpickle" not in packages or module == "study/messages.py", module
        assert not names & {"eval", "exec"}, module
        assert layer(module) in ("datasets", "testing") or "default_rng" not in attributes(module), module


# --- the reading list ----------------------------------------------------------------------------------------


def code_lines(module: str) -> int:
    """Count the lines of a module that are neither blank nor comment nor docstring."""
    text = (ROOT / module).read_text()
    words = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        line
        for node in ast.walk(tree(module))
        if isinstance(node, words) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in silent | {tokenize.ENDMARKER}
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - docstrings)


def reading_list() -> tuple[list[list[str]], list[int]]:
    """Take the lists out of ARCHITECTURE.md: files for all methods, times and Spark, and numbers of lines."""
    section = ARCHITECTURE.read_text().split("## The reading list\n")[1].split("\n## ")[0]
    words = " ".join(section.split())
    most = re.search(
        r"at most (\d+) lines .* for points and times (\d+) more.* for data on Spark (\d+) more", words
    )
    assert most is not None
    rows = dict(re.findall(r"^\| ([\w ]+?) \| (.+) \|$", section, re.MULTILINE))
    assert rows["one method"] == "its `recipe.py` and its `measure.py`"
    lists = [
        re.findall(r"`([\w/]+\.py)`", rows[row])
        for row in ("every method", "points and times", "data on Spark")
    ]
    return lists, [int(number) for number in most.groups()]


@pytest.mark.parametrize("method", sorted(FOLDERS))
def test_the_reading_list_is_short_and_true(method: str) -> None:
    """Whatever stands between a recipe and private data is on the list, and the list is as short as it says."""
    (for_all, _, for_spark), (most, *_) = reading_list()
    own = [f"methods/{method}/recipe.py", f"methods/{method}/measure.py"]
    assert most <= 880
    listed = for_all + [module for module in own if module in MODULES]
    assert_short_and_true(listed, most, elsewhere=for_spark)


def test_the_reading_list_of_times_is_short_and_true() -> None:
    """With its kernels: one for all methods, beside what is read for any of them."""
    (for_all, for_times, _), (_, most, _) = reading_list()
    assert most <= 400
    assert_short_and_true(for_times, most, given=for_all)
    measuring = {module for module in MEASURES | KERNELS if layer(module) == "timing"} | TIMED
    assert measuring <= {*for_times}


def test_the_reading_list_of_spark_is_short_and_true() -> None:
    """What counts there, how rows become trajectories, and who chooses among those of users."""
    (for_all, _, for_spark), (*_, most) = reading_list()
    assert most <= 450
    assert_short_and_true(for_spark, most, given=for_all)
    assert {module for module in MODULES if "spark" in module} - {"methods/on_spark.py"} <= {*for_spark}


def assert_short_and_true(
    listed: list[str], most: int, given: Collection[str] = (), elsewhere: Collection[str] = ()
) -> None:
    assert len(set(listed)) == len(listed) and {*listed} <= {*MODULES} - {*given}
    n_lines = sum(map(code_lines, listed))
    assert n_lines <= most, f"{n_lines} lines"
    # What the listed files import of the crossing's side is listed too.
    for module in listed:
        for name in imports(module):
            home = next((m for m in MODULES if is_of(name, m.removesuffix(".py").replace("/", "."))), None)
            if home in MEASURES or home in RECIPES or (home and layer(home) in ("privacy", "backends")):
                assert home in {*listed, *given, *elsewhere} | UNLISTED, (
                    f"{module} imports {home}, which is not listed"
                )


#: Of these layers, what a reader need not know: how things are written, how many cores there are, the curator's
#: account of several fits, and the function that draws among a user's trajectories, which may be any.
UNLISTED = {
    "privacy/epsilon.py",
    "privacy/wording.py",
    "privacy/budget_file.py",
    "privacy/siphash.py",
    "backends/cores.py",
}
