"""The same seeds give the same arrays, samples and files as ever: see `tests.kept`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kept import SETUPS, machine, results

KEPT = json.loads(Path(__file__).with_name("kept.json").read_text())


@pytest.mark.parametrize("name", SETUPS)
def test_results_are_kept(name: str) -> None:
    if machine() != KEPT["machine"]:
        pytest.skip("this machine rounds otherwise than the one that wrote the digests")
    assert results(name) == KEPT[name]
