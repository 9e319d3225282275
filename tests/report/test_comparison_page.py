"""The page of a comparison: NOT PRIVATE on its face; words, matrices and tables follow from the numbers."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.report.reading import Element, map_data, read, rows

from privtrace.evaluation.comparison import profiles_named
from privtrace.evaluation.metric import Metric
from privtrace.report.comparison_page import comparison_page, plots_of
from privtrace.report.document import marked
from privtrace.report.plots import Plot, write_plots
from privtrace.report.plots.marks import Raster, Stroke, Symbol, Text
from privtrace.study.study import REAL, Cost, Entry, Study

NAN = math.nan
EPSILONS = ("0.5", "1", "2")
RUNS = 5
HOSTILE = '</svg><script>alert("1")</script>&<b>'
ENTRIES = (
    Entry("good", ("#0b6b8a", "#5cc3e0"), "BridgeTrace with <settings>"),
    Entry("bad", ("#7a4a00", "#e0a23c"), "PrivTrace"),
    Entry("file", ("#5b3a8e", "#b79be6"), "finished files", has_epsilon=False),
)


def made(
    profile: str = "paper",
    error: Callable[[str, str, Metric], float] = lambda label, epsilon, metric: 0.0,
    entries: tuple[Entry, ...] = ENTRIES,
    runs: int = RUNS,
) -> Study:
    """Make a study whose runs scatter by a thousandth around these errors."""
    rng = np.random.default_rng(1)
    metrics = tuple(metric for one in profiles_named(profile) for metric in one.metrics)
    scatter = 1e-3 * rng.permutation(np.linspace(-1, 1, runs)) if runs > 1 else np.zeros(1)
    scores = {
        (entry.label, epsilon): {
            metric.name: metric.best + error(entry.label, epsilon, metric) * (1 + scatter) for metric in metrics
        }
        for entry in entries
        for epsilon in EPSILONS
    }
    spot = np.zeros((80, 80))
    spot[3, 60] = 0.5
    return Study(
        entries=entries,
        metrics=metrics,
        epsilons=EPSILONS,
        scores=scores,
        limit={metric.name: metric.best + 0.01 for metric in metrics},
        baseline={metric.name: metric.best + 1.0 for metric in metrics},
        costs={entry.label: Cost(2.0 + len(entry.label), 0.25, 120.0) for entry in entries[:2]},
        heats={label: spot / (number + 1) for number, label in enumerate([REAL, *(e.label for e in entries)])},
        map_epsilon="1",
        inputs={
            "crs": "lonlat",
            "region": "8,53,8.1,53.1 (a polygon of 6 corners)",
            "profile": profile,
            "seed": 7,
            "timezone": "Europe/Berlin",
            "period": None,
            "trips": 12345,
            "runs": runs,
            "left_out": ["departure"],
            "path": "/home/secret/trips.csv",
        },
    )


def usual(label: str, epsilon: str, metric: Metric) -> float:
    """Let `good` lead but in diameter, where `bad` leads at 0.5; and at 0.5 nobody in density."""
    size = {"good": 0.02, "bad": 0.3, "file": 0.5}[label]
    if metric.name == "diameter" and epsilon == "0.5":
        size = {"good": 0.3, "bad": 0.02, "file": 0.5}[label]
    if metric.name == "density" and epsilon == "0.5":
        size = {"good": 0.02, "bad": 0.020001, "file": 0.5}[label]
    return size if label == "file" else size / float(epsilon) ** 0.5


@pytest.fixture(scope="module")
def study() -> Study:
    return made(error=usual)


@pytest.fixture(scope="module")
def page(study: Study) -> Element:
    return read(comparison_page(study, title="spring <trips>").html)


def table(plot: Plot) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(plot.csv()))]


def plot_named(study: Study, name: str) -> Plot:
    (found,) = (plot for plot in plots_of(study) if plot.name == name)
    return found


def test_title_heading_and_map_say_not_private(study: Study, page: Element) -> None:
    assert page.all("title")[0].text == page.all("h1")[0].text == "NOT PRIVATE: spring <trips>"
    assert page.all("h1")[0].all("em")[0].text == "NOT PRIVATE" and page.all("header")[0].classes == ["red"]
    assert "the privacy statement no longer holds" in page.all("p", "alarm")[0].text
    captions = [one.text for one in page.section("Where trips pass, side by side").all("figcaption")]
    assert captions[:4] == ["Real NOT PRIVATE", "good", "bad", "file"]
    title = read(comparison_page(study).html).all("title")[0].text
    assert title == "NOT PRIVATE: good, bad and file on the same real trips"
    assert marked("a.html") == Path("a-NOT-PRIVATE.html")


def test_sections_come_in_order(page: Element) -> None:
    assert [heading.text for heading in page.all("h2")] == [
        "Verdict",
        "Error against epsilon",
        "Who beats whom",
        "Where trips pass, side by side",
        "Time and memory",
        "All numbers",
        "What was compared",
    ]


def test_the_verdict_says_who_leads_and_how_sure_that_is(page: Element) -> None:
    found = page.section("Verdict")
    assert found.all("p", "lead")[0].text == (
        "good has the least error in 29 of 30 settings, in 28 of them by more than chance against every other; "
        "bad in 1. file has it in none. A setting is a metric at an epsilon."
    )
    told = {item.all("b")[0].text: item.all("span")[0].text for item in found.all("li")}
    assert [*told] == ["Where people go", "How long trips are", "How far they reach", "Which ways they take"]
    assert told["How long trips are"] == (
        "good at every epsilon, by more than chance against every other. At epsilon 1: close, with an error of "
        "0.0200; next is bad with 0.3000 (trip length, JSD)."
    )
    assert told["Where people go"].startswith("good at every epsilon (by more than chance at 1 and 2).")
    assert told["How far they reach"].startswith(
        "bad at epsilon 0.5, by more than chance against every other; good at epsilon 1 and 2, by more than "
    )
    assert "the 5 runs" in found.text and "Holm" in found.text


def test_errors_that_are_the_same_are_shared() -> None:
    page = read(comparison_page(made(error=lambda *_: 0.5)).html)
    assert "good, bad and file at every epsilon (not by more than chance)" in page.section("Verdict").text


def test_one_method_alone_beats_nobody() -> None:
    alone = made(error=usual, entries=ENTRIES[:1])
    page = read(comparison_page(alone).html)
    assert "Only one method was compared" in page.section("Verdict").text
    assert "chance." not in page.section("Verdict").all("li")[0].text
    assert "Who beats whom" not in [heading.text for heading in page.all("h2")]
    assert not [plot.name for plot in plots_of(alone) if plot.name.startswith("wins")]


def test_every_metric_has_its_plot_with_limit_and_baseline(study: Study) -> None:
    plots = {plot.name: plot for plot in plots_of(study)}
    for metric in study.metrics:
        plot = plots[f"error-{metric.name}"]
        texts = [mark.text for mark in plot.marks if isinstance(mark, Text)]
        assert {"limit", "random baseline", "good", "bad", "file"} <= {*texts}
        assert plot.title == f"{metric.name}: {metric.words}"
        levels = {row["line"]: row for row in table(plot)[-3:]}
        column = "error" if metric.best == 0 else f"distance from {metric.best:g}"
        assert float(levels["limit"][column]) == pytest.approx(0.01)
        assert float(levels["random baseline"][column]) == pytest.approx(1)
        assert float(levels["file"][column]) == pytest.approx(0.5)


def test_a_plot_holds_means_and_bands_of_the_runs(study: Study) -> None:
    listed = table(plot_named(study, "error-length"))
    errors = study.errors("bad", "2", "length")
    (row,) = (row for row in listed if row["line"] == "bad" and row["epsilon"] == "2")
    assert float(row["error"]) == pytest.approx(errors.mean())
    assert float(row["high"]) - float(row["low"]) == pytest.approx(2 * errors.std(ddof=1))
    assert len(listed) == 2 * 3 + 3
    symbols = [mark for mark in plot_named(study, "error-length").marks if isinstance(mark, Symbol)]
    assert {mark.color.light for mark in symbols} == {entry.colors[0] for entry in ENTRIES[:2]}


def test_main_metrics_come_first_and_profiles_have_headings() -> None:
    page = read(comparison_page(made("all", usual)).html)
    found = page.section("Error against epsilon")
    assert [heading.text for heading in found.all("h3")] == [
        "Profile paper",
        "Profile adatrace",
        "Profile mobility",
        "Profile time",
    ]
    captions = [one.text.split(",")[0] for one in found.all("figcaption")]
    assert captions[:5] == ["length", "diameter", "density", "pattern", "short_length_share"]
    assert captions[10:12] == ["query", "frequent_f1"] and len(captions) == len({*captions})


def test_finished_files_without_an_epsilon_are_a_line_without_symbols(study: Study, page: Element) -> None:
    assert "finished files that have no epsilon" in page.section("Error against epsilon").text
    plot = plot_named(study, "error-length")
    drawn = [
        mark for mark in plot.marks if isinstance(mark, Stroke) and mark.color.light == ENTRIES[2].colors[0]
    ]
    assert {mark.points[0][1] for mark in drawn if mark.width == 1.25} and all(m.dash is None for m in drawn)
    without = made(error=usual, entries=ENTRIES[:2])
    assert "finished files" not in read(comparison_page(without).html).section("Error against epsilon").text


def test_the_matrix_counts_wins_by_more_than_chance(study: Study) -> None:
    wins = {row["wins of"]: row for row in table(plot_named(study, "wins"))}
    assert (wins["good"]["bad"], wins["bad"]["good"], wins["good"]["good"]) == ("28", "1", "")
    assert (wins["good"]["file"], wins["file"]["good"]) == ("30", "0")
    for metric, expected in (("diameter", "2"), ("length", "3"), ("density", "2")):
        (row,) = (row for row in table(plot_named(study, f"wins-{metric}")) if row["wins of"] == "good")
        assert row["bad"] == expected == str(study.wins("good", "bad", metric).significant)


def test_the_matrix_is_on_the_page_and_each_metric_is_folded_away(study: Study, page: Element) -> None:
    found = page.section("Who beats whom")
    (folded,) = found.all("details")
    assert len(folded.all("svg", "plot")) == len(study.metrics)
    assert len(found.all("svg", "plot")) == len(study.metrics) + 1
    assert "against, in 30 settings" in found.text and "Settings: 10 metrics at 3 epsilons." in found.text


def test_maps_tell_the_shares_of_all_and_stay_small(study: Study, page: Element) -> None:
    found = page.section("Where trips pass, side by side")
    drawn = found.all("svg", "map")
    assert len(drawn) == 4 and all(len(svg.all("image")) == 2 for svg in drawn)
    assert "is in the north, east" in (drawn[0].attributes["aria-label"] or "")
    told = map_data(page)["grids"][0]["numbers"]
    assert [(one["name"], max(one["values"])) for one in told] == [
        ("real", 50),
        ("good", 25),
        ("bad", 16.7),
        ("file", 12.5),
    ]
    assert told[0]["values"].index(50) == 76 * 80 + 60  # rows count from the south there
    assert len(comparison_page(study).html) < 700_000
    heats = plot_named(study, "maps")
    assert len([mark for mark in heats.marks if isinstance(mark, Raster)]) == 5
    raster = heats.marks[2]
    assert isinstance(raster, Raster) and raster.height / raster.width == pytest.approx(1.66, abs=0.01)


def test_time_and_memory_are_drawn(study: Study, page: Element) -> None:
    texts = page.section("Time and memory").text
    assert "6" in texts and "120" in texts and "at epsilon 1" in texts
    assert [row["seconds"] for row in table(plot_named(study, "fit-seconds"))] == ["6", "5"]
    assert [row["seconds"] for row in table(plot_named(study, "sample-seconds"))] == ["0.25", "0.25"]
    assert len(table(plot_named(study, "memory"))) == 2


def test_without_maps_and_costs_the_page_says_so(study: Study) -> None:
    bare = replace(study, heats={}, costs={})
    page = read(comparison_page(bare).html)
    assert "No maps were drawn" in page.section("Where trips pass, side by side").text
    assert "were not measured" in page.section("Time and memory").text
    names = {plot.name for plot in plots_of(bare)}
    assert not names & {"maps", "fit-seconds", "memory"} and "wins" in names


def test_all_numbers_are_listed_with_the_least_in_bold(study: Study, page: Element) -> None:
    (found,) = page.section("All numbers").all("table")
    listed = rows(found)
    assert listed[0] == ["Metric and method", "epsilon 0.5", "epsilon 1", "epsilon 2"]
    at = next(i for i, row in enumerate(listed) if row[0].startswith("diameter "))
    assert listed[at] == ["diameter diameter, JSD; limit 0.0100, random baseline 1.0000"]
    assert listed[at + 2] == ["bad", "0.0283 ± 0.0000*", "0.3000 ± 0.0002", "0.2121 ± 0.0002"]
    assert listed[at + 1][2] == "0.0200 ± 0.0000*"
    bold = [cell.text for row in found.all("tr") for cell in row.all("b")]
    assert len(bold) == 30 and found.all("tr")[at + 2].all("b")[0].text == "0.0283 ± 0.0000"
    density = next(i for i, row in enumerate(listed) if row[0].startswith("density "))
    assert "*" not in listed[density + 1][1]


def test_what_was_compared_is_told(study: Study, page: Element) -> None:
    found = page.section("What was compared")
    assert rows(found.all("table")[0])[1:] == [
        ["good", "BridgeTrace with <settings>"],
        ["bad", "PrivTrace"],
        ["file", "finished files"],
    ]
    for words in (
        "12,345 real trips",
        "seed 7",
        "left out, since they are not defined here: departure",
        "Holm",
    ):
        assert words in found.text
    assert "period" not in found.text and "secret" not in comparison_page(study).html
    inputs = {**study.inputs, "period": "2013-07-01/2014-07-01", "left_out": []}
    again = read(comparison_page(replace(study, inputs=inputs)).html).section("What was compared").text
    assert "in the period 2013-07-01/2014-07-01 (last day excluded)" in again and "left out" not in again


def test_missing_and_undefined_values_leave_gaps() -> None:
    """A method that was not measured everywhere, a metric that is undefined, errors of zero."""
    study = made(error=usual)
    scores = {key: dict(values) for key, values in study.scores.items() if key != ("bad", "1")}
    scores["bad", "2"]["length"] = np.full(RUNS, NAN)
    scores["good", "2"]["length"] = np.zeros(RUNS)
    marks = {**study.limit, "length": NAN}
    page = read(comparison_page(replace(study, scores=scores, limit=marks)).html)
    text = page.all("main")[0].text + " ".join(
        svg.attributes.get("aria-label") or "" for svg in page.all("svg")
    )
    assert not re.search(r"\bnan\b", text) and "logarithmic above 0" in text
    listed = table(plot_named(replace(study, scores=scores), "error-length"))
    assert [row["error"] for row in listed if row["line"] == "bad"][1:] == ["", ""]
    cells = {row[0]: row[1:] for row in rows(page.section("All numbers").all("table")[0])[2:5]}
    assert cells["bad"][1:] == ["-", "-"]


def test_a_single_run_has_no_band() -> None:
    study = made(error=usual, runs=1)
    page = read(comparison_page(study).html)
    assert "±" not in page.section("All numbers").all("table")[0].text
    assert all(row["low"] == "" for row in table(plot_named(study, "error-length")))
    assert "not by more than chance" in page.section("Verdict").text


def test_hostile_names_are_text() -> None:
    entries = (Entry(HOSTILE, ("#0b6b8a", "#5cc3e0"), HOSTILE), ENTRIES[1])
    study = made(error=lambda label, *_: 0.1 if label == "bad" else 0.2, entries=entries)
    report = comparison_page(study, title=HOSTILE)
    page = read(report.html)
    assert "alert" not in "".join(script.source for script in page.all("script") if not script.attributes)
    assert len(page.all("script")) == 2 and HOSTILE in page.all("h1")[0].text
    assert HOSTILE in page.section("Verdict").text
    assert rows(page.section("What was compared").all("table")[0])[1] == [HOSTILE, HOSTILE]
    for plot in plots_of(study):
        assert not [one for one in ElementTree.fromstring(plot.svg_file()).iter() if "script" in one.tag]


def test_eight_methods_with_long_names_fit(study: Study) -> None:
    names = [f"a method of the group in {town}" for town in ("Porto", "Kyoto", "Lagos", "Quito")]
    entries = tuple(Entry(f"{name} {i}", ENTRIES[i].colors, "") for name in names for i in (0, 1))
    crowd = made(error=lambda label, *_: 0.02 + 0.01 * len(label), entries=entries)
    for plot in plots_of(crowd):
        if plot.name != "maps":
            assert plot.width <= 420
    page = read(comparison_page(crowd).html)
    assert page.all("title")[0].text == "NOT PRIVATE: 8 methods on the same real trips"
    assert len(page.section("Error against epsilon").all("svg", "plot")) == 10


def test_all_figures_are_written(study: Study, tmp_path: Path) -> None:
    few = replace(study, metrics=study.metrics[:1])
    plots = plots_of(few)
    folder = write_plots(plots, tmp_path / "figures")
    names = {path.stem for path in folder.iterdir() if not path.name.startswith(".")}
    assert names == {"error-length", "wins", "wins-length", "maps", "fit-seconds", "sample-seconds", "memory"}
    assert all(plot.not_private for plot in plots)


def test_the_page_shows_itself_in_a_notebook(study: Study) -> None:
    frame = ElementTree.fromstring(comparison_page(study)._repr_html_())
    assert frame.tag == "iframe" and "NOT PRIVATE" in frame.attrib["srcdoc"]


def test_maps_without_trips_are_drawn(study: Study) -> None:
    empty = replace(study, heats={label: np.zeros((80, 80)) for label in study.heats})
    page = read(comparison_page(empty).html)
    assert len(page.section("Where trips pass, side by side").all("svg", "map")) == 4
