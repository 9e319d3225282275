"""Convert and check, run as a user runs them."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.cli.running import COMMAND, run

import privtrace as pt

DIRTY = """\
trip;user;when;lng;lat
a;ann;1;8,50;47,1
a;ann;3;8,52;47,3
b;bob;5;8,6;400
a;ann;2;8,51;47,2
;bob;6;8,6;47,1
b;bob;7;0;0
b;bob;8;x;47,1
b;bob;9;8,6;47,1;extra
c;;10;8,7;47,4
"""


@pytest.fixture
def dirty(tmp_path: Path) -> Path:
    (tmp_path / "dirty.csv").write_text(DIRTY)
    return tmp_path


def columns() -> str:
    return "--columns=traj_id=trip,user_id=user,t=when"


def test_check_tells_file_line_and_reason_and_never_a_value(dirty: Path) -> None:
    done = run("check", "dirty.csv", columns(), cwd=dirty, code=1)
    lines = done.stdout.splitlines()
    assert "NOT PRIVATE" in lines[0]
    assert lines[1:6] == [
        "dirty.csv:4: latitude is beyond 90 degrees",
        "dirty.csv:6: no trajectory id",
        "dirty.csv:7: the point is (0, 0), which receivers report without a fix",
        "dirty.csv:8: longitude is missing or not a number",
        "dirty.csv:9: too many fields",
    ]
    assert "9 rows, 3 trajectories, 2 users, 4 usable points" in done.stdout
    for words in ("2  trips with scattered rows", "1  trips with times out of order"):
        assert words in done.stdout
    assert "47" not in done.stdout and "400" not in done.stdout


def test_check_as_json(dirty: Path) -> None:
    facts = json.loads(run("check", "dirty.csv", columns(), "--json", cwd=dirty, code=1).stdout)
    assert facts["not_private"] is True and facts["n_trajectories"] == 3
    assert [fault["line"] for fault in facts["faults"]] == [4, 6, 7, 8, 9]
    assert sum(facts["reasons"].values()) == 5


def test_check_lists_the_first_of_many_faults(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tid,lon,lat\n" + "a,x,2\n" * 1030 + ",1,2\n")
    reason = "longitude is missing or not a number"
    lines = run("check", "a.csv", cwd=tmp_path, code=1).stdout.splitlines()
    assert lines[1:21] == [f"a.csv:{line}: {reason}" for line in range(2, 22)]
    assert lines[21:23] == [
        "a.csv:1032: no trajectory id",
        f"... and 1,010 more rows: {reason} (--all lists them)",
    ]
    facts = json.loads(run("check", "a.csv", "--json", cwd=tmp_path, code=1).stdout)
    assert len(facts["faults"]) == 21 and facts["reasons"] == {reason: 1030, "no trajectory id": 1}
    assert len(run("check", "a.csv", "--all", cwd=tmp_path, code=1).stdout.splitlines()) > 1031


def test_data_comes_by_standard_input_and_goes_to_standard_output(tmp_path: Path) -> None:
    text = b"tid,lon,lat\na,1,2\nb,x,4\na,3,4\n"
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}

    def piped(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*COMMAND, *arguments], input=given, capture_output=True, cwd=tmp_path, env=environment, check=False
        )

    done = piped("convert", "-", "-", given=gzip.compress(text))
    assert (done.returncode, done.stdout) == (0, b'traj_id,lon,lat\n"a",1,2\n"a",3,4\n"b",nan,4\n'), done.stderr
    assert b"written to standard output (csv)" in done.stderr
    done = piped("check", "-", given=text)
    assert b"standard input:3: longitude is missing" in done.stdout and done.returncode == 1
    assert b"exact numbers about standard input," in done.stdout
    assert not list((tmp_path / "temporary").iterdir())
    (tmp_path / "a.csv").write_bytes(text)
    done = piped("convert", "a.csv", "-", "--to=parquet")
    assert (
        b"parquet cannot go to standard output; write csv or other text" in done.stderr and done.returncode == 2
    )
    many = pt.Trajectories(np.zeros((500_000, 2)), np.array([0, 500_000]), crs="planar")
    many.write(tmp_path / "many.parquet")
    command = f"{shlex.join([*COMMAND, 'convert', 'many.parquet', '-', '--to=tsv'])} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, cwd=tmp_path, check=False)
    assert done.stdout == b"traj_id\tx\ty\n" and b"rror" not in done.stderr, done.stderr


def test_check_of_a_sound_file_ends_with_0(tmp_path: Path, wanderers: pt.Trajectories) -> None:
    wanderers.write(tmp_path / "a.parquet")
    done = run("check", "a.parquet", "--region=0,0,10,10", cwd=tmp_path)
    assert "all rows are usable" in done.stdout and "600 trajectories" in done.stdout
    assert "trajectories and" in done.stderr and "NOT PRIVATE" in done.stderr


def test_a_file_without_rows_is_sound_and_said_to_be_empty(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tid,x,y\n")
    done = run("check", "a.csv", "--region=0,0,10,10", cwd=tmp_path)
    assert "0 rows, 0 trajectories, 0 usable points\n  there are no rows" in done.stdout
    assert "the data has no rows" in done.stderr and "swapped" not in done.stderr


def test_a_region_that_cannot_be_is_refused_before_anything_is_told(dirty: Path) -> None:
    done = run("check", "dirty.csv", columns(), "--region=1,2,3", cwd=dirty, code=2)
    assert done.stdout == "" and "W,S,E,N" in done.stderr


def test_swapped_axes_are_hinted_at(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tid,lon,lat\n" + "1,41.1,-8.6\n1,41.2,-8.6\n" * 20)
    region = "--region=-8.70,41.10,-8.54,41.22"
    assert "swapped" in run("check", "a.csv", region, cwd=tmp_path).stderr
    done = run("fit", "a.csv", region, "--epsilon=1", "--output=a.model", cwd=tmp_path)
    assert "swapped" in done.stderr


def test_strict_stops_at_the_first_bad_row(dirty: Path) -> None:
    done = run("convert", "dirty.csv", "a.parquet", columns(), "--strict", cwd=dirty, code=2)
    assert "dirty.csv:4: latitude is beyond 90 degrees" in done.stderr and "400" not in done.stderr
    assert "NOT PRIVATE" in done.stderr
    assert not (dirty / "a.parquet").exists()


def test_times_that_cannot_be_read_are_told_and_their_form_can_be_declared(tmp_path: Path) -> None:
    lines = ["a,8.5,47.1,31/12/2025 08:00", "a,8.6,47.2,30/12/2025 09:00", "a,8.7,47.3,"]
    (tmp_path / "a.csv").write_text("\n".join(["tid,lon,lat,time", *lines]) + "\n")
    told = "2 of 2 times could not be read, and their points come last, in the order of lon and lat; set their"
    done = run("check", "a.csv", cwd=tmp_path, code=1)
    assert done.stdout.splitlines()[1:4] == [
        "a.csv:2: time cannot be read",
        "a.csv:3: time cannot be read",
        "a.csv:4: time is missing",
    ]
    assert told in done.stderr and "--time-format (time_format) or --time-unit (time_unit)" in done.stderr
    assert "2025" not in done.stdout + done.stderr
    fit = [
        "fit",
        "a.csv",
        "--region=8,47,9,48",
        "--epsilon=1",
        "--output=a.model",
        "--method=adatrace",
        "--N=2",
    ]
    done = run(*fit, "--quiet", cwd=tmp_path)
    assert done.stderr.count(told) == 1 and "NOT PRIVATE" in done.stderr
    done = run(*fit, "--force", cwd=tmp_path)
    assert "The times order the points" in done.stdout
    done = run("convert", "a.csv", "b.parquet", "--strict", cwd=tmp_path, code=2)
    assert "a.csv:2: time cannot be read" in done.stderr
    form = ["--time-format=%d/%m/%Y %H:%M", "--gap=30", "--json"]
    facts = json.loads(run("check", "a.csv", *form, cwd=tmp_path, code=1).stdout)
    assert facts["reasons"] == {"time is missing": 1}
    assert (facts["n_rows"], facts["n_trajectories"], facts["n_points"]) == (3, 2, 2)


def test_a_gap_needs_a_clock(tmp_path: Path, wanderers: pt.Trajectories) -> None:
    replace(wanderers[:3], times=np.arange(wanderers[:3].n_points) * 1000.0).write(tmp_path / "a.parquet")
    done = run("check", "a.parquet", "--gap=30", cwd=tmp_path, code=2)
    assert "numbers without a unit" in done.stderr and "--time-unit s, ms, us or ns" in done.stderr
    assert "3 trajectories" in run("check", "a.parquet", "--gap=30", "--time-unit=ms", cwd=tmp_path).stdout


def test_local_times_have_a_zone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tid,lon,lat,datetime\na,8.5,47.1,2024-07-01 08:00:00\n")
    run("convert", "a.csv", "b.csv", "--timezone=Europe/Lisbon", cwd=tmp_path)
    assert "2024-07-01T08:00:00+01:00" in (tmp_path / "b.csv").read_text()
    run("convert", "b.csv", "c.csv", cwd=tmp_path)
    assert "2024-07-01T07:00:00Z" in (tmp_path / "c.csv").read_text()
    run("convert", "a.csv", "d.parquet", "--timezone=Europe/Lisbon", cwd=tmp_path)
    said = run("convert", "d.parquet", "e.csv", cwd=tmp_path).stdout
    assert "names the zone Europe/Lisbon" in " ".join(said.split())
    assert "2024-07-01T07:00:00Z" in (tmp_path / "e.csv").read_text()
    done = run("convert", "b.csv", "d.csv", "--timezone=Europe/Porto", cwd=tmp_path, code=2)
    assert "--timezone (timezone): there is no time zone 'Europe/Porto'; give an IANA name" in done.stderr
    assert not (tmp_path / "d.csv").exists()


def test_convert_keeps_users_and_times(dirty: Path) -> None:
    run("convert", "dirty.csv", "a.parquet", columns(), "--sort", cwd=dirty)
    made = pt.read(dirty / "a.parquet").collect()
    assert made.ids is not None and made.users is not None and made.times is not None
    assert made.ids.tolist() == ["a", "b", "c"] and made.users.tolist() == ["ann", "bob", ""]
    assert made.times.tolist() == [1, 2, 3, 5, 7, 8, 10]
    np.testing.assert_array_equal(made.points[:3], [[8.5, 47.1], [8.51, 47.2], [8.52, 47.3]])


def test_convert_counts_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("tid,x,y\n1,2,3\n")
    done = run("convert", "a.csv", "b.csv", cwd=tmp_path)
    assert "1 trajectory with 1 point in all written to b.csv" in done.stdout


def test_convert_says_what_a_format_cannot_hold(dirty: Path) -> None:
    done = run("convert", "dirty.csv", "a.dat", columns(), cwd=dirty)
    assert "cannot hold longitude and latitude by name" in done.stderr and "times, users" in done.stderr
    assert "NOT PRIVATE" in done.stdout and "3 trajectories with 7 points" in done.stdout
    facts = json.loads(run("convert", "a.dat", "b.csv.gz", "--json", cwd=dirty).stdout)
    assert facts == {
        "not_private": True,
        "output": "b.csv.gz",
        "format": "csv",
        "trajectories": 3,
        "points": 7,
        "lost": [],
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["convert", "empty", "a.csv"], "no data in this folder"),
        (["convert", "nothing.csv", "a.parquet"], "is empty"),
        (["convert", "page.pdf", "a.parquet"], "PDF"),
        (["convert", "dirty.csv", "a.xlsx", columns()], "unknown format"),
        (["convert", "dirty.csv", "here.csv", columns()], "--force"),
        (["convert", "dirty.csv", "empty", "--to=geolife", columns(), "--force", "--gap=x"], "gap"),
        (["convert", "dirty.csv", "a.csv", "--columns=lon=lng,lat=lat,traj_id=nope"], "nope"),
        (["convert", "dirty.csv", "a.csv", "--columns=lon:lng"], "--columns"),
        (["convert", "dirty.csv", "a.csv", "--columns=traj_id=trip", "--gap=-3"], "gap"),
        (["check", "absent.csv"], "no such file"),
        (["check", "dirty.csv", columns(), "--time-unit=s", "--time-format=%F"], "(time_format) is for times"),
        (["check", "dirty.csv", columns(), "--time-format=%H:%M"], "(time_format): '%H:%M' has no year"),
        (["check", "dirty.csv", columns(), "--time-unit=min"], "--time-unit"),
        (["check", "two.csv"], "--columns"),
    ],
)  # fmt: skip
def test_mistakes_end_with_2_and_words(dirty: Path, arguments: list[str], words: str) -> None:
    (dirty / "empty").mkdir()
    (dirty / "nothing.csv").touch()
    (dirty / "page.pdf").write_bytes(b"%PDF-1.7 nothing else")
    (dirty / "here.csv").write_text("precious")
    (dirty / "two.csv").write_text("tid,trip_id,lon,lat\n1,1,2,3\n")
    before = sorted(path.name for path in dirty.iterdir())
    done = run(*arguments, cwd=dirty, code=2)
    assert words in " ".join(done.stderr.split())
    assert sorted(path.name for path in dirty.iterdir()) == before
    assert (dirty / "here.csv").read_text() == "precious"


@pytest.mark.skipif(os.name != "posix", reason="names like this need a POSIX file system")
def test_odd_names_of_files(tmp_path: Path, wanderers: pt.Trajectories) -> None:
    name = "öäü trips [1] *.csv"
    wanderers[:5].write(tmp_path / name)
    run("convert", name, "--", "-out.csv", cwd=tmp_path)
    assert (tmp_path / "-out.csv").exists()
