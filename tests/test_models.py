"""Model files: canonical, checksummed, an allow-list; whatever is not sound is refused in words."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privtrace as pt
from privtrace.methods.fitted import fitted
from privtrace.methods.privtrace.model import SCHEMA
from privtrace.models import from_bytes, to_bytes
from privtrace.testing.data import timed_wanderers
from tests import polygons


@pytest.fixture(scope="module")
def content(wanderers: pt.Trajectories, region: pt.Region) -> bytes:
    return to_bytes(pt.PrivTrace(epsilon=4, region=region, theta1=5.0).fit(wanderers))


@pytest.fixture(scope="module")
def polygonal(wanderers: pt.Trajectories) -> bytes:
    return to_bytes(pt.PrivTrace(epsilon=4, region=polygons.region("mixed 1"), K=5).fit(wanderers))


def taken_apart(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    length = struct.unpack_from("<Q", content, 12)[0]
    header = json.loads(content[20 : 20 + length])
    arrays, position = {}, 20 + length
    for name, dtype, shape in header["arrays"]:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        arrays[name] = np.frombuffer(content[position : position + size], dtype).reshape(shape).copy()
        position += size
    return header, arrays


def put_together(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """Write a file whose checksum fits, whatever is in it."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    start = b"PRIVTRAC" + struct.pack("<IQ", 2 if "timing" in header else 1, len(text))
    body = start + text + b"".join(a.tobytes() for a in arrays.values())
    return body + hashlib.sha256(body).digest()


def test_the_header_is_an_allow_list(content: bytes) -> None:
    header, arrays = taken_apart(content)
    assert header.keys() == {
        "method", "software", "epsilon", "unit", "region", "public_count", "settings", "ledger", "arrays",
        "private",
    }  # fmt: skip
    assert list(arrays) == list(SCHEMA)
    assert all(
        charge.keys() == {"stage", "statistic", "unit", "sensitivity", "epsilon", "scale", "mechanism"}
        for charge in header["ledger"]
    )


@pytest.mark.parametrize("size", [0, 7, 19, 20, 100, -1, -33])
def test_truncated_files_are_refused(content: bytes, size: int) -> None:
    with pytest.raises(pt.ModelFormatError, match=r"not a privtrace model|incomplete"):
        from_bytes(content[:size])


def test_every_flipped_byte_is_noticed(content: bytes) -> None:
    rng = np.random.default_rng(0)
    for place in [*range(40), *rng.integers(0, len(content), 300)]:
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(pt.ModelFormatError):
            from_bytes(bytes(damaged))


