"""What a region alone, and the coordinate system of the data, say before anything is spent."""

from __future__ import annotations

import pytest

import privtrace as pt
from privtrace.space.doubts import doubts

PORTO = (-8.70, 41.10, -8.54, 41.22)


@pytest.mark.parametrize(
    ("box", "crs", "word"),
    [
        (PORTO, "lonlat", None),
        (PORTO, "planar", "looks like degrees"),
        (PORTO, "EPSG:3763", None),
        (PORTO, "EPSG:27700", "outside the area that EPSG:27700 is made for"),
        ((-45_000, 160_000, -35_000, 170_000), "EPSG:3763", None),
        ((445_000, 4_500_000, 455_000, 4_510_000), "EPSG:3763", "outside the area"),
        ((177, -20, -178, -16), "EPSG:3832", None),  # made for both sides of the antimeridian
        ((177, -20, -178, -16), "lonlat", None),
        ((0, 0, 10, 10), "planar", None),
        ((0, 0, 0.5, 0.5), "planar", None),
        ((50, 50, 60, 60), "planar", None),
        ((-8.7, 41.1, 200.5, 210.5), "planar", None),
        ((-8.62, 41.15, -8.60, 41.1505), "lonlat", "only 56 m wide or high"),
        ((-8.62, 41.15, -8.60, 41.1510), "lonlat", None),
        ((0, 0, 5, 1), "planar", None),
        ((-20, 35, 5, 50), "lonlat", "2,055 km wide or high"),
        ((-10, 36, 4, 44), "lonlat", None),
    ],
)
def test_only_what_is_odd_is_doubted(box: tuple[float, ...], crs: str, word: str | None) -> None:
    given = pt.Region.box(*box)
    found = [*doubts(given, given.for_data(crs))]
    assert not found if word is None else len(found) == 1 and word in found[0]


def test_whoever_says_planar_is_believed() -> None:
    given = pt.Region.box(*PORTO, crs="planar")
    assert not [*doubts(given, given.for_data("planar"))]
