"""The evaluation page: NOT PRIVATE on its face, in words that follow from the numbers."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import trajectories
from tests.report.reading import BOX, Element, map_data, read, rows, walks

import privtrace as pt
from privtrace.evaluation.metric import Metric
from privtrace.evaluation.suite import Score
from privtrace.report.document import marked

REGION = pt.Region.box(*BOX)
NAN = math.nan


@pytest.fixture(scope="module")
def evaluation() -> pt.Evaluation:
    return pt.evaluate(walks(120), walks(100, seed=2), region=REGION, profile="all", bootstrap=4)


@pytest.fixture(scope="module")
def page(evaluation: pt.Evaluation) -> Element:
    return read(evaluation.report(title="spring <trips>").html)


def standing_at(evaluation: pt.Evaluation, places: dict[str, float]) -> pt.Evaluation:
    """Keep the metrics that are named, at these places between a limit of 0.01 and a baseline of 1."""
    scores = {
        name: replace(evaluation[name], limit=b + 0.01, baseline=b + 1.0, value=b + 0.01 * 100**place)
        for name, place in places.items()
        for b in [evaluation[name].metric.best]
    }
    return replace(evaluation, scores=scores)


def verdict(evaluation: pt.Evaluation) -> Element:
    return read(evaluation.report().html).section("Verdict")


@pytest.mark.parametrize(
    ("best", "limit", "value", "baseline", "standing"),
    [
        (0, 0.01, 0.01, 1, 0),
        (0, 0.01, 0.1, 1, 0.5),
        (0, 0.01, 1, 1, 1),
        (0, 0.01, 100, 1, 2),
        (0, 0.1, 0.01, 1, -1),
        (1, 0.99, 0.9, 0, 0.5),  # more is better
        (0.5, 0.49, 0.6, -0.5, 0.5),  # the middle is best
        (0, 0.001, 0, 1, 0),  # no error at all counts as a thousandth of the baseline
        (0, 0.1, 0, 1, -2),
        (0, 0, 0, 1, 0),
        (0, 0, 1, 1, 1),
        (0, 0.5, 0.5, 0.5, NAN),  # no better than a random walk is the real data itself
        (0, 0.5, 0.1, 0.2, NAN),
        (0, NAN, 0.1, 0.2, NAN),
        (0, 0.1, NAN, 0.2, NAN),
        (0, 0.1, 0.1, NAN, NAN),
        (0, 0, 0, 0, NAN),
    ],
)
def test_a_score_stands_between_its_limit_and_its_baseline(
    best: float, limit: float, value: float, baseline: float, standing: float
) -> None:
    score = Score(Metric("name", lambda real, synthetic: 0.0, "words", best), value, limit, baseline)
    assert score.standing == pytest.approx(standing, nan_ok=True)


def test_title_and_headings_say_not_private(evaluation: pt.Evaluation, page: Element) -> None:
    assert page.all("title")[0].text == page.all("h1")[0].text == "NOT PRIVATE: spring <trips>"
    assert page.all("h1")[0].all("em")[0].text == "NOT PRIVATE" and page.all("header")[0].classes == ["red"]
    assert "the privacy statement no longer holds" in page.all("p", "alarm")[0].text
    captions = [figure.text for figure in page.section("Real and synthetic side by side").all("figcaption")][:3]
    assert [("NOT PRIVATE" in caption) for caption in captions] == [True, False, True]
    assert read(evaluation.report().html).all("title")[0].text == "NOT PRIVATE: real and synthetic side by side"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("evaluation.html", "evaluation-NOT-PRIVATE.html"),
        ("evaluation", "evaluation-NOT-PRIVATE"),
        ("a.b.html", "a.b-NOT-PRIVATE.html"),
        ("private.html", "private-NOT-PRIVATE.html"),
        ("x-NOT-PRIVATE.html", "x-NOT-PRIVATE.html"),
        ("x-not-private.html", "x-not-private.html"),
        ("Not_Private x.html", "Not_Private x.html"),
        ("NOT PRIVATE.html", "NOT PRIVATE.html"),
    ],
)
def test_the_name_of_the_file_says_so_too(given: str, name: str) -> None:
    assert marked(Path("NOT-PRIVATE/folder") / given) == Path("NOT-PRIVATE/folder") / name


def test_the_page_is_written_under_that_name(evaluation: pt.Evaluation, tmp_path: Path) -> None:
    report = evaluation.report(tmp_path / "a.html")
    assert [file.name for file in tmp_path.iterdir()] == ["a-NOT-PRIVATE.html"]
    assert report.path == tmp_path / "a-NOT-PRIVATE.html" and report.path.read_text() == report.html
    with pytest.raises(pt.OutputError, match="exists"):
        evaluation.report(tmp_path / "a.html")
    evaluation.report(tmp_path / "a.html", force=True)


def test_without_figures_there_is_no_page(tmp_path: Path) -> None:
    plain = pt.evaluate(walks(20), walks(20), region=REGION, figures=False)
    with pytest.raises(pt.SettingsError, match="figures=True"):
        plain.report(tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []


def test_sections_come_in_order(page: Element) -> None:
    assert [heading.text for heading in page.all("h2")] == [
        "Verdict",
        "Real and synthetic side by side",
        "How long, how far, from where to where",
        "When, how fast, and point by point",
        "Most frequent patterns",
        "Short and long trips",
        "All metrics",
        "What was compared",
    ]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (-0.5, "as close as a second sample of the real data"),
        (0.09, "as close as a second sample of the real data"),
        (0.11, "close"),
        (0.44, "close"),
        (0.46, "rough"),
        (0.74, "rough"),
        (0.76, "far off"),
        (0.99, "far off"),
        (1.01, "no better than a random walk"),
        (1.5, "no better than a random walk"),
    ],
)
def test_the_verdict_follows_the_standing(evaluation: pt.Evaluation, place: float, words: str) -> None:
    found = verdict(standing_at(evaluation, {"density": place}))
    assert found.all("p", "lead")[0].text == f"Where people go: {words}."
    (line,) = found.all("li")
    assert line.all("span")[0].text.startswith(words[0].upper() + words[1:])


def test_the_verdict_tells_the_best_first_and_joins_what_is_alike(evaluation: pt.Evaluation) -> None:
    places = {"density": 0.9, "od": 0.3, "length": 0.05, "diameter": 0.3, "pattern": 0.3}
    assert verdict(standing_at(evaluation, places)).all("p", "lead")[0].text == (
        "How long trips are: as close as a second sample of the real data. From where to where, how far they "
        "reach and which ways they take: close. Where people go: far off."
    )


def test_the_verdict_gives_the_factor_of_the_error(evaluation: pt.Evaluation) -> None:
    near, far = (verdict(standing_at(evaluation, {"length": place})) for place in (0.05, 0.5))
    assert "times the error" not in near.text
    assert "Rough, with 10 times the error of a second sample" in far.text and "0.1000" in far.text


def test_what_cannot_be_told_is_not(evaluation: pt.Evaluation) -> None:
    given = standing_at(evaluation, {"density": 0.3, "visits": 0.6, "length": 0.3})
    lost = {name: replace(score, value=NAN) for name, score in given.scores.items()}
    other = verdict(
        replace(given, scores={**given.scores, "density": lost["density"], "length": lost["length"]})
    )
    assert other.all("p", "lead")[0].text == "Where people go: rough."  # by another metric
    none = verdict(replace(given, scores=lost))
    assert none.all("p", "lead")[0].text == "These metrics give no verdict." and not none.all("li")


@pytest.mark.parametrize(("seed", "copied"), [(1, True), (2, False)])
def test_a_copy_is_told_from_a_second_sample(seed: int, copied: bool) -> None:
    told = verdict(pt.evaluate(walks(200), walks(200, seed=seed), region=REGION))
    assert [alarm.text.split(":")[0] for alarm in told.all("p", "alarm")] == copied * [
        "Closer to the real data than new data of the same size would be"
    ]


def test_ways_are_not_called_close_for_being_closer_than_a_walk_that_is_everywhere(
    evaluation: pt.Evaluation,
) -> None:
    """The baseline of frequent_support can be far above 1, which is what empty data gets."""
    given = standing_at(evaluation, {"frequent_f1": 0.9, "frequent_support": 0.2})
    assert verdict(given).all("p", "lead")[0].text == "Which ways they take: far off."


@pytest.mark.parametrize("profile", ["paper", "adatrace", "mobility", "time", "all"])
def test_every_profile_makes_a_page_with_all_its_metrics(profile: str) -> None:
    evaluation = pt.evaluate(timed(walks(60)), timed(walks(50, seed=2)), region=REGION, profile=profile)
    page = read(evaluation.report().html)
    head, *listed = rows(page.section("All metrics").all("table")[0])
    assert head == ["Metric", "Value", "Limit", "Limit to baseline", "Random baseline", "Best"]
    named = [row for row in listed if len(row) > 1]
    assert [row[0].split()[0] for row in named] == list(evaluation)
    assert sum(len(row) == 1 for row in listed) == (4 if profile == "all" else 1)
    assert page.section("Verdict").all("li")


def test_the_table_has_value_interval_limit_scale_and_baseline(
    evaluation: pt.Evaluation, page: Element
) -> None:
    (table,) = page.section("All metrics").all("table")
    head, *listed = rows(table)
    assert head[2] == "95 % interval"
    lines = [row for row in table.all("tbody")[0].all("tr") if row.all("td")]
    for line, texts, (name, score) in zip(
        lines, (row for row in listed if len(row) > 1), evaluation.scores.items(), strict=True
    ):
        assert score.interval is not None
        assert texts[0] == f"{name} {score.metric.words}"
        low, high = score.interval
        assert texts[1:4] == [f"{score.value:.4f}", f"{low:.4f} to {high:.4f}", f"{score.limit:.4f}"]
        assert texts[5:] == [f"{score.baseline:.4f}", f"{score.metric.best:g}"]
        dots = [float(dot.attributes["cx"] or "") for dot in line.all("ellipse")]
        if math.isnan(score.standing):
            assert dots == []
        else:
            assert dots == [pytest.approx(8 + 84 * min(max(score.standing, -0.05), 1.05), abs=0.06)]


def test_the_script_is_told_the_heat_of_every_cell(evaluation: pt.Evaluation, page: Element) -> None:
    assert evaluation.figures is not None
    (grid,) = map_data(page)["grids"]
    real, synthetic = (100 * heat[::-1].ravel() for heat in evaluation.figures.heat)  # from the south
    told = {number["name"]: number["values"] for number in grid["numbers"]}
    assert (grid["size"], grid["divisions"], grid["cells"]) == (80, None, None)
    assert np.allclose(told["real"], real, rtol=0.006) and np.allclose(told["synthetic"], synthetic, rtol=0.006)
    assert np.allclose(told["synthetic minus real"], synthetic - real, rtol=0.006)
    assert real.any() and len(page.all("svg", "map")) == 3


def test_real_and_synthetic_share_a_scale_and_their_difference_has_its_own() -> None:
    """A real trip in the southwest corner, and a synthetic one in the northeast."""
    one, other = trajectories([(0.01, 0.01)]), trajectories([(9.99, 9.99)])
    page = read(pt.evaluate(one, other, region=REGION, profile="mobility").report().html)
    real, synthetic, difference = page.all("svg", "map")
    assert [path.attributes["d"] for path in real.all("path", "q23")] == ["M0 987.50h12.5v12.50h-12.5z"]
    assert [path.attributes["d"] for path in synthetic.all("path", "q23")] == ["M987.5 0.00h12.5v12.50h-12.5z"]
    assert difference.all("path", "d0")[0].attributes["d"] == "M0 987.50h12.5v12.50h-12.5z"
    assert difference.all("path", "d20")[0].attributes["d"] == "M987.5 0.00h12.5v12.50h-12.5z"
    assert "is in the south, west" in (real.attributes["aria-label"] or "")


def test_curves_are_told_in_words_and_numbers(evaluation: pt.Evaluation, page: Element) -> None:
    assert evaluation.figures is not None
    found = page.section("How long, how far, from where to where")
    listed = {row[0]: row[1:] for row in rows(found.all("table")[0])}
    medians = evaluation.figures.curves["length"].medians_m
    assert listed["Length"] == [f"{median:,.4g} units" for median in medians]
    labels = [chart.attributes["aria-label"] or "" for chart in found.all("svg", "chart")]
    assert [label.split(":")[0] for label in labels] == [
        "Length",
        "Diameter",
        "Origin to destination",
        "Origins and destinations",
    ]
    assert f"below {medians[0]:,.4g} units, half of the synthetic ones below {medians[1]:,.4g}" in labels[0]
    elements = [chart.all("*", css) for chart in found.all("svg", "chart") for css in ("real", "synthetic")]
    assert [len(same) for same in elements] == [1] * 8


def timed(given: pt.Trajectories, seed: int = 1, zone: str = "UTC") -> pt.Trajectories:
    """Let trips depart on Monday from 8 to 9, with a point every 15 s."""
    rng, n_points = np.random.default_rng(seed), np.diff(given.offsets)
    departures = np.datetime64("2024-01-08T08:00", "s") + rng.integers(0, 3600, len(given))
    places = np.arange(given.n_points) - np.repeat(given.offsets[:-1], n_points)
    return replace(given, times=np.repeat(departures, n_points) + 15 * places, zone=zone)


HOURS = "When, how fast, and point by point"


def test_times_are_told_in_words_numbers_and_small_maps() -> None:
    real, synthetic = timed(walks(60), zone="Asia/Tokyo"), timed(walks(50, seed=2), seed=2)
    evaluation = pt.evaluate(real, synthetic, region=REGION, profile="time")
    page = read(evaluation.report().html)
    found = page.section(HOURS)
    labels = [chart.attributes["aria-label"] or "" for chart in found.all("svg", "chart")]
    assert [label.split(":")[0] for label in labels] == [
        "Departures over the week",
        "Duration",
        "Mean speed",
        "Interval",
        "Jump",
        "Points",
    ]
    # 8 in the morning is 17 in Tokyo.
    assert labels[0].endswith("the busiest real hour is Mon at 17, the synthetic Mon at 17.")
    listed = {row[0]: row[1:] for row in rows(found.all("table")[0])}
    assert [*listed] == ["Median", "Duration", "Mean speed", "Interval", "Jump", "Points"]
    assert evaluation.figures is not None
    medians = evaluation.figures.spreads["points"].medians
    assert listed["Points"] == [f"{number:g}" for number in medians]
    assert listed["Interval"] == ["15.3 s", "15.3 s"]  # the middle of its bin
    assert all(text.endswith(" units/s") for text in listed["Mean speed"])
    small = found.all("svg", "small-map")
    told = [drawn.attributes["aria-label"] or "" for drawn in small]
    assert len(told) == 12 and told[8].startswith("Real, 16 to 20 h: 100 % of the trips")
    assert [figure.text for figure in found.all("figcaption")][6:12] == [
        f"{hour} to {hour + 4} h" for hour in range(0, 24, 4)
    ]
    assert "real 100 %" in found.text and "Local time in Asia/Tokyo" in found.text
    compared = {row[0]: row[1:] for row in rows(page.section("What was compared").all("table")[0])}
    assert compared["in the region, without a usable time"] == ["0", "0"]


def test_when_people_travel_is_judged(evaluation: pt.Evaluation) -> None:
    both = timed(walks(200)), timed(walks(200, seed=2), seed=2)
    given = standing_at(pt.evaluate(*both, region=REGION, profile="time"), {"departure": 0.3, "duration": 0.9})
    assert verdict(given).all("p", "lead")[0].text == "When people travel: close. How long they take: far off."


@pytest.mark.parametrize(
    ("lacking", "words", "counts"),
    [
        ("real", "The real data has no usable times", ["no times", "0"]),
        ("synthetic", "The synthetic data has no usable times", ["0", "no times"]),
        ("both", "Neither set has usable times", None),
    ],
)
def test_without_times_the_page_says_so(lacking: str, words: str, counts: list[str] | None) -> None:
    real, synthetic = walks(30), walks(30, seed=2)
    real = real if lacking in ("real", "both") else timed(real)
    synthetic = synthetic if lacking in ("synthetic", "both") else timed(synthetic)
    page = read(pt.evaluate(real, synthetic, region=REGION, profile="time").report().html)
    found = page.section(HOURS)
    assert words in found.text and not found.all("svg", "small-map")
    assert [chart.text.split(",")[0] for chart in found.all("figcaption")] == ["Jump", "Points"]
    assert "Left out: the " in page.section("All metrics").text
    compared = {row[0]: row[1:] for row in rows(page.section("What was compared").all("table")[0])}
    assert compared.get("in the region, without a usable time") == counts


def test_patterns_are_listed_with_their_place() -> None:
    """From the southwest cell to the next one north: column 1, row 1 to column 1, row 2."""
    north = [(0.1, 0.1), (0.1, 0.6)]
    page = read(
        pt.evaluate(trajectories(*[north] * 3, [(5, 5)]), trajectories(north), region=REGION).report().html
    )
    found = page.section("Most frequent patterns")
    assert rows(found.all("table")[0])[1][:4] == ["1,1 → 1,2", "", "750.0", "1,000.0"]
    squares = [rect.attributes for rect in found.all("svg", "glyph")[0].all("rect")]
    assert [(square["x"], square["y"], square.get("class")) for square in squares] == [
        ("0", "950.0", None),
        ("0", "900.0", "last"),
    ]
    bars = [float(rect.attributes["width"] or "") for rect in found.all("svg", "bars")[0].all("rect")]
    assert bars == [75, 100]


def test_where_nobody_moves_there_are_no_patterns() -> None:
    still = trajectories([(1, 1)], [(2, 2)])
    page = read(pt.evaluate(still, still, region=REGION).report().html)
    assert "No real trip leaves its cell" in page.section("Most frequent patterns").text


@pytest.mark.parametrize(
    ("short", "values", "words"),
    [
        (
            0.5,
            (1, 2, 1, 2),
            "50 % of the synthetic trips are at most as long as the real median: as many short trips as in "
            "the real data. Long",
        ),
        (
            0.8,
            (1, 2, 1, 2),
            "80 % of the synthetic trips are at most as long as the real median: more short trips than in "
            "the real data. Long",
        ),
        (
            0.2,
            (2, 1, 2, 1),
            "20 % of the synthetic trips are at most as long as the real median: fewer short trips than in "
            "the real data. Short",
        ),
        (0.2, (1, 2, 2, 1), "data. Neither half is consistently worse."),
    ],
)
def test_how_short_and_long_trips_fare(
    evaluation: pt.Evaluation, short: float, values: tuple[float, ...], words: str
) -> None:
    names = ["density_short", "density_long", "pattern_short", "pattern_long"]
    scores = dict(evaluation.scores)
    for name, value in zip(["short_length_share", *names], (short, *values), strict=True):
        scores[name] = replace(scores[name], value=value, limit=0.25)
    found = read(replace(evaluation, scores=scores).report().html).section("Short and long trips")
    assert words in found.text
    assert rows(found.all("table")[0])[1][1:] == [f"{value:.4f} (0.2500)" for value in values[:2]]


def test_without_the_paper_s_profile_there_are_no_subgroups() -> None:
    page = read(pt.evaluate(walks(20), walks(20), region=REGION, profile="mobility").report().html)
    assert "profile paper" in page.section("Short and long trips").text


@pytest.mark.parametrize("has_times", [True, False])
def test_an_empty_synthetic_set_makes_a_page_without_holes(has_times: bool) -> None:
    real = timed(walks(30)) if has_times else walks(30)
    page = read(pt.evaluate(real, trajectories(), region=REGION, profile="all").report().html)
    assert len(page.all("svg", "small-map")) == 12 * has_times
    text = page.all("main")[0].text
    labels = " ".join(svg.attributes.get("aria-label") or "" for svg in page.all("svg"))
    assert "real trips with 0 synthetic trips" in text
    assert not re.search(r"\bnan\b", text + labels)
    assert "no synthetic trips" in page.section("Short and long trips").text


def test_a_stranger_s_set_of_single_points_is_compared_too() -> None:
    """Fewer trajectories, each of one point, and some of them outside or no points at all."""
    other = trajectories([(1, 1)], [(2, 2)], [(99, 99)], [(NAN, 1)])
    page = read(pt.evaluate(walks(30), other, region=REGION, profile="all").report().html)
    listed = rows(page.section("What was compared").all("table")[0])
    assert [row[2] for row in listed[1:]] == ["4", "2", "4", "2", "1"]
    assert page.section("Verdict").all("li")


def test_degrees_are_shown_as_kilometers() -> None:
    box = (8.0, 53.0, 8.1, 53.1)
    given = [walks(40, box, seed=seed, crs="lonlat") for seed in (1, 2)]
    page = read(pt.evaluate(*given, region=pt.Region.box(*box)).report().html)
    assert "an area of 6.71 km by 11.1 km" in page.all("p", "lead")[0].text and map_data(page)["unit"] == "m"


def test_what_is_private_to_the_machine_is_not_told(tmp_path: Path) -> None:
    for name, seed in (("real", 1), ("made", 2)):
        walks(30, seed=seed).write(tmp_path / f"{name}-secret.parquet")
    with pt.read(tmp_path / "real-secret.parquet") as real, pt.read(tmp_path / "made-secret.parquet") as made:
        evaluation = pt.evaluate(real, made, region=REGION)
    assert "secret" in json.dumps(evaluation.to_dict()) and "secret" not in evaluation.report().html
