"""The release page: made from the model alone, and telling all that a privacy officer and a user ask."""

from __future__ import annotations

import datetime
import math
import re
import shutil
import socket
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import trajectories
from tests.report.reading import BOX, Element, fitted, read, rows, walks
from typer.testing import CliRunner

import privtrace as pt
from privtrace.cli.commands import app_for
from privtrace.methods.usability import BUSY, NOISE
from privtrace.models import to_bytes
from privtrace.privacy.epsilon import decimal
from privtrace.privacy.unit import Unit
from privtrace.release import MANY_TRIPS
from privtrace.report.promise import promise
from privtrace.report.release_page import SEED

REGION = pt.Region.box(*BOX)
METHODS = {"BridgeTrace": pt.BridgeTrace, "PrivTrace": pt.PrivTrace, "AdaTrace": pt.AdaTrace, "DPT": pt.DPT}

#: What a privacy statement has to answer.
QUESTIONS = [
    "Guarantee",
    "Method",
    "Protected unit",
    "Who sees raw data",
    "Composition",
    "Public inputs",
    "Choices made from data outside differential privacy",
    "Randomness",
    "Numeric safety",
    "Points and times",
    "Side channels",
    "Post-processing",
    "Evaluation",
    "Known bias",
    "Repetition",
]


@pytest.fixture(scope="module")
def model() -> Any:
    return fitted(pt.PrivTrace(epsilon="2.5", region=REGION), walks(300))


@pytest.fixture(scope="module")
def page(model: Any) -> Element:
    return read(model.report(title="Trips").html)


def promised(model: Any, epsilon: str) -> Element:
    """Read the promise of a release that claims another epsilon."""
    return read(promise(replace(model.release, epsilon=Fraction(epsilon))))


def lead(page: Element) -> str:
    return page.all("p", "lead")[0].text


def plain_words(page: Element) -> str:
    return page.section("The privacy promise").all("p")[0].text


def test_the_page_is_made_on_a_machine_without_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    walks(200).write(here / "trips.csv")
    with pt.read(here / "trips.csv") as source:
        model = pt.PrivTrace(epsilon=1, region=REGION).fit(source)
    model.save(there / "a.model")
    page = model.report().html
    shutil.rmtree(here)
    monkeypatch.chdir(there)
    arguments = ("report", "a.model", "--output=page.html", "--quiet")
    assert CliRunner().invoke(app_for(arguments), arguments, catch_exceptions=False).exit_code == 0
    assert (there / "page.html").read_bytes() == page.encode()


@pytest.mark.parametrize("method", METHODS)
def test_order_and_rows_that_do_not_count_leave_no_trace(method: str, tmp_path: Path) -> None:
    """The same model from data that differs in all that no model may show is the same page."""
    data = walks(60)
    shuffled = np.random.default_rng(1).permutation(60)
    points, pages = np.split(data.points, data.offsets[1:-1]), []
    for name, order, bad in (("one.csv", range(60), 0), ("another place.csv", shuffled, 37)):
        lines = [f"{trip},{x!r},{y!r}\n" for trip in order for x, y in points[trip].tolist()]
        (tmp_path / name).write_text("tid,x,y\n" + "".join(lines) + ",1,1\n99,oops,1\n" * bad)
        with pt.read(tmp_path / name) as source:
            assert sum(source.dropped.values()) == bad
            model = METHODS[method](epsilon=3, region=REGION).fit(source, noise=pt.SeededNoise(3))
        pages.append(model.report().html)
    assert pages[0] == pages[1]


def test_nothing_of_where_and_when_it_was_made_is_told(tmp_path: Path) -> None:
    walks(50).write(tmp_path / "secret-trips.parquet")
    with pt.read(tmp_path / "secret-trips.parquet") as source:
        html = pt.PrivTrace(epsilon=1, region=REGION).fit(source).report(tmp_path / "out.html").html
    assert str(tmp_path) not in html and "secret-trips" not in html and "out.html" not in html
    today = datetime.date.today()
    assert today.isoformat() not in html and today.strftime("%d.%m.%Y") not in html
    assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", html)


def test_sections_come_in_order(page: Element) -> None:
    assert [heading.text for heading in page.all("h2")] == [
        "What can be read from it",
        "The privacy promise",
        "The model on a map",
        "The synthetic trips",
        "What it is for, and what it is not for",
        "How it was made",
    ]
    assert page.all("h1")[0].text == "Trips" and page.all("title")[0].text == "Trips"


