"""Break the code on purpose, in many small ways, and see that a test fails each time.

    make mutants
    python -m mutants [NAME ...]     # some of them
    python -m mutants --list         # what they break, and which tests must catch them

Ends with "N of N caught"; the exit code is 0 if all were.
"""

from __future__ import annotations

import argparse
import queue
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutants import ALL
from mutants.mutant import DoesNotApplyError, Mutant
from mutants.tree import Outcome, Tree

ROOT = Path(__file__).parents[1]
WORKERS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to run; all if none is named")
    parser.add_argument("--list", action="store_true", help="list the mutants and run none")
    options = parser.parse_args(arguments)
    named = {mutant.name: mutant for mutant in ALL}
    if unknown := [name for name in options.names if name not in named]:
        parser.error(f"there is no mutant {unknown[0]}; --list names all")
    chosen = [named[name] for name in options.names] or list(ALL)
    if options.list:
        for line in table([("mutant", "what it breaks", "to be caught by")], listed(chosen)):
            print(line)
        return 0
    return run(chosen, ROOT)


def run(mutants: Sequence[Mutant], root: Path) -> int:
    """Break a copy of a tree by one mutant after the other, and print what caught each."""
    try:
        for mutant in mutants:
            mutant.check(root)
    except DoesNotApplyError as error:
        print(error, file=sys.stderr)
        return 2
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        first = Tree.copied(root, Path(folder, "0"))
        files = sorted({test for mutant in mutants for test in mutant.tests})
        print(f"{len(files)} test files on the tree as it is ...", flush=True)
        whole = first.test(files, WORKERS)
        if not whole.passed:
            print(whole.output, file=sys.stderr)
            print("tests fail on the tree as it is; mend that first", file=sys.stderr)
            return 2
        # Copied only now, with all that was compiled for the tests.
        trees = [first, *(Tree.copied(first.root, Path(folder, str(n))) for n in range(1, WORKERS))]
        results = list(tested(mutants, trees))
    for line in table([("mutant", "what it breaks", "caught by")], told(mutants, results)):
        print(line)
    n_caught = sum(result.caught for result in results)
    for mutant, result in zip(mutants, results, strict=True):
        if not result.caught and not result.passed:
            print(f"\n{mutant.name}: what its tests said last\n{result.output[-2000:]}")
    print(f"{(time.monotonic() - began) / 60:.0f} minutes")
    print(f"{n_caught} of {len(mutants)} caught")
    return 0 if n_caught == len(mutants) else 1


def tested(mutants: Sequence[Mutant], trees: Sequence[Tree]) -> Iterator[Outcome]:
    """Test mutants side by side, one at a time in each tree; give the results in their order."""
    free: queue.Queue[Tree] = queue.Queue()
    for tree in trees:
        free.put(tree)

    def test(mutant: Mutant) -> Outcome:
        tree = free.get()
        try:
            began = time.monotonic()
            with tree.broken(mutant):
                result = tree.test_until_failure(mutant.tests)
            print(f"{mutant.name}: {verdict(result)} ({time.monotonic() - began:.0f} s)", flush=True)
            return result
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as workers:
        yield from workers.map(test, mutants)


def verdict(result: Outcome) -> str:
    """Say in a word how a mutant fared."""
    if result.caught:
        return result.failed[0].removeprefix("tests/")
    if result.passed:
        return "SURVIVED"
    return "HANGS" if result.code is None else f"BROKEN: pytest ended with {result.code}, and no test failed"


Row = tuple[str, str, str]


def listed(mutants: Sequence[Mutant]) -> list[Row]:
    """List mutants with the tests that must catch them."""
    return [(mutant.name, mutant.breaks, ", ".join(mutant.tests)) for mutant in mutants]


def told(mutants: Sequence[Mutant], results: Sequence[Outcome]) -> list[Row]:
    """List mutants with what caught them."""
    return [(m.name, m.breaks, verdict(result)) for m, result in zip(mutants, results, strict=True)]


def table(head: list[Row], rows: list[Row]) -> Iterator[str]:
    """Lay a table out."""
    every = head + rows
    widths = [max(len(row[column]) for row in every) for column in range(2)]
    for name, breaks, last in every:
        yield f"{name:{widths[0]}} | {breaks:{widths[1]}} | {last}"


if __name__ == "__main__":
    sys.exit(main())