def test_foreign_newer_and_missing_files(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"PK\x03\x04 something else entirely")
    (tmp_path / "b").write_bytes(content[:8] + struct.pack("<I", 3) + content[12:])
    (tmp_path / "d").write_bytes(content[:8] + struct.pack("<I", 0) + content[12:])
    for name, word in [
        ("a", "not a privtrace model"),
        ("b", "format 3, but this version of privtrace reads formats up to 2; upgrade"),
        ("d", "format 0"),
        ("c", "cannot be read"),
        ("", "cannot be"),
    ]:
        with pytest.raises(pt.ModelFormatError, match=word) as caught:
            pt.load(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


def edits() -> dict[str, Callable[[dict[str, Any], dict[str, np.ndarray]], None]]:
    def header(**changes: Any) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
        return lambda header, arrays: header.update(changes)

    def array(name: str, value: int, place: int = 0) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
        return lambda header, arrays: arrays[name].reshape(-1).__setitem__(place, value)

    def wrapped(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays["second_offsets"][1:4] = [2**63 - 1, -(2**63), -1]

    def charge(**changes: Any) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
        return lambda header, arrays: header["ledger"][0].update(changes)

    def setting(**changes: Any) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
        return lambda header, arrays: header["settings"].update(changes)

    return {
        "unknown entry": header(host="here"),
        "unknown entry in the region": lambda header, arrays: header["region"].update(host="here"),
        "unknown entry in a charge": charge(host="here"),
        "unknown entry in the settings": setting(host="here"),
        "setting of another type": setting(second_layer={"secret": [1]}),
        "whole number as float": setting(max_steps=1000.0),
        "float as whole number": setting(theta2=5),
        "huge epsilon": header(epsilon="1e999999999"),
        "epsilon otherwise written": header(epsilon="4.0"),
        "software that is no text": header(software={"a": 1}),
        "software that moves the cursor": header(software="\x1b[2J"),
        "unknown crs": header(region={"box": [0, 0, 10, 10], "crs": "foo"}),
        "stage that is no text": charge(stage=["count"]),
        "stage that moves the cursor": charge(stage="\x1b[2J"),
        "charge without sensitivity": charge(sensitivity=0),
        "charge about another unit": charge(unit="user"),
        "negative charge": charge(epsilon="-1", scale="-1048576"),
        "empty ledger": header(ledger=[]),
        "public count in parts": header(public_count=1.5),
        "unknown method": header(method="magic"),
        "no method": lambda header, arrays: header.pop("method"),
        "odd epsilon": header(epsilon="1/0"),
        "epsilon of wrong type": header(epsilon=[1]),
        "odd region": header(region={"box": [1, 1, 0, 0], "crs": "planar"}),
        "no crs": header(region={"box": [0, 0, 1, 1], "crs": None}),
        "odd unit": header(unit={"kind": "trajectory", "more": 1}),
        "odd settings": lambda header, arrays: header["settings"].update(max_steps="many"),
        "fewer settings": lambda header, arrays: header["settings"].pop("max_steps"),
        "endless walks": lambda header, arrays: header["settings"].update(max_steps=10**9),
        "odd ledger": header(ledger=[1]),
        "ledger's scale": lambda header, arrays: header["ledger"][0].update(scale="1"),
        "ledger overspent": lambda header, arrays: header.update(epsilon="0.1"),
        "arrays renamed": lambda header, arrays: header["arrays"][0].__setitem__(0, "other"),
        "array of objects": lambda header, arrays: header["arrays"][0].__setitem__(1, "|O"),
        "array too long": lambda header, arrays: header["arrays"][0].__setitem__(2, [1 << 60]),
        "array negative": lambda header, arrays: header["arrays"][0].__setitem__(2, [-1]),
        "array of other shape": lambda header, arrays: header["arrays"][1].__setitem__(2, [1]),
        "negative count": array("count", -1),
        "no division": array("divisions", 0),
        "other division": array("divisions", 7),
        "state out of range": array("second_states", 10**6),
        "states not rising": array("second_states", 0, place=-1),
        "successor out of range": array("second_successors", 10**6),
        "negative successor": array("second_successors", -1),
        "negative weight": array("second_weights", -5),
        "weight too large": array("second_weights", 1 << 62),
        "offsets falling": array("second_offsets", 10**9, place=3),
        "offsets past the end": array("second_offsets", 10**9, place=-1),
        "offsets that wrap around": wrapped,
        "negative trips": array("trips", -1),
        "too many trips": array("trips", 1 << 62),
        "more bytes": lambda header, arrays: arrays.update(more=np.zeros(3)),
        "private by word": header(private="yes"),
    }


@pytest.mark.parametrize("name", edits())
def test_files_that_are_not_sound_are_refused(content: bytes, name: str) -> None:
    """A valid checksum proves nothing: kernels trust the tables, so each must fit."""
    header, arrays = taken_apart(content)
    edits()[name](header, arrays)
    changed = put_together(header, arrays)
    with pytest.raises(pt.ModelFormatError):
        from_bytes(changed)


def test_the_header_names_the_polygon_and_the_statement_describes_it(polygonal: bytes, content: bytes) -> None:
    header, _ = taken_apart(polygonal)
    assert header["region"].keys() == {"box", "crs", "polygon"}
    assert taken_apart(content)[0]["region"].keys() == {"box", "crs"}
    assert pt.Region.polygon(header["region"]["polygon"], crs="planar") == polygons.region("mixed 1")
    release = from_bytes(polygonal).release
    assert release.region == polygons.region("mixed 1")
    public = dict(release.statement())["Public inputs"]
    assert "a polygon of 4 parts, 1 hole and" in public and len(public) < 300


def polygon_edits() -> dict[str, Callable[[dict[str, Any], dict[str, np.ndarray]], None]]:
    def region(change: Callable[[Any], Any]) -> Callable[[dict[str, Any], dict[str, np.ndarray]], None]:
        return lambda header, arrays: header["region"].update(polygon=change(header["region"]["polygon"]))

    def comb(n: int) -> list[Any]:
        teeth = [[i * 10 / n, 9.0 if i % 2 else 0.0] for i in range(n + 1)]
        return [[[*teeth, [10, 10], [0, 10], teeth[0]]]]

    def gap(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays["density"][arrays["density"] == 0] = 7

    def slots(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays["divisions"][:] = 10_000

    return {
        "no rings": region(lambda parts: []),
        "not a list": region(lambda parts: 7),
        "nothing": region(lambda parts: None),
        "a mapping": region(lambda parts: {"type": "MultiPolygon", "coordinates": parts}),
        "another order": region(lambda parts: parts[::-1]),
        "turned": region(lambda parts: [[ring[::-1] for ring in part] for part in parts]),
        "a part less": region(lambda parts: parts[:-1]),
        "not a number": region(lambda parts: [[[[0, 0], [1, None], [1, 1], [0, 0]]]]),
        "huge": region(lambda parts: [[[[0, 0], [1e308, 0], [1, 1], [0, 0]]]]),
        "deep": region(lambda parts: json.loads("[" * 500 + "]" * 500)),
        "crossing itself": region(lambda parts: [[[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]]),
        "too complex": region(lambda parts: comb(90_000)),
        "too many vertices": region(lambda parts: comb(110_000)),
        "another box": lambda header, arrays: header["region"].update(box=[0, 0, 10, 10]),
        "a box alone": lambda header, arrays: header["region"].pop("polygon"),
        "density in a gap": gap,
        "negative divisions": lambda header, arrays: arrays["divisions"].__setitem__((0, 0), -3),
        "many slots": slots,
    }


@pytest.mark.parametrize("name", polygon_edits())
def test_polygons_that_are_not_sound_are_refused(polygonal: bytes, name: str) -> None:
    header, arrays = taken_apart(polygonal)
    polygon_edits()[name](header, arrays)
    with pytest.raises(pt.ModelFormatError):
        from_bytes(put_together(header, arrays))


def test_a_missing_stamp_reads_as_not_private(content: bytes) -> None:
    header, arrays = taken_apart(content)
    assert from_bytes(put_together(header, arrays)).release.private
    del header["private"]
    assert not from_bytes(put_together(header, arrays)).release.private


def test_an_existing_model_is_not_overwritten(content: bytes, tmp_path: Path) -> None:
    model = from_bytes(content)
    model.save(tmp_path / "a")
    with pytest.raises(pt.OutputError, match="--force"):
        model.save(tmp_path / "a")
    model.save(tmp_path / "a", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


PERIOD = "2013-07-08/2013-07-15"


@pytest.fixture(scope="module")
def of_days() -> pt.Trajectories:
    """Give trips that are shown in the hours of Tokyo."""
    return replace(timed_wanderers()[:150], zone="Asia/Tokyo")


@pytest.mark.parametrize("sampling", [False, True])
def test_a_period_without_times_keeps_the_zone_of_its_days(
    of_days: pt.Trajectories, sampling: bool, region: pt.Region, tmp_path: Path
) -> None:
    settings = pt.AdaTrace(epsilon=4, region=region, times=False, sampling=sampling, period=PERIOD)
    model = settings.fit(of_days)
    content = to_bytes(model)
    header, _ = taken_apart(content)
    assert header["calendar"]["timezone"] == "Asia/Tokyo" and header["calendar"]["tzdata"]
    again = from_bytes(content)
    assert to_bytes(again) == content and again.release.calendar == model.release.calendar
    words = dict(again.release.statement())["Points and times"]
    assert f"period {PERIOD}" in words and "in local days of Asia/Tokyo (tzdata" in words
    # It has no times for all that.
    assert again.release.times is None and again.release.when == "Synthetic trips have no times."
    assert again.sample(5, seed=1).times is None and "privtrace.times" not in again.release.about
    assert fitted(again).hours is None and "synthetic trips have no times" in again.report().html
    for what, by in (("departures", None), ("sumo", None), ("od", "hour")):
        with pytest.raises(pt.SettingsError, match="the model has no times"):
            again.export(what, tmp_path / ("a.xml" if what == "sumo" else "a.csv"), by=by)
    assert not [*tmp_path.iterdir()]


def test_neither_times_nor_a_period_need_a_zone(of_days: pt.Trajectories, region: pt.Region) -> None:
    model = pt.AdaTrace(epsilon=4, region=region, sampling=True).fit(of_days)
    assert model.release.calendar is None and "calendar" not in taken_apart(to_bytes(model))[0]


@pytest.mark.parametrize("times", [False, True])
@pytest.mark.parametrize(
    ("zone", "words", "is_refused"),
    [
        ("Europe/Lisbon", "", {False: False, True: False}),
        (
            "Europe/Porto",
            "zone Europe/Porto, which this machine does not know; install",
            {False: False, True: True},
        ),
        ("localtime", "does not know", {False: False, True: True}),
        ("../../etc/passwd", "has no valid name", {False: True, True: True}),
        ("it is noon", "has no valid name", {False: True, True: True}),
        ("", "has no valid name", {False: True, True: True}),
        (9, "no text where text is expected", {False: True, True: True}),
    ],
)
def test_a_zone_must_be_known_where_times_are_written_in_it_and_look_like_one_elsewhere(
    of_days: pt.Trajectories,
    region: pt.Region,
    zone: Any,
    words: str,
    is_refused: dict[bool, bool],
    times: bool,
) -> None:
    model = pt.AdaTrace(epsilon=4, region=region, times=times, period=PERIOD).fit(of_days)
    header, arrays = taken_apart(to_bytes(model))
    header["calendar"]["timezone"] = zone
    changed = put_together(header, arrays)
    if is_refused[times]:
        with pytest.raises(pt.ModelFormatError, match=words):
            from_bytes(changed)
    else:
        loaded = from_bytes(changed).release.calendar
        assert loaded is not None and loaded.zone.name == zone


def test_a_period_needs_its_calendar(of_days: pt.Trajectories, region: pt.Region) -> None:
    header, arrays = taken_apart(to_bytes(pt.AdaTrace(epsilon=4, region=region, period=PERIOD).fit(of_days)))
    del header["calendar"]
    with pytest.raises(pt.ModelFormatError, match="not valid for this format"):
        from_bytes(put_together(header, arrays))
