"""Data and regions that do not fit each other: what is said before the charge, and to the curator after it."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.cli.running import run

import privtrace as pt

PORTO = "--region=-8.70,41.10,-8.54,41.22"
METERS = "meters of a projected system"
DEGREES = "look like degrees"
ELSEWHERE = "seems to be elsewhere"
SWAPPED = "seem to be swapped"
PLANAR = "warning: the region -8.7,41.1,-8.54,41.22 looks like degrees"

#: File, options, what a warning says before the charge, and what the curator hears after it.
CASES = [
    ("good.csv", [PORTO], None, None),
    ("three.csv", [PORTO], None, None),
    ("swapped.csv", [PORTO], None, SWAPPED),
    ("good.csv", ["--region=41.10,-8.70,41.22,-8.54"], None, SWAPPED),
    ("utm.csv", [PORTO], None, METERS),
    ("utm.csv", [PORTO, "--crs=EPSG:32629", "--columns=x=lon,y=lat"], None, None),
    ("utmxy.csv", [PORTO], PLANAR, METERS),
    ("utmxy.csv", ["--region=2.2,48.8,2.5,48.95", "--crs=EPSG:32629"], "EPSG:32629 is made for", ELSEWHERE),
    ("good.csv", ["--region=2.2,48.8,2.5,48.95"], None, ELSEWHERE),
    ("half.csv", ["--region=-8.70,41.10,-8.54,41.12"], None, "large enough"),
    ("degrees.gpkg", [PORTO], None, DEGREES),
    ("degrees.geoparquet", [PORTO], None, DEGREES),
    ("good.csv", ["--region=-9.4,40.5,-7.8,41.7"], None, "of the region: most of it is empty"),
    ("good.csv", ["--region=-20,35,5,50"], "2,055 km wide", "of the region: most of it is empty"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the same trips of Porto in many ways, of which most are wrong."""
    made = tmp_path_factory.mktemp("doubts")
    rng = np.random.default_rng(1)
    points = rng.uniform((-8.69, 41.11), (-8.55, 41.21), (1200, 2))
    offsets = np.arange(0, 1201, 10)
    lonlat = pt.Trajectories(points, offsets)
    lonlat.write(made / "good.csv")
    out = (rng.random(1200) < 0.03) * 1.0
    pt.Trajectories(points + np.stack([out, out], axis=1), offsets).write(made / "three.csv")
    pt.Trajectories(np.ascontiguousarray(points[:, ::-1]), offsets).write(made / "swapped.csv")
    lonlat.write(made / "half.csv")
    utm = lonlat.to_crs("EPSG:32629")
    utm.write(made / "utmxy.csv")
    text = (made / "utmxy.csv").read_text()
    (made / "utm.csv").write_text(text.replace("traj_id,x,y", "traj_id,lon,lat"))
    for name in ("degrees.gpkg", "degrees.geoparquet"):
        pt.Trajectories(points, offsets, crs="EPSG:3763").write(made / name)
    return made


@pytest.mark.parametrize(("file", "options", "before", "after"), CASES)
def test_a_fit_ends_with_the_likely_cause_and_what_was_spent(
    folder: Path, tmp_path: Path, file: str, options: list[str], before: str | None, after: str | None
) -> None:
    ledger = f"--budget-file={tmp_path / 'a.ledger'}"
    fit = [
        "fit",
        file,
        *options,
        "--method=privtrace",
        "--K=2",
        "--epsilon=1",
        f"--output={tmp_path / 'a.model'}",
    ]
    told = run(*fit, ledger, "--limit=9", "--json", cwd=folder).stderr.splitlines()
    # That the model is noise then is no doubt.
    warnings = [line for line in told if line.startswith("warning") and "What would help" not in line]
    notes = [line for line in told if "points lie in the region" in line]
    assert len(warnings) == (before is not None) and all(before in line for line in warnings if before)
    assert len(notes) == (after is not None)
    for note in notes:
        assert after is not None and after in note and "for the curator only, NOT PRIVATE" in note
        assert "psilon 1 stays charged to " in note and note.endswith("another fit spends as much again")
        assert not warnings or told.index(warnings[0]) < told.index(note)
        assert not re.search(r"-?\d+\.\d{2}", note)  # no coordinate
    model = (tmp_path / "a.model").read_bytes()
    assert not any(word in model for word in (b"swapped", b"elsewhere", b"n_swapped", b"curator"))
    checked = run("check", file, *options, cwd=folder, code=1 if file == "utm.csv" and len(options) == 1 else 0)
    (found,) = [line for line in checked.stderr.splitlines() if "points lie in the region" in line]
    assert not notes or notes[0].startswith(found)  # the same sentence, but for what was spent


