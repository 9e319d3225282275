"""Run all checks of a method, named on the command line: `python -m privtrace.testing NAME`."""

from __future__ import annotations

import sys
import traceback

from privtrace.errors import PrivTraceError
from privtrace.methods.registry import find
from privtrace.testing import checks


def main(name: str) -> int:
    """Print each check and whether it holds; return the number of those that do not."""
    failed = 0
    for check in checks(find(name).settings):
        try:
            check()
        except Exception:
            failed += 1
            print(f"FAILED {check}\n{traceback.format_exc()}")
        else:
            print(f"holds  {check}")
    print(f"{failed} failed" if failed else "all hold")
    return failed


if __name__ == "__main__":
    try:
        sys.exit(1 if main(*sys.argv[1:2] or ["bridgetrace"]) else 0)
    except PrivTraceError as error:
        sys.exit(f"error: {error}")
