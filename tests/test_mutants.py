"""Mutants still apply to the code as it is, and what runs them tells the caught from the others."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from mutants import ALL
from mutants.__main__ import main, run, verdict
from mutants.mutant import DoesNotApplyError, Mutant
from mutants.tree import Outcome, Tree

ROOT = Path(__file__).parents[1]


def test_every_mutant_applies() -> None:
    """Its old text occurs exactly once, what it makes of it is Python, and its tests exist."""
    for mutant in ALL:
        mutant.check(ROOT)
    names = Counter(mutant.name for mutant in ALL)
    assert max(names.values()) == 1 and len(names) >= 40
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)
    patches = Counter((mutant.file, mutant.old, mutant.new) for mutant in ALL)
    assert max(patches.values()) == 1


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project of two modules and two test files."""
    files = {
        "src/privtrace/__init__.py": "",
        "src/privtrace/one.py": "VALUE = 1\nUNUSED = 2\n",
        "src/privtrace/two.py": "from privtrace.one import VALUE\n",
        "src/privtrace/three.py": "from privtrace import two\n",
        "src/privtrace/four.py": "",
        "tests/test_one.py": "from privtrace.two import VALUE\n\ndef test_value():\n    assert VALUE == 1\n",
        "tests/test_two.py": "import privtrace.one\n\ndef test_it_is_there():\n    pass\n",
        "experiments/__init__.py": "",
        "examples/README.md": "",
        "docs/README.md": "",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-ra'\nmarkers = ['slow', 'browser']\n",
    }
    for name, text in files.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "project"


def mutant(new: str, *tests: str, old: str = "VALUE = 1") -> Mutant:
    return Mutant("some-mutant", "what it breaks", "one.py", old, new, tests or ("test_one.py",))


def test_what_is_caught_survives_or_is_broken_is_told_apart(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_text() for path in project.rglob("*.py")}
    mutants = [mutant("VALUE = 3"), mutant("VALUE = 3", "test_two.py"), mutant("VALUE = undefined")]
    assert run(mutants, project) == 1
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split(" | ") for line in lines if line.count(" | ") == 2]
    assert [row[2] for row in rows[:3]] == ["caught by", "test_one.py::test_value", "SURVIVED"]
    assert rows[3][2].startswith("BROKEN: pytest ended with 2") and lines[-1] == "1 of 3 caught"
    assert {path: path.read_text() for path in project.rglob("*.py")} == before


PASSED, FAILED = (
    Outcome(0, (), "all is well"),
    Outcome(1, ("tests/test_one.py::test_value",), "something is not"),
)


@pytest.mark.parametrize(
    ("as_it_is", "broken", "code", "words"),
    [
        (PASSED, FAILED, 0, "1 of 1 caught"),
        (PASSED, PASSED, 1, "0 of 1 caught"),
        (FAILED, FAILED, 2, "mend that"),
    ],
)
def test_all_must_be_caught_and_tests_pass_on_the_tree_as_it_is(
    as_it_is: Outcome,
    broken: Outcome,
    code: int,
    words: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Tree, "test", lambda *_: as_it_is)
    monkeypatch.setattr(Tree, "test_until_failure", lambda *_: broken)
    assert run([mutant("VALUE = 3")], project) == code
    said = capsys.readouterr()
    assert words in (said.out + said.err).splitlines()[-1]


@pytest.mark.parametrize(
    "one",
    [
        mutant("VALUE = 3", old="VALUE = 7"),
        mutant("VALUE = 3", old="="),  # twice
        mutant("VALUE = 1"),
        mutant("VALUE ="),
        mutant("VALUE = 3", "test_three.py"),
        Mutant("some-mutant", "", "one.py", "VALUE = 1", "VALUE = 3", ()),
        Mutant("some-mutant", "", "five.py", "VALUE = 1", "VALUE = 3", ("test_one.py",)),
    ],
)
def test_a_mutant_that_does_not_apply_is_an_error(
    one: Mutant, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DoesNotApplyError, match="some-mutant"):
        one.check(project)
    assert run([mutant("VALUE = 3"), one], project) == 2
    assert "some-mutant" in capsys.readouterr().err


def test_tests_that_do_not_end_catch_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(project)
    (project / "tests/test_one.py").write_text("def test_it():\n    while True:\n        pass\n")
    monkeypatch.setattr("mutants.tree.TIMEOUT", 3)
    result = tree.test_until_failure(["test_one.py"])
    assert not result.caught and not result.passed and verdict(result) == "HANGS"


def test_kernels_of_the_broken_file_and_its_importers_are_put_aside_and_back(project: Path) -> None:
    """A kernel is found again by its own file alone, though it may hold code of another."""
    kernels = [
        project / f"src/privtrace/__pycache__/{name}.f-1.py3.nbi" for name in ("one", "two", "three", "four")
    ]
    kernels.append(project / "tests/__pycache__/test_one.f-1.py3.nbi")  # tests may have kernels, of others too
    for kernel in kernels:
        kernel.parent.mkdir(exist_ok=True)
        kernel.write_text(kernel.name)
    source = project / "src/privtrace/one.py"
    before = source.stat().st_mtime_ns, source.read_text()
    with Tree(project).broken(mutant("VALUE = 3")):
        assert source.read_text() == "VALUE = 3\nUNUSED = 2\n"
        assert [kernel.exists() for kernel in kernels] == [False, False, False, True, False]
        kernels[1].write_text("compiled anew, of broken code")
    assert (source.stat().st_mtime_ns, source.read_text()) == before
    assert [kernel.read_text() for kernel in kernels] == [kernel.name for kernel in kernels]


def test_mutants_are_listed_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    assert capsys.readouterr().out.count("\n") == 1 + len(ALL)
    with pytest.raises(SystemExit):
        main(["no-such-mutant"])
    assert "there is no mutant no-such-mutant" in capsys.readouterr().err
