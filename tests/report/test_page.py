"""The page: says NOT PRIVATE, stands alone, is well formed, and shows what it should."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from privtrace.errors import OutputError
from privtrace.privacy.ledger import Charge
from privtrace.privacy.unit import WEIGHT, Unit
from privtrace.release import Release
from privtrace.report.page import comparison, write_comparison
from privtrace.space.region import Region
from privtrace.trajectories import Trajectories

ALONE = {"meta", "link", "img"}  # elements that have no end
COLLECTED = {"h1", "h2", "tr", "dt", "dd"}


@pytest.fixture
def real():
    points = [[8.01, 53.01], [8.05, 53.01], [9.0, 53.0], [8.01, 53.09], [8.02, 53.08]]
    return Trajectories(np.array(points), np.array([0, 3, 5]))


@pytest.fixture
def none():
    return Trajectories.concatenate([])


def a_model(*, private=True, crs="lonlat", statistic="visits per <coarse> cell"):
    charges = (Charge("density", statistic, "trajectory", WEIGHT, Fraction(1, 4)),)
    region = Region.box(8.0, 53.0, 8.1, 53.1, crs=crs)
    release = Release("privtrace", "0.1.0", Fraction(1, 4), Unit(), region, None, {}, charges, private)
    return SimpleNamespace(release=release, summary=lambda: {"states": 1234, "rule": "a & b"})


class Reader(HTMLParser):
    """Collect headings, rows and addresses, and check that elements close in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.texts, self.addresses, self.alternatives = [], [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.addresses += [attributes[name] for name in ("src", "href") if name in attributes]
        if tag == "img":
            self.alternatives.append(attributes["alt"])
        if tag not in ALONE:
            self.open.append(tag)
        if tag in COLLECTED:
            self.texts.append((tag, []))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if COLLECTED.intersection(self.open) and data.strip():
            self.texts[-1][1].append(data.strip())

    def all(self, tag):
        return [texts for kind, texts in self.texts if kind == tag]


def test_the_page_says_what_it_is_in_title_and_heading(real, none):
    page = comparison(real, none, a_model())
    assert "<title>NOT PRIVATE" in page
    assert "NOT PRIVATE: this page shows real data" in " ".join(Reader(page).all("h1")[0]).replace(" :", ":")


def test_the_page_stands_alone(real):
    page = comparison(real, real, a_model())
    assert not re.search(r"https?:|<script|@import|url\(", page)
    addresses = Reader(page).addresses
    assert len(addresses) == 4
    assert all(address.startswith("data:") for address in addresses)


def test_sections_come_in_order(real):
    headings = [texts[0] for texts in Reader(comparison(real, real, a_model())).all("h2")]
    assert headings == ["In numbers", "Privacy statement of the model", "Ledger", "Sizes of the model"]


def test_numbers_are_of_points_in_the_region(real, none):
    rows = Reader(comparison(real, none, a_model())).all("tr")
    assert ["Trajectories", "2", "0"] in rows
    assert ["Points", "4", "0"] in rows
    assert ["Mean points per trajectory", "2.0", "none"] in rows
    # 0.04 degrees east are 2.68 km, and 0.01 east and south are 1.30 km; the point outside ends its line.
    assert ["Mean length, km", "1.99", "none"] in rows


def test_statement_ledger_and_sizes_are_shown_and_escaped(real):
    model = a_model()
    reader = Reader(comparison(real, real, model))
    statement = [
        (question[0], answer[0]) for question, answer in zip(reader.all("dt"), reader.all("dd"), strict=True)
    ]
    assert statement == model.release.statement()
    assert ["density", "visits per <coarse> cell", "0.25", "4"] in reader.all("tr")
    assert ["States", "1,234"] in reader.all("tr")
    assert ["Rule", "a & b"] in reader.all("tr")
    assert "Times are not synthesized" in comparison(real, real, model)


def test_pictures_have_text_alternatives(real, none):
    alternatives = Reader(comparison(real, none, a_model())).alternatives
    assert [text.split(":")[0] for text in alternatives[:2]] == ["Real", "Synthetic"]
    assert "2 trajectories" in alternatives[0]
    assert "Color scale" in alternatives[2]


def test_a_private_model_is_not_called_otherwise(real):
    page = comparison(real, real, a_model())
    assert 'class="alarm"' not in page
    assert "epsilon 0.25 per trajectory" in page


def test_a_model_that_is_not_private_raises_alarm(real):
    page = comparison(real, real, a_model(private=False))
    assert '<p class="alarm">The model is NOT PRIVATE' in page
    assert page.count('class="red">NOT PRIVATE') == 5  # both pictures, guarantee, unit, randomness
    assert "Publish neither" in page


def test_two_empty_sides_make_a_page(none):
    Reader(comparison(none, none, a_model()))


def test_planar_units_are_not_called_meters():
    line = Trajectories(np.array([[8.0, 53.0], [8.0, 53.05]]), np.array([0, 2]), crs="planar")
    page = comparison(line, line, a_model(crs="planar"))
    assert ["Mean length", "0.05", "0.05"] in Reader(page).all("tr")
    assert " km" not in page


def test_a_note_is_shown_as_text(real, none):
    assert "<p>Invented by A &amp; B.</p>" in comparison(real, none, a_model(), note="Invented by A & B.")


def test_the_same_input_gives_the_same_page(real):
    assert comparison(real, real, a_model()) == comparison(real, real, a_model())


def test_the_page_is_written_whole_and_not_over_another(real, none, tmp_path):
    path = tmp_path / "page.html"
    write_comparison(real, none, a_model(), path)
    assert path.read_text(encoding="utf-8") == comparison(real, none, a_model())
    with pytest.raises(OutputError, match="exists"):
        write_comparison(real, none, a_model(), path)
    write_comparison(real, real, a_model(), path, force=True)
    assert path.read_text(encoding="utf-8") == comparison(real, real, a_model())


def test_a_failure_leaves_nothing_behind(none, tmp_path):
    planar = Trajectories.concatenate([], "planar")
    with pytest.raises(ValueError, match="planar"):
        write_comparison(planar, none, a_model(), tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_what_is_outside_a_polygon_does_not_count():
    model = a_model()
    ring = [[8.0, 53.0], [8.1, 53.0], [8.0, 53.1], [8.0, 53.0]]
    model.release = replace(model.release, region=Region.polygon([ring], crs="lonlat"))
    points = [[8.01, 53.01], [8.03, 53.01], [8.09, 53.09], [8.01, 53.02], [8.01, 53.04]]
    page = Reader(
        comparison(Trajectories(np.array(points), np.array([0, 5])), Trajectories.concatenate([]), model)
    )
    rows = dict(row[:2] for kind, row in page.texts if kind == "tr" and len(row) == 3)
    assert rows["Points"] == "4"
    assert rows["Mean length, km"] == "3.57"  # 1.34 km east and 2.23 km north, nothing across
