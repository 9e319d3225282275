"""The example method, loaded from its folder as a package from outside would be."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "examples" / "straight_lines"


def _loaded() -> ModuleType:
    """Import the module under its own name."""
    spec = importlib.util.spec_from_file_location("straight_lines", FOLDER / "straight_lines.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault("straight_lines", importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


lines = _loaded()