def test_it_says_first_what_can_be_read(page: Element, model: Any) -> None:
    found, usability = page.section("What can be read from it"), model.usability()
    assert found.all("p", "lead")[0].text == usability.verdict and not found.all("p", "alarm")
    (listed,) = found.all("ul", "verdicts")
    told = [(item.all("b")[0].text, item.all("span")[0].text) for item in listed.all("li")]
    assert told == [(level.name, level.words[0].upper() + level.words[1:]) for level in usability.levels]
    meaning = found.all("p", "small")[0].text
    assert "nine measured numbers in ten are off by less" in meaning
    assert "nine in ten of the true numbers are expected between" in meaning


def test_what_a_margin_means_is_said_alike(page: Element) -> None:
    """The top says it of all numbers, the mechanisms of theirs; no other words stand beside ±."""
    assert page.text.count("off by less") == 2
    assert "standard deviation" not in page.section("The privacy promise").text
    assert (
        "two in three" not in page.text and "off by up to" not in page.text and "off by about" not in page.text
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_page_of_noise_says_so_and_is_good_for_nothing_but_tests(method: str) -> None:
    settings = METHODS[method](epsilon="0.001", region=REGION, public_count=60)
    model = fitted(settings, walks(60))
    page = read(model.report().html)
    found = page.section("What can be read from it")
    (alarm,) = found.all("p", "alarm")
    assert alarm.text == model.usability().verdict and alarm.text.startswith("This model is all noise")
    helping, spent = (item.text for item in found.all("ul")[0].all("li"))
    assert "What would help: a larger epsilon" in helping and "0.002 in all" in spent and "`" not in found.text
    good, bad = (column.all("li") for column in uses(page))
    assert [item.text for item in good] == [
        "Software tests: as many synthetic trips as you want, at no further privacy cost."
    ]
    assert "Where people move: the visits of cells are noise." in [item.text for item in bad]
    (warning,) = page.section("The model on a map").all("p", "alarm")
    assert (
        warning.text == "On this map the colors and the arcs are noise: the real trips may have gone elsewhere."
    )


def uses(page: Element) -> list[Element]:
    """Give what the model is good for, and what it is not."""
    (columns,) = page.section("What it is for, and what it is not for").all("div", "columns")
    good, bad = columns.all("div")
    assert good.all("h3")[0].text == "Good for" and bad.all("h3")[0].text == "Not for"
    return [good, bad]


def test_uses_follow_the_verdict() -> None:
    """At an epsilon of a thousand all of it can be read; at a half the busiest places alone."""
    busy = fitted(pt.DPT(epsilon="0.5", region=REGION), walks(300))
    assert (busy.usability().best("visits"), busy.usability().best("flows")) == (BUSY, NOISE)
    page = read(busy.report().html)
    good, bad = uses(page)
    assert "Which places are the busiest; the others are lost in the noise." in good.text
    assert "how busy one neighborhood" not in good.text and "Flows" not in good.text
    assert "Flows between neighborhoods, and origin-destination tables: they are noise." in bad.text
    (warning,) = page.section("The model on a map").all("p", "alarm")
    assert warning.text == "On this map the arcs are noise: the real trips may have gone elsewhere."
    clear = read(fitted(pt.AdaTrace(epsilon=1000, region=REGION), walks(300)).report().html)
    good, bad = uses(clear)
    assert "Where people move, and how busy one neighborhood is" in good.text
    assert "Flows between neighborhoods, and origin-destination tables" in good.text
    assert "noise." not in bad.text and not clear.all("p", "alarm")


def test_of_a_single_zone_no_flows_are_claimed() -> None:
    one = fitted(pt.PrivTrace(epsilon=30, region=REGION, K=1, second_layer=False), walks(300))
    page = read(one.report().html)
    good, bad = uses(page)
    assert "Flows" not in good.text and "Flows between neighborhoods: they were not measured." in bad.text
    assert "Arcs are" not in page.section("The model on a map").text


def test_it_begins_with_what_it_is_in_four_sentences(page: Element) -> None:
    sentences = re.split(r"(?<=[a-z])\. (?=[A-Z])", lead(page))
    assert len(sentences) == 4
    assert "statistical model of movement in an area of 10 units by 10 units" in sentences[0]
    assert "epsilon 2.5 per trajectory" in sentences[0] and "from the model file alone" in sentences[-1]


def test_the_statement_is_complete(page: Element, model: Any) -> None:
    (answers,) = page.section("The privacy promise").all("dl", "answers")
    told = dict(zip(*([found.text for found in answers.all(tag)] for tag in ("dt", "dd")), strict=True))
    assert list(told) == QUESTIONS
    statement = dict(model.release.statement())
    assert set(statement) - set(told) == {"Mechanisms", MANY_TRIPS}  # they have tables
    assert all(told[question] == statement[question] for question in told)
    assert told["Guarantee"] == "pure differential privacy, epsilon = 2.5 per trajectory"
    assert told["Choices made from data outside differential privacy"].startswith("None")


@pytest.mark.parametrize("method", METHODS)
def test_every_mechanism_has_its_row(method: str) -> None:
    settings = METHODS[method](epsilon="1.5", region=REGION, unit="user", max_per_user=3)
    model = fitted(settings, replace(walks(90), users=np.arange(90) // 5))
    _, table = read(model.report().html).section("The privacy promise").all("table")
    _, *listed, foot = rows(table)
    charges = model.release.charges
    assert [row[:2] for row in listed] == [[charge.stage, charge.statistic] for charge in charges]
    for (_, _, sensitivity, epsilon, scale, margin), charge in zip(listed, charges, strict=True):
        assert sensitivity == "3" and epsilon == decimal(charge.epsilon)
        assert float(scale.replace(",", "")) == pytest.approx(3 / float(charge.epsilon), rel=1e-3)
        assert float(margin.removeprefix("± ").replace(",", "")) == pytest.approx(
            1.645 * math.sqrt(2) * 3 / float(charge.epsilon), rel=0.06
        )
    assert sum(Fraction(row[3]) for row in listed) == Fraction("1.5")
    assert foot[0] == "Spent" and foot[3] == "1.5 of 1.5"


def test_a_private_model_raises_no_alarm(page: Element) -> None:
    assert "NOT PRIVATE" not in page.all("main")[0].text
    assert not page.all("*", "red") and not page.all("*", "alarm") and not page.all("*", "red-text")


def test_a_seeded_model_is_red_from_the_title_on(model: Any) -> None:
    seeded = replace(model, release=replace(model.release, private=False))
    report = seeded.report(title="Trips")
    page = read(report.html)
    assert report.title == page.all("title")[0].text == "NOT PRIVATE: Trips"
    assert page.all("h1")[0].text == "NOT PRIVATE: Trips" and page.all("h1")[0].all("em")
    assert page.all("header")[0].classes == ["red"]
    (alarm,) = page.all("p", "alarm")
    assert alarm.text.startswith("NOT PRIVATE") and "Do not publish it" in alarm.text
    red = [answer.text for answer in page.all("dd", "red-text")]
    assert len(red) == 3 and all(text.startswith("NOT PRIVATE") for text in red)
    facts = page.all("dl", "facts")[0].text
    assert "Privacy budget NOT PRIVATE" in facts and "Protected nobody" in facts
    assert "There is no promise" in plain_words(page) and "pure differential privacy" not in lead(page)


@pytest.mark.parametrize("epsilon", ["0.001", "0.01", "0.1", "1", "2", "5", "7", "10"])
def test_epsilon_in_plain_words(model: Any, epsilon: str) -> None:
    words = plain_words(promised(model, epsilon))
    factor = re.search(r"by a factor of at most ([\d.,]*\d)", words)
    sure = re.search(r"can be at most ([\d.]+) % sure of it", words)
    assert factor and sure
    # The bound holds as it is written: it is never rounded down.
    bound = float(factor[1].replace(",", ""))
    assert math.exp(float(epsilon)) <= bound == pytest.approx(math.exp(float(epsilon)), rel=1e-2)
    exact = 100 / (1 + math.exp(-float(epsilon)))
    assert exact <= float(sure[1]) < min(100, exact + 0.11) and 100 - float(sure[1]) > 0.9 * (100 - exact) - 0.1


@pytest.mark.parametrize("epsilon", ["20", "50", "1000"])
def test_a_large_epsilon_promises_little_and_says_so(model: Any, epsilon: str) -> None:
    words = plain_words(promised(model, epsilon))
    assert f"at most e to the power of {int(epsilon):,};" in words and "practically certain" in words
    assert "% sure" not in words and "inf" not in words.split()


@pytest.mark.parametrize("epsilon", ["0.001", "0.05", "0.1", "0.2", "0.5", "1", "2", "7", "20", "1/3"])
@pytest.mark.parametrize("unit", [Unit(), Unit("user", 3)], ids=["trips", "users"])
def test_what_can_be_learned_of_someone_with_many_trips(model: Any, epsilon: str, unit: Unit) -> None:
    """Under the trajectory unit epsilon grows with the trips; no bound is rounded down or told too gently."""
    charges = tuple(replace(c, unit=unit.kind, sensitivity=unit.sensitivity) for c in model.release.charges)
    release = replace(model.release, epsilon=Fraction(epsilon), unit=unit, charges=charges)
    found = read(promise(release)).section("The privacy promise")
    listed = rows(found.all("table")[0])
    answers = dict(release.statement())[MANY_TRIPS]
    assert [row[0] for row in listed[1:]] == ["1", "5", "20"] and MANY_TRIPS in found.text
    for trips, total, sure in listed[1:]:
        n = int(trips) if unit.kind == "trajectory" else 1
        assert Fraction(total) == n * Fraction(epsilon) and sure in answers
        bound = 1 / (1 + math.exp(-float(n * Fraction(epsilon))))
        number = re.match(r"(practically )?([\d.]+) %", sure)
        assert number and bound <= float(number[2]) / 100 <= min(1, bound + 0.002)
        assert ("hardly any protection" in sure) == (0.99 <= bound and n * Fraction(epsilon) <= 10)
        assert ("no real protection" in sure) == (n * Fraction(epsilon) > 10)
    together = "Everything one person did is protected together" in found.text
    assert together == (unit.kind == "user") != ("Each trip is protected separately" in found.text)
    assert "read twice the ε" not in found.text
    declared = read(promise(replace(release, public_count=7))).section("The privacy promise")
    assert "read twice the ε" in declared.text


def test_without_a_promise_there_is_no_table_of_it(model: Any) -> None:
    release = replace(model.release, private=False)
    assert MANY_TRIPS not in promise(release)
    assert dict(release.statement())[MANY_TRIPS].startswith("NOT PRIVATE")


@pytest.mark.parametrize(
    ("setup", "budget", "protected", "words"),
    [
        ({}, "ε = 2", "each trajectory", "take any trajectory out of the data,"),
        (
            {"unit": "user", "max_per_user": 2},
            "ε = 2",
            "each user",
            "take any person out of the data, with all their trajectories,",
        ),
    ],
    ids=["trajectories", "users"],
)
def test_who_is_protected(setup: dict[str, Any], budget: str, protected: str, words: str) -> None:
    data = replace(walks(60), users=np.arange(60) // 3)
    page = read(fitted(pt.PrivTrace(epsilon=2, region=REGION, **setup), data).report().html)
    facts = page.all("dl", "facts")[0].text
    assert f"Privacy budget {budget} Protected {protected}" in facts and words in plain_words(page)


def test_trips_between_gaps_are_called_so() -> None:
    data = replace(walks(60), gap_minutes=30.0)
    page = read(fitted(pt.PrivTrace(epsilon=2, region=REGION), data).report().html)
    assert "per trip between gaps over 30 minutes" in lead(page)
    assert "a certain trip between gaps over 30 minutes is in it too" in plain_words(page)


def test_a_declared_count_is_said_to_be_one() -> None:
    page = read(fitted(pt.PrivTrace(epsilon=2, region=REGION, public_count=1234), walks(60)).report().html)
    assert "Trajectories 1,234, declared" in page.all("dl", "facts")[0].text
    promise = page.section("The privacy promise").text
    assert "declared public and is not protected" in promise and "2 epsilon = 4" in promise
    assert "about replacing one trajectory by another, at twice the epsilon" in promise


def test_the_bound_is_promised_against_those_who_know_all_the_rest(page: Element) -> None:
    # Not "whatever else they know": who takes many to come or stay away together learns more of each.
    assert "Suppose someone knows all the rest of the data and gives a 50 % chance" in plain_words(page)


def test_a_measured_count_comes_with_its_noise(page: Element, model: Any) -> None:
    (charge,) = (charge for charge in model.release.charges if charge.stage == "count")
    shown = re.search(r"Trajectories ([\d,]+) ± ([\d,.]+) ", page.all("dl", "facts")[0].text)
    assert shown and int(shown[1].replace(",", "")) == model.n_trajectories
    expected = 1.645 * math.sqrt(2) / float(charge.epsilon)
    assert float(shown[2].replace(",", "")) == pytest.approx(expected, rel=0.06)


def test_the_trips_are_those_that_anyone_can_make(page: Element, model: Any) -> None:
    found = page.section("The synthetic trips")
    made = model.sample(seed=SEED)
    assert f"the first {len(made):,} trips that the model makes with seed 1" in found.text
    (table,) = found.all("table")
    names, *listed = rows(table)
    assert names[3] == "50 % are below" and [row[0] for row in listed] == ["Length", "Diameter", "Points"]
    assert listed[2][3] == f"{np.median(np.diff(made.offsets)):,.3g}"
    steps = np.hypot(*np.diff(made.points, axis=0).T)
    lengths = [steps[a : b - 1].sum() for a, b in zip(made.offsets[:-1], made.offsets[1:], strict=True)]
    assert listed[0][3] == f"{np.median(lengths):,.4g} units"


def bar_heights(chart: Element) -> list[float]:
    """Read the bars of a chart: how high each is, of all of it."""
    (path,) = chart.all("path", "alone")
    tops = [float(top) for top, _ in re.findall(r"V([\d.]+)H([\d.]+)", path.attributes["d"] or "")]
    return [(166 - top) / 156 for top in tops]


@pytest.mark.parametrize(("n_points", "bars"), [(1, [0, 1]), (2, [0, 1, 0.2])])
def test_whole_numbers_have_bars_of_their_own(n_points: int, bars: list[float]) -> None:
    """Trips of one cell have one point; of a hundred and twenty trips, twenty have two."""
    one, two = [(1.0, 1.0)], [(1.0, 1.0), (9.0, 1.0)]
    given = trajectories(*[one] * 100, *[two if n_points == 2 else one] * 20)
    settings = pt.PrivTrace(epsilon=1, region=REGION, K=2, order=1, second_layer=False)
    page = read(settings.fit(given, noise=pt.NoNoise()).report().html)
    heights = bar_heights(page.section("The synthetic trips").all("svg", "chart")[2])
    assert heights == pytest.approx(bars, abs=0.15)


def test_the_making_names_the_model_file_and_all_settings(page: Element, model: Any) -> None:
    found = page.section("How it was made")
    assert sha256(to_bytes(model)).hexdigest() in found.text
    sizes, settings = (dict(rows(table)[1:]) for table in found.all("table"))
    assert set(settings) == set(model.release.settings) and settings["theta2"] == "5.0"
    assert settings["K"] == "by rule" and sizes["Trajectories"] == f"{model.n_trajectories:,}"
    assert f"privtrace version {pt.__version__}" in found.text


@pytest.mark.parametrize(
    ("box", "crs", "words"),
    [
        ((-8.7, 41.1, -8.54, 41.22), "lonlat", "longitude −8.7 to −8.54 and latitude 41.1 to 41.22;"),
        ((0, 3500, 24000, 31000), "planar", "x = 0 to 24,000 and y = 3,500 to 31,000;"),
    ],
)
def test_the_map_can_be_found_on_another(box: tuple[float, ...], crs: str, words: str) -> None:
    model = pt.PrivTrace(epsilon=1, region=pt.Region.box(*box)).fit(walks(50, box, crs=crs), noise=pt.NoNoise())
    text = read(model.report().html).section("The model on a map").text
    assert f"The map covers {words} north is up." in text
    assert "States are the cells that describe trips" in text


def test_uses_name_the_cell_and_its_noise(page: Element, model: Any) -> None:
    found = page.section("What it is for, and what it is not for")
    assert [heading.text for heading in found.all("h3")] == ["Good for", "Not for"]
    finest = model.view().layers[-1]
    sides = finest.grid.boxes[:, 2] - finest.grid.boxes[:, 0]
    assert f"{sides.min():,.4g} units to {sides.max():,.4g} units wide" in found.text
    noise = re.search(r"the noise of the measured visits of a cell is ± ([\d.]+),", found.text)
    assert noise and float(noise[1]) == pytest.approx(1.645 * finest.visits.error, rel=0.06)


@pytest.mark.parametrize("method", METHODS)
def test_a_model_of_nothing_makes_a_page(method: str) -> None:
    nothing = METHODS[method](epsilon=1, region=REGION).fit(trajectories(), noise=pt.NoNoise())
    page = read(nothing.report().html)
    assert "there are no trips" in page.section("The synthetic trips").text
    assert "the model makes none" in page.section("What can be read from it").all("p", "alarm")[0].text
    good, bad = uses(page)
    assert "Where people move" in bad.text and "Where people move" not in good.text
    found = page.section("The model on a map")
    assert found.all("p", "alarm")[0].text == "The model makes no trips, so the map shows none."
    assert not found.all("path", "flow") and not found.all("path", "trip")
    assert "Arcs are" not in found.text and "hin lines" not in found.text
    assert page.all("title")[0].text == f"NOT PRIVATE: Synthetic trips by {method}"


def test_a_note_is_shown_as_text(model: Any) -> None:
    page = model.report(note="Published by A & <B>.").html
    assert "<p>Published by A &amp; &lt;B&gt;.</p>" in page
    assert model.report().html == model.report(note=None).html != page
