"""What the growth benchmark makes of its figures, and a tiny run of its tasks."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from benchmarks import growth, stages


def row(trips: int, fit_s: float, **measured: list[float]) -> dict[str, Any]:
    """Make the figures of one size."""
    own = {growth.REST: [fit_s - sum(seconds for seconds, _ in measured.values()), 90.0], **measured}
    return {
        "trips": trips,
        "points": 30 * trips,
        "scan_s": 0.5,
        "stages": own,
        "fit_s": fit_s,
        "peak_mb": 100.0,
        "first_s": 0.25,
        "rate": 50_000.0,
        "states": 400,
        "zones": 20,
    }


ROWS = [
    row(1_000_000, 10.0, counting=[4.0, 80.0]),
    row(3_000_000, 25.0, counting=[9.0, 85.0], late=[6.0, 99.0]),
]


def test_a_power_is_found_again() -> None:
    assert growth.exponent([1, 3, 10], [2 * size**0.7 for size in (1, 3, 10)]) == pytest.approx(0.7)


def test_laws_are_told_where_sizes_allow() -> None:
    assert list(growth.laws(ROWS[:1])) == []
    power, ratio = growth.laws(ROWS)
    assert "trips^0.83." in power and "2.50 times" in ratio


def test_the_table_has_every_stage_in_seconds_and_scans() -> None:
    lines = {line[0]: line[1:] for line in growth.table(ROWS)}
    assert lines["counting"] == ["4.00 s, 8.0 scans, 80 MB", "9.00 s, 18.0 scans, 85 MB"]
    assert lines["late"] == ["-", "6.00 s, 12.0 scans, 99 MB"]
    assert lines[growth.REST][1] == "10.00 s, 20.0 scans, 90 MB"
    assert lines["**fit**"] == ["**10.0 s, 20.0 scans**", "**25.0 s, 50.0 scans**"]


def test_raw_figures_are_written(tmp_path: Path) -> None:
    growth.write_csv(ROWS, tmp_path / "growth.csv")
    with (tmp_path / "growth.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {line["what"] for line in lines} >= {"fit", "scan", "counting", "late", growth.REST, "first sample"}
    late = [line for line in lines if line["what"] == "late"]
    assert [(line["trips"], line["seconds"], line["scans"]) for line in late] == [
        ("3000000", "6.0000", "12.00")
    ]


def test_the_picture_names_its_curves() -> None:
    root = ElementTree.fromstring(growth.picture(ROWS).svg_file())
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"fit", "counting", "late", growth.REST, "Peak memory", "trips", "1M", "3M"} <= set(words)
    assert "prefers-color-scheme: dark" in ElementTree.tostring(root, encoding="unicode")


def test_stages_of_one_name_add_up_and_those_within_do_not_count_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 3.0, 10.0, 10.5, 12.0])  # whoever begins or ends outside looks at it
    monkeypatch.setattr(stages, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    watch = stages.Stopwatch()
    for _ in range(2):
        with watch.stage("outer"), watch.stage("inner"):
            pass
    assert list(watch.stages) == ["outer"] and watch.stages["outer"][0] == 3.0 + 2.0


def test_a_tiny_fit_is_measured_by_stage(tmp_path: Path) -> None:
    path, model = tmp_path / "trips.parquet", tmp_path / "trips.model"
    growth.make(str(path), "300")
    assert growth.scan(str(path))["points"] > 300
    found = growth.measure(str(path), str(model), "no-times", "20")
    assert model.exists() and found["rate"] > 0 and found["states"] > 0
    assert next(iter(found["stages"])) == growth.REST and len(found["stages"]) > 2
    assert sum(seconds for seconds, _ in found["stages"].values()) == pytest.approx(found["fit_s"])
