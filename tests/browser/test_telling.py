"""Maps are drawn in the shades of their numbers, and describe the cell or flow that is pointed at."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.browser import looking

from privtrace.methods.fitted import fitted
from privtrace.report import maps
from privtrace.report.document import short

pytestmark = pytest.mark.browser

HINT = "Point at the map to read a cell's fitted numbers, and what was measured."


@pytest.fixture
def release(visit, demo):
    return visit(demo.release)


@pytest.fixture
def sheet(demo):
    return maps.Sheet(demo.model.release.region)


@pytest.fixture(scope="module")
def shown(demo):
    return fitted(demo.model)


@pytest.mark.parametrize("name", ["release", "evaluation"])
@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_maps_and_tables_are_seen(visit, demo, name, script):
    page = visit(demo[name], java_script_enabled=script)
    for svg in page.locator("svg.map").all():
        box = svg.bounding_box()
        assert min(box["width"], box["height"]) > 250
        assert looking.main_colors(svg.screenshot()) >= 5
    assert page.locator("table:visible").count() > 0
    assert page.locator(".zoom, .tools").first.is_visible() == script


def test_the_more_trips_the_darker_a_cell_is(release, shown, sheet):
    for label in ("Strongest flows", "Synthetic trips"):
        release.get_by_label(label, exact=True).uncheck()
    layer, cells = shown.view.layers[-1], shown.cells[-1]
    svg = release.locator("svg.map")
    image = looking.pixels(svg.screenshot())
    at = sheet.place(layer.grid.pieces.centers) * (image.shape[1] / 1000)
    shown = image[at[:, 1].astype(int), at[:, 0].astype(int)].astype(float).sum(axis=1)
    boxes, areas = layer.grid.boxes, areas_told(layer, cells)
    whole = np.prod((boxes[:, 2:] - boxes[:, :2]) * layer.grid.region.scale_m, axis=1) / 1e6
    # Slivers are colored as if a quarter of their cell were in the region.
    density = cells.trips.table / np.maximum(areas, whole / 4)
    fewer = 1.01 * density[:, None] < density  # areas are told to three digits
    clear = areas > 0.6 * whole  # of what is left of others, the border's line may run through the center
    fewer &= clear[:, None] & clear
    assert (shown[:, None] >= shown)[fewer].all()
    assert len(np.unique(shown)) > 8


@pytest.mark.parametrize("number", [0, 1], ids=["coarse cells", "states"])
def test_pointing_tells_a_cells_numbers_and_marks_it(release, shown, sheet, number):
    layer, cells, speeds = shown.view.layers[number], shown.cells[number], shown.hours.speeds[number].of_day
    assert np.isfinite(speeds).any()
    release.get_by_label(layer.name.capitalize(), exact=True).check()
    release.get_by_label("Strongest flows", exact=True).uncheck()
    for cell in np.argsort(layer.visits.values)[:: max(1, layer.grid.n_cells // 8)].tolist():
        release.mouse.move(*looking.on_screen(release, sheet.place(layer.grid.pieces.centers[[cell]])[0]))
        assert looking.readout(release) == expected(layer, cells, cell, 3.6 * speeds[cell])
        corners = sheet.place(layer.grid.boxes[cell].reshape(2, 2))
        marked = _numbers(release.locator(".cursor"), "x", "y", "width", "height")
        np.testing.assert_allclose(marked[:2], corners.min(axis=0), atol=0.01)
        np.testing.assert_allclose(marked[2:], np.ptp(corners, axis=0), atol=0.01)
        assert release.locator(".cursor").is_visible()


def expected(layer, cells, cell, speed):
    """Say what the page should: fitted numbers with their bounds, and what was measured beside them."""
    told = [
        f"{name} {_written(one.table[cell])} ({_written(one.low[cell])} to {_written(one.high[cell])})"
        for name, one in (("trips", cells.trips), ("starts", cells.starts), ("ends", cells.ends))
    ]
    told.append("mean speed unknown" if np.isnan(speed) else f"mean speed {float(f'{speed:.3g}'):.15g} km/h")
    told.append(f"area {areas_told(layer, cells)[cell]:.15g} km²")
    margin = f"{float(f'{1.645 * layer.visits.error:.2g}'):,.15g}"
    told.append(f"measured, with noise: visits {_short(layer.visits.values[cell])} ± {margin}")
    west, south, east, north = layer.grid.boxes[cell]
    told.append(f"at {(west + east) / 2:.4f}, {(south + north) / 2:.4f}")
    return f"{layer.name.removesuffix('s').capitalize()} {cell}: " + " · ".join(told)


def areas_told(layer, cells):
    (area,) = (one for one in maps.grid_data(layer, cells)["numbers"] if one["name"] == "area")
    return np.array(area["values"])


def test_by_part_of_the_day_pointing_tells_trips_with_bounds(release, shown, sheet):
    layer, trips = shown.view.layers[-1], shown.hours.passing[-1]
    n = layer.grid.n_cells
    cell = int(trips.table.reshape(6, n)[4].argmax())
    release.get_by_label("Strongest flows", exact=True).uncheck()
    release.get_by_label("16–20 h", exact=True).check()
    release.mouse.move(*looking.on_screen(release, sheet.place(layer.grid.pieces.centers[[cell]])[0]))
    number, low, high = (_written(one[4 * n + cell]) for one in (trips.table, trips.low, trips.high))
    assert looking.readout(release).startswith(f"State {cell}: trips {number} ({low} to {high}) · mean speed ")


def _written(number):
    return f"{short(float(number)):,.15g}"


def _short(number):
    return f"{round(float(number), 1):,.1f}".removesuffix(".0").replace("-", "−")


def _numbers(element, *names):
    return [float(element.get_attribute(name)) for name in names]


def test_leaving_the_map_brings_the_hint_back(release):
    assert looking.readout(release) == HINT
    release.mouse.move(*looking.middle(release))
    assert looking.readout(release) != HINT
    release.mouse.move(2, 2)
    assert looking.readout(release) == HINT
    assert not release.locator(".cursor").is_visible()


def test_pointing_at_an_arc_tells_its_flow(release, shown):
    n = shown.zones.n_cells
    table, low, high = maps.laid_out(shown.trips)
    on_top = """(arc, share) => {
      const at = arc.getPointAtLength(arc.getTotalLength() * share).matrixTransform(arc.getScreenCTM());
      return document.elementFromPoint(at.x, at.y) === arc ? [at.x, at.y] : null
    }"""
    release.locator("svg.map").scroll_into_view_if_needed()
    found = [
        (number, at)
        for number, arc in enumerate(release.locator(".flow:visible").all())
        if (at := arc.evaluate(on_top, 0.4))
    ]
    assert len(found) > 3
    for _, at in found[:5]:
        release.mouse.move(*at)
        told = looking.readout(release)
        origin, destination = map(int, re.findall(r"(\d+) to (\d+)$", told)[0])
        pair = origin * n + destination
        number, *bounds = (_written(one[pair]) for one in (table, low, high))
        assert told.startswith(f"{number} ({' to '.join(bounds)}) trips, from coarse cell {origin} to")


def test_layers_are_chosen_one_at_a_time(release):
    finest = release.locator(".cells[data-layer='1']")
    coarse = release.locator(".cells[data-layer='0']")
    assert finest.is_visible() and not coarse.is_visible()
    release.get_by_label("Coarse cells", exact=True).check()
    assert coarse.is_visible() and not finest.is_visible()
    assert "coarse cells" in release.locator(".legend:visible figcaption").first.inner_text()
    release.get_by_label("Strongest flows", exact=True).uncheck()
    release.mouse.move(*looking.middle(release))
    assert looking.readout(release).startswith("Coarse cell ")


@pytest.mark.parametrize(("label", "elements"), [("Strongest flows", ".flow"), ("Synthetic trips", ".trip")])
def test_what_lies_over_the_cells_can_be_taken_away(release, label, elements):
    drawn = release.locator(elements).first
    release.get_by_label(label, exact=True).uncheck()
    assert not drawn.is_visible()
    release.get_by_label(label, exact=True).check()
    assert drawn.is_visible()


def test_pointing_at_one_map_of_a_comparison_marks_the_cell_on_all(visit, demo):
    page = visit(demo.evaluation)
    for number in range(3):
        page.mouse.move(*looking.middle(page, number))
        assert page.locator(".cursor:visible").count() == 3
        assert looking.readout(page).startswith("real ")
        page.mouse.move(2, 2)
        assert page.locator(".cursor:visible").count() == 0
