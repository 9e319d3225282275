"""A copy of the project to be broken: files put out of order and back, with what was compiled from them."""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mutants.mutant import Mutant

#: What tests need of the project.
_PARTS = ("src", "tests", "experiments", "examples", "docs", "pyproject.toml")

#: Seconds that the tests of a mutant may take: a walk that never ends is not caught, it hangs.
TIMEOUT = 400


@dataclass(frozen=True)
class Outcome:
    """Hold how a run of tests ended."""

    code: int | None  # pytest's exit code; None where time ran out
    failed: tuple[str, ...]  # the tests that failed, as pytest names them
    output: str

    @property
    def passed(self) -> bool:
        """Tell whether all tests passed."""
        return self.code == 0

    @property
    def caught(self) -> bool:
        """Tell whether a test failed. Tests that could not be collected or ended have shown nothing."""
        return self.code == 1 and len(self.failed) > 0


@dataclass(frozen=True)
class Tree:
    """Hold the root of a copy, to be used by one worker at a time."""

    root: Path

    @classmethod
    def copied(cls, origin: Path, root: Path) -> Tree:
        """Copy what tests need, with times and compiled kernels, so that nothing is compiled in vain."""
        for part in _PARTS:
            if (origin / part).is_dir():
                shutil.copytree(origin / part, root / part)
            else:
                root.mkdir(parents=True, exist_ok=True)
                shutil.copy2(origin / part, root / part)
        return cls(root)

    @property
    def package(self) -> Path:
        """Find the package."""
        return self.root / "src" / "privtrace"

    def test(self, tests: Sequence[str], n_processes: int) -> Outcome:
        """Run test files on the copy as it is, and keep what is compiled for them."""
        return self._run([f"--numprocesses={n_processes}"], tests, {}, None)

    def test_until_failure(self, tests: Sequence[str]) -> Outcome:
        """Run test files one after the other on a broken copy, until a test fails."""
        # Times in bytecode are whole seconds: bytecode of one mutant could be taken for that of the next.
        return self._run(["-x"], tests, {"PYTHONDONTWRITEBYTECODE": "1"}, TIMEOUT)

    def _run(
        self, options: list[str], tests: Sequence[str], variables: dict[str, str], timeout: float | None
    ) -> Outcome:
        quick = "not slow and not data and not browser"
        command = [sys.executable, "-m", "pytest", "-q", "-m", quick, "--color=no"]
        command += ["-p", "no:cacheprovider", *options, *(f"tests/{test}" for test in tests)]
        environment = {**os.environ, "PYTHONPATH": str(self.root / "src"), **variables}
        environment.pop("NUMBA_CACHE_DIR", None)  # kernels stay beside their files, where they can be put aside
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return Outcome(None, (), process.communicate()[0])
        # The name of a test may hold blanks; " - " begins what pytest says of it.
        failed = re.findall(r"^FAILED (.+?)(?: - .*)?$", output, re.MULTILINE)
        return Outcome(process.returncode, tuple(failed), output)

    @contextmanager
    def broken(self, mutant: Mutant) -> Iterator[None]:
        """Break the copy for as long as it lasts.

        A compiled kernel is found again by its own file's time and size alone, and may hold code of other
        files that it calls. So kernels of the broken file, and of all that import it, are put aside and back.
        """
        path, aside = self.root / mutant.path, self.root / "aside"
        source, times = path.read_text(), path.stat()
        kernels = [kernel for module in self._affected_by(path) for kernel in _compiled(module)]
        aside.mkdir()
        for number, kernel in enumerate(kernels):
            kernel.rename(aside / str(number))
        path.write_text(mutant.broken(source))
        try:
            yield
        finally:
            path.write_text(source)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            for module in self._affected_by(path):
                for kernel in _compiled(module):
                    kernel.unlink()
            for number, kernel in enumerate(kernels):
                (aside / str(number)).rename(kernel)
            aside.rmdir()

    def _affected_by(self, path: Path) -> set[Path]:
        """Find a file and all that import it, or import what does."""
        found = waiting = {path}
        while waiting:
            waiting = {module for module, of in self._imported.items() if of & waiting} - found
            found = found | waiting
        return found

    @cached_property
    def _imported(self) -> dict[Path, set[Path]]:
        """List for each module the files of ours that it imports; tests may have kernels too."""
        return {module: self._imports(module) for module in self.root.rglob("*.py")}

    def _imports(self, module: Path) -> set[Path]:
        names = set()
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:  # a module, or what is in one
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        roots = (self.package.parent, self.root)
        places = (root / name.replace(".", "/") for root in roots for name in names)
        files = {file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")}
        return {file for file in files if file.is_file()}


def _compiled(module: Path) -> list[Path]:
    """List the kernels compiled from a module."""
    return sorted((module.parent / "__pycache__").glob(f"{module.stem}.*.nb[ci]"))