@pytest.mark.parametrize(
    ("header", "options", "words"),
    [
        ("traj_id,lon,lat", ["--crs=EPSG:32629"], "'lon' and 'lat' are longitude and latitude, but EPSG:32629"),
        ("traj_id,Easting,Northing", ["--columns=lon=Easting,lat=Northing"], "names of projected coordinates"),
    ],
)
def test_columns_that_contradict_the_system_are_refused_before_the_charge(
    folder: Path, tmp_path: Path, header: str, options: list[str], words: str
) -> None:
    rows = (folder / "utmxy.csv").read_text().partition("\n")[2]
    (tmp_path / "a.csv").write_text(f"{header}\n{rows}")
    x, y = header.split(",")[1:]
    fit = ["fit", "a.csv", PORTO, "--epsilon=1", "--output=a.model", "--budget-file=a.ledger", "--limit=9"]
    told = " ".join(run(*fit, *options, cwd=tmp_path, code=2).stderr.split())
    assert words in told and f"--columns x={x},y={y}" in told and "nothing was charged" in told
    assert not (tmp_path / "a.ledger").exists()


def test_times_that_cannot_be_read_are_told_at_the_end_with_what_they_cost(tmp_path: Path) -> None:
    """Milliseconds that are declared as seconds lie far beyond the year 9999."""
    rows = [f"{n},-8.6{n % 10},41.15,{1_372_636_800_000 + n}" for n in range(40)]
    (tmp_path / "a.csv").write_text("\n".join(["traj_id,lon,lat,t", *rows]))
    fit = ["fit", "a.csv", PORTO, "--epsilon=1", "--time-unit=s", "--output=a.model"]
    told = run(*fit, cwd=tmp_path).stderr.splitlines()
    (note,) = [line for line in told if "0 of 40 points have a readable time" in line]
    assert "--time-unit" in note and "epsilon 1 is spent, and another fit spends as much again" in note


def test_what_ends_a_fit_early_hides_nothing_and_what_it_keeps_is_told_once(
    wanderers: pt.Trajectories, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(pt.SeededNoise):
        def laplace(self, n_draws: int, scale: object) -> object:
            raise RuntimeError

    region = pt.Region.box(500, 500, 600, 600)
    with pytest.raises(RuntimeError):
        pt.PrivTrace(epsilon=1, region=region).fit(wanderers, noise=Broken(1))
    assert len(caplog.messages) == 1
    assert "0 of 600 trajectories" in caplog.text and "spends no budget" in caplog.text


def test_a_doubt_comes_before_the_charge_and_names_the_line_of_the_fit(tmp_path: Path) -> None:
    account = pt.BudgetFile(tmp_path / "a.ledger", limit=1)
    trips = pt.Trajectories(np.array([[-8.6, 41.15], [-8.6, 41.16]]), np.array([0, 2]), crs="planar")
    fit = pt.PrivTrace(epsilon=1, region=(-8.70, 41.10, -8.54, 41.22)).fit
    with warnings.catch_warnings(), pytest.raises(UserWarning, match="looks like degrees"):
        warnings.simplefilter("error")
        fit(trips, budget_file=account)
    assert not account.charged
    with pytest.warns(UserWarning, match="looks like degrees") as caught:
        fit(trips, budget_file=account)
    assert [warning.filename for warning in caught] == [__file__] and account.charged == 1
