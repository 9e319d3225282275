"""A method is added from inside with five files: the guide is followed on a copy of the project, and tested."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.examples.lines import FOLDER

ROOT = FOLDER.parents[1]
NAME = "lines"

TEST = '''
"""Lines alone."""

import privtrace as pt
from privtrace.methods import registry


def test_trips_are_straight(wanderers: pt.Trajectories, region: pt.Region) -> None:
    made = registry.find("lines").settings(epsilon=1, region=region).fit(wanderers).sample(50, seed=1)
    assert set(made.offsets[1:] - made.offsets[:-1]) == {2}
'''


def copied(folder: Path) -> Path:
    """Copy the project, with times and what was compiled."""
    root = folder / "project"
    for part in ("src", "tests", "experiments", "examples", "mutants", "docs"):
        shutil.copytree(ROOT / part, root / part)
    for part in ("pyproject.toml", "ARCHITECTURE.md"):
        shutil.copy2(ROOT / part, root / part)
    return root


def added(root: Path) -> list[str]:
    """Add the example as one of ours; list the files that were written or changed."""
    text = (FOLDER / "straight_lines.py").read_text().replace('"straight-lines"', f'"{NAME}"')
    text = text.replace("from privtrace import Trajectories", "from privtrace.trajectories import Trajectories")
    text = text.replace('docs="README.md"', f'docs="docs/methods/{NAME}.md"')
    tree = ast.parse(text)
    recipe = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom | ast.Import)]
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]

    def joined(*nodes: ast.stmt) -> str:
        return "\n\n".join(ast.unparse(node) for node in nodes) + "\n"

    lines = (root / "src/privtrace/methods/registry.py").read_text()
    old = "OURS = ("
    assert lines.count(old) == 1
    files = {
        f"src/privtrace/methods/{NAME}/__init__.py": '"""Lines."""\n'
        + joined(*imports)
        + f"from privtrace.methods.{NAME}.recipe import released\n"
        + joined(*classes, *assigned),
        f"src/privtrace/methods/{NAME}/recipe.py": '"""Fit lines."""\n' + joined(*imports, *recipe),
        "src/privtrace/methods/registry.py": lines.replace(old, f'{old}"{NAME}", '),
        f"docs/methods/{NAME}.md": "# StraightLines\n",
        f"tests/methods/{NAME}/test_{NAME}.py": TEST,
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return [*files]


@pytest.mark.slow
def test_five_files_are_enough(tmp_path: Path) -> None:
    root = copied(tmp_path)
    assert len(added(root)) == 5
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    tests = {
        "tests/contract/test_synthesizers.py": NAME,
        "tests/privacy": NAME,
        "tests/cli/test_options.py": NAME,
        "tests/methods/test_registry.py": "whole or told",
        "tests/test_layers.py": "",
        f"tests/methods/{NAME}": "",
    }
    for path, some in tests.items():
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            path,
            *(["-k", some] if some else []),
        ]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout
        assert " passed" in done.stdout
    page = [
        sys.executable,
        "-m",
        "privtrace",
        "plan",
        "--region=0,0,1,1",
        "--epsilon=1",
        "--count=9",
        f"--method={NAME}",
    ]
    assert subprocess.run(page, cwd=tmp_path, env=environment, capture_output=True, timeout=100).returncode == 0
