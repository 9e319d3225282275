"""Maps are drawn in the shades of their numbers, and describe the cell or flow that is pointed at."""

from __future__ import annotations

import numpy as np
import pytest
from tests.browser import looking

from privtrace.report import maps

pytestmark = pytest.mark.browser

HINT = "Point at the map to read a cell's noisy numbers and their noise."


@pytest.fixture
def release(visit, demo):
    return visit(demo.release)


@pytest.fixture
def sheet(demo):
    return maps.Sheet(demo.model.release.region)


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


def test_the_more_visits_the_darker_a_cell_is(release, demo, sheet):
    for label in ("Strongest flows", "Synthetic trips"):
        release.get_by_label(label, exact=True).uncheck()
    layer = demo.model.view().layers[-1]
    svg = release.locator("svg.map")
    image = looking.pixels(svg.screenshot())
    at = sheet.place(layer.grid.pieces.centers) * (image.shape[1] / 1000)
    shown = image[at[:, 1].astype(int), at[:, 0].astype(int)].astype(float).sum(axis=1)
    boxes, areas = layer.grid.boxes, areas_told(layer)
    whole = np.prod((boxes[:, 2:] - boxes[:, :2]) * layer.grid.region.scale_m, axis=1) / 1e6
    # Slivers are colored as if a quarter of their cell were in the region.
    density = np.maximum(layer.visits.values / np.maximum(areas, whole / 4), 0)
    fewer = 1.01 * density[:, None] < density  # areas are told to three digits
    clear = areas > 0.6 * whole  # of what is left of others, the border's line may run through the center
    fewer &= clear[:, None] & clear
    assert (shown[:, None] >= shown)[fewer].all()
    assert len(np.unique(shown)) > 8


@pytest.mark.parametrize("number", [0, 1], ids=["coarse cells", "states"])
def test_pointing_tells_a_cells_noisy_numbers_and_marks_it(release, demo, sheet, number):
    view = demo.model.view()
    layer, speeds = view.layers[number], view.hours.passing[number].speeds_of_day
    assert np.isfinite(speeds).any()
    release.get_by_label(layer.name.capitalize(), exact=True).check()
    release.get_by_label("Strongest flows", exact=True).uncheck()
    for cell in np.argsort(layer.visits.values)[:: max(1, layer.grid.n_cells // 8)].tolist():
        release.mouse.move(*looking.on_screen(release, sheet.place(layer.grid.pieces.centers[[cell]])[0]))
        assert looking.readout(release) == expected(layer, cell, 3.6 * speeds[cell])
        corners = sheet.place(layer.grid.boxes[cell].reshape(2, 2))
        marked = _numbers(release.locator(".cursor"), "x", "y", "width", "height")
        np.testing.assert_allclose(marked[:2], corners.min(axis=0), atol=0.01)
        np.testing.assert_allclose(marked[2:], np.ptp(corners, axis=0), atol=0.01)
        assert release.locator(".cursor").is_visible()


def expected(layer, cell, speed):
    """Say what the page should: numbers to one digit, speed and area to three."""
    told = [f"{each.name} {_short(each.values[cell])} ± {_short(each.error)}" for each in layer.numbers]
    told.append("mean speed unknown" if np.isnan(speed) else f"mean speed {float(f'{speed:.3g}'):.15g} km/h")
    told.append(f"area {areas_told(layer)[cell]:.15g} km²")
    west, south, east, north = layer.grid.boxes[cell]
    told.append(f"at {(west + east) / 2:.4f}, {(south + north) / 2:.4f}")
    return f"{layer.name.removesuffix('s').capitalize()} {cell}: " + " · ".join(told)


def areas_told(layer):
    return np.array(maps.grid_data(layer)["numbers"][-1]["values"])


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


def test_pointing_at_an_arc_tells_its_flow(release, demo):
    flows = demo.model.view().trips.strongest(40)
    on_top = """(arc, share) => {
      const at = arc.getPointAtLength(arc.getTotalLength() * share).matrixTransform(arc.getScreenCTM());
      return document.elementFromPoint(at.x, at.y) === arc ? [at.x, at.y] : null
    }"""
    release.locator("svg.map").scroll_into_view_if_needed()
    found = [
        (number, at)
        for number, arc in enumerate(release.locator(".flow").all())
        if (at := arc.evaluate(on_top, 0.4))
    ]
    assert len(found) > 3
    for number, at in found[:5]:
        release.mouse.move(*at)
        told = looking.readout(release)
        assert told.startswith("A flow of about ")
        assert told.endswith(f" {flows.origins[number]} to {flows.destinations[number]}")


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
