"""Demand for simulators: one trip per trajectory, as a loop over them would write it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import privtrace as pt
from privtrace.errors import OutputError
from privtrace.export import simulators
from privtrace.export.simulators import NamedZones, write_matsim, write_sumo

#: Days over a weekend on which clocks in Lisbon go back: an hour comes twice.
BEGIN, N = np.datetime64("2024-10-25"), 200
ABOUT = {"privtrace.guarantee": "pure --- ε < 1 & -- more-", "who": "-"}
ZONES = NamedZones(['a "b" & <c>', "d"], lambda points: np.where(points[:, 0] > 7, -1, points[:, 1] > 5))


def parts(crs: str = "planar", zone: str = "Europe/Lisbon") -> list[pt.Trajectories]:
    """Give trajectories of 0 to 4 points in two parts; some depart at the same time."""
    rng = np.random.default_rng(3)
    offsets = np.concatenate([[0], np.cumsum(np.arange(N) % 5)])
    departures = np.datetime64("2024-10-24T23:00", "ms") + 1000 * rng.integers(0, 300_000, N)
    departures[1::7] = departures[1] + 20
    times = departures.repeat(np.diff(offsets)) + 1000 * np.arange(offsets[-1])
    times[offsets[:-1]] = departures
    points = rng.uniform(0, 10, (offsets[-1], 2))
    made = pt.Trajectories(points, offsets, times, crs=crs, zone=zone)
    return [made[:70], made[70:]]


def expected(crs: str) -> list[dict[str, Any]]:
    """Write down trip by trip what a trip is."""
    begin, trips = BEGIN.astype("datetime64[s]").item(), []
    for number, trip in enumerate(trip for part in parts(crs) for trip in part):
        if len(trip) and trip.times is not None:
            utc = trip.times[0].item().replace(tzinfo=ZoneInfo("UTC"))
            local = utc.astimezone(ZoneInfo("Europe/Lisbon")).replace(tzinfo=None)
            here, there = trip.points[[0, -1]].tolist()
            depart = (local - begin).total_seconds()
            trips.append({"number": number, "depart": depart, "from": here, "to": there})
    return trips


def written(write: Callable[..., None], *given: Any) -> Any:
    sink = io.BytesIO()
    write(sink, *given)
    text = sink.getvalue().decode()
    comment = text.split("<!--\n")[1].split("-->")[0]
    assert "--" not in comment and "guarantee: pure - - - ε < 1 & - - more-\n" in comment
    return ElementTree.fromstring(text)


def near(text: str, point: list[float], digits: float) -> bool:
    return bool(np.allclose([float(one) for one in text.split(",")], point, rtol=0, atol=digits))


@pytest.mark.parametrize(("crs", "kind"), [("lonlat", "LonLat"), ("planar", "XY"), ("EPSG:3763", "XY")])
def test_trips_of_sumo_are_in_the_order_of_departure(
    crs: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulators, "_CHUNK_TRIPS", 32)
    found = written(write_sumo, parts(crs), BEGIN, None, ABOUT)
    wanted = sorted(expected(crs), key=lambda trip: (trip["depart"], trip["number"]))
    assert found.tag == "routes" and [int(trip.get("id")) for trip in found] == [
        one["number"] for one in wanted
    ]
    for trip, one in zip(found, wanted, strict=True):
        assert [*trip.keys()] == ["id", "depart", f"from{kind}", f"to{kind}"]
        assert trip.get("depart") == f"{one['depart']:.2f}"
        digits = 5e-3 if crs == "EPSG:3763" else 6e-4 if crs == "planar" else 6e-7
        assert all(near(trip.get(f"{end}{kind}"), one[end], digits) for end in ("from", "to"))


def test_trips_of_sumo_lead_from_zone_to_zone_where_there_are_some() -> None:
    found = written(write_sumo, parts(), BEGIN, ZONES, ABOUT)
    wanted = {f"{one['number']}": one for one in expected("planar")}
    for trip in found:
        for end in ("from", "to"):
            x, y = wanted[trip.get("id")][end]
            assert trip.get(f"{end}Taz") == (None if x > 7 else ZONES.names[y > 5])
            assert (trip.get(f"{end}XY") is None) == (x <= 7)


def test_plans_of_matsim_are_one_leg_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulators, "_CHUNK_TRIPS", 32)
    system, *persons = written(write_matsim, parts("EPSG:3763"), BEGIN, ABOUT, 'a "b"')
    assert ElementTree.tostring(system, "unicode", "text").strip() == "EPSG:3763"
    assert max(one["depart"] for one in expected("EPSG:3763")) > 86_400
    for person, one in zip(persons, expected("EPSG:3763"), strict=True):
        assert int(person.get("id")) == one["number"]
        ((origin, leg, destination),) = person
        hours, minutes, seconds = map(int, origin.get("end_time").split(":"))
        assert 3600 * hours + 60 * minutes + seconds == int(one["depart"]) and max(minutes, seconds) < 60
        assert len(origin.get("end_time")) == 8 and leg.get("mode") == 'a "b"'
        assert near(f"{origin.get('x')},{origin.get('y')}", one["from"], 5e-3)
        assert near(f"{destination.get('x')},{destination.get('y')}", one["to"], 5e-3)


def test_what_simulators_cannot_use_is_refused() -> None:
    first, _ = parts()
    nowhere = replace(first, points=np.full_like(first.points, np.nan))
    untimed = replace(first, times=np.full(first.n_points, np.datetime64("NaT", "ms")))
    refused: list[tuple[Callable[..., None], list[Any], str]] = [
        (write_matsim, [parts("lonlat"), BEGIN, ABOUT], r"pass --output-crs \(output_crs\) EPSG:"),
        (write_sumo, [[replace(first, times=None)], BEGIN, None, ABOUT], r"no times; fit .* \(times=True\)"),
        (write_matsim, [[replace(first, times=np.arange(first.n_points))], BEGIN, ABOUT], "no times"),
        (write_sumo, [[first], BEGIN + 1, None, ABOUT], "depart before 2024-10-26"),
        (write_matsim, [[untimed], BEGIN, ABOUT], "no time of departure"),
        (write_sumo, [[nowhere], BEGIN, None, ABOUT], "lie where planar has no coordinates"),
    ]
    for write, given, message in refused:
        with pytest.raises(OutputError, match=message):
            write(io.BytesIO(), *given)


def test_no_trips_are_a_file_too() -> None:
    empty = parts()[0][:0]
    assert len(written(write_sumo, [empty], BEGIN, ZONES, ABOUT)) == 0
    assert len(written(write_matsim, [empty], BEGIN, ABOUT)) == 0
