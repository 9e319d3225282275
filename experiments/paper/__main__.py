"""Run what is not there yet, and write the documents.

    python -m experiments.paper [--folder experiments/results] [--sections end-to-end,costs,...] [--documents]

With --documents, nothing is run: the pages are written from what is there. All of it takes about 40 minutes on
two cores; a run that was ended goes on where it was. Remove the folder to begin anew.

Reads real data: NOT PRIVATE.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from experiments.data import REGIONS, folder, path
from experiments.paper import costs, facts
from experiments.paper.results import FOLDER
from experiments.paper.sections import SECTIONS
from privtrace.progress import Progress


def main() -> None:
    """Run sections one after the other, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--sections", type=lambda text: text.split(","), default=None)
    parser.add_argument("--documents", action="store_true")
    options = parser.parse_args()
    if not options.documents:
        run(options.folder, options.sections)
    if options.sections is None:
        from experiments.paper.documents import write

        write(options.folder)


def run(results: Path, chosen: list[str] | None) -> None:
    """Run sections, and then what must run alone."""
    lacking = [name for name in REGIONS if not path(name).exists()]
    if lacking:
        sys.exit(
            f"{folder()}: no data set {', '.join(lacking)}; set $PRIVTRACE_DATA to the folder of the public "
            "data sets, or pass --documents to write the pages from the results that are there"
        )
    results.mkdir(parents=True, exist_ok=True)
    for section in SECTIONS:
        for data in section.data if chosen is None or section.name in chosen else ():
            start = time.monotonic()
            section.run(data, results)
            print(f"{section.name} on {data}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    facts.measure(results)
    if chosen is None or "costs" in chosen:
        start = time.monotonic()
        costs.run(results, Progress())
        print(f"costs: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
