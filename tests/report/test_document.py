"""Both pages: one file that stands alone, is well formed and accessible, and appears whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.report.reading import BOX, Element, fitted, read, walks

import privtrace as pt
from privtrace.errors import OutputError
from privtrace.report.document import Report, amount, between, page, percent, plain, section, table

SLY = '</script><b>"it\'s" & {x} <!--'
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model() -> Any:
    return fitted(pt.PrivTrace(epsilon=20, region=pt.Region.box(*BOX)), walks(200))


@pytest.fixture(scope="module")
def evaluation() -> pt.Evaluation:
    return pt.evaluate(walks(60), walks(50, seed=2), region=pt.Region.box(*BOX), profile="all")


@pytest.fixture(scope="module", params=["release", "evaluation"])
def report(request: pytest.FixtureRequest, model: Any, evaluation: pt.Evaluation) -> Report:
    return (model if request.param == "release" else evaluation).report(title=SLY)


@pytest.fixture(scope="module")
def tree(report: Report) -> Element:
    return read(report.html)


def test_nothing_is_loaded_from_elsewhere(report: Report, tree: Element) -> None:
    assert not re.search(r"https?:|@import|//[a-z]", report.html.replace("// ", ""))
    assert re.findall(r"url\((?!#)", report.html) == []
    for element in tree.all("*"):
        for name in ("src", "href", "srcset", "action", "data", "poster", "xlink:href"):
            assert (element.attributes.get(name) or "#").startswith(("#", "data:"))


def test_links_within_the_page_lead_somewhere(report: Report, tree: Element) -> None:
    ids = {element.attributes["id"] for element in tree.all("*") if "id" in element.attributes}
    pointed = re.findall(r"url\(#([^)]+)\)", report.html)
    pointed += [use.attributes["href"][1:] for use in tree.all("use")]  # type: ignore[index]
    assert pointed and set(pointed) <= ids


def test_ids_are_unique(tree: Element) -> None:
    ids = [element.attributes["id"] for element in tree.all("*") if "id" in element.attributes]
    assert len(ids) == len(set(ids))


def test_the_policy_lets_the_one_script_run_and_nothing_else(tree: Element) -> None:
    (policy,) = (meta for meta in tree.all("meta") if "http-equiv" in meta.attributes)
    content = policy.attributes["content"] or ""
    assert policy.attributes["http-equiv"] == "Content-Security-Policy"
    (script,) = (script for script in tree.all("script") if not script.attributes)
    digest = base64.b64encode(hashlib.sha256(script.source.encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in content.split(";"))
    assert rules == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "script-src": f"'sha256-{digest}'",
    }
    assert not any(name.startswith("on") for element in tree.all("*") for name in element.attributes)


def test_a_title_is_text_wherever_it_stands(report: Report, tree: Element) -> None:
    (title,) = tree.all("head")[0].all("title")
    assert title.text.endswith(SLY) and tree.all("h1")[0].text.endswith(SLY)
    assert not [bold for bold in tree.all("b") if "it's" in bold.text] and len(tree.all("script")) == 2
    assert report.html.count("</script") == 2


def test_the_page_has_a_language_and_one_heading_of_each_kind(tree: Element) -> None:
    assert tree.all("html")[0].attributes["lang"] == "en"
    assert len(tree.all("h1")) == len(tree.all("main")) == 1
    assert all(each.all("h2") for each in tree.all("section"))


def test_pictures_have_words_or_are_hidden_from_those_who_cannot_see(tree: Element) -> None:
    pictures = tree.all("svg")
    assert len(pictures) > 4
    for picture in pictures:
        hidden = picture.attributes.get("aria-hidden") == "true"
        told = picture.attributes.get("role") == "img" and len(picture.attributes.get("aria-label") or "") > 10
        assert hidden != told


def test_tables_have_heads_for_columns_and_rows(tree: Element) -> None:
    tables = tree.all("table")
    assert len(tables) > 2
    for found in tables:
        width = len(found.all("thead")[0].all("th"))
        assert {head.attributes["scope"] for head in found.all("thead")[0].all("th")} == {"col"}
        for row in found.all("tbody")[0].all("tr"):
            head, *cells = (cell for cell in row.children if isinstance(cell, Element))
            assert head.tag == "th" and head.attributes["scope"] == ("row" if cells else "colgroup")
            assert len(cells) == width - 1 or head.attributes["colspan"] == str(width)


def test_controls_have_names_and_details_are_folded(tree: Element) -> None:
    labeled = [control for label in tree.all("label") for control in label.all("input") if label.text]
    assert labeled == tree.all("input")
    assert tree.all("button") and all(button.attributes["aria-label"] for button in tree.all("button"))
    for details in tree.all("details"):
        assert "open" not in details.attributes and details.all("summary")[0].text


def test_no_number_went_missing(tree: Element) -> None:
    assert not re.search(r"\b(nan|inf|NaN|Infinity)\b", tree.all("main")[0].text)


def test_the_same_input_gives_the_same_bytes(report: Report, model: Any, evaluation: pt.Evaluation) -> None:
    again = (evaluation if "NOT PRIVATE" in report.title else model).report(title=SLY)
    assert again.html == report.html


def test_a_notebook_shows_the_page_in_a_frame(report: Report) -> None:
    (frame,) = read(report._repr_html_()).all("iframe")
    assert frame.attributes["srcdoc"] == report.html
    assert frame.attributes["title"] == report.title
    assert report.html not in repr(report)


def test_a_page_is_written_whole_and_not_over_another(tmp_path: Path) -> None:
    first, second = (page(title, [section("A", "ü")]) for title in ("one", "two"))
    path = tmp_path / "page.html"
    written = first.write(path)
    assert path.read_bytes() == first.html.encode() and written.path == path and first.path is None
    with pytest.raises(OutputError, match="exists"):
        second.write(path)
    assert path.read_bytes() == first.html.encode()
    second.write(path, force=True)
    assert path.read_bytes() == second.html.encode()
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, content: bytes) -> None:
        path.open("wb").close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OutputError, match="No space left"):
        page("title", []).write(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_tables_set_numbers_apart_and_escape() -> None:
    found = read(table(("A <", "B"), [("<i>", "1")], ("all", "2"), n_words=1))
    cells = found.all("th") + found.all("td")
    assert [cell.text for cell in cells if cell.classes == ["n"]] == ["B", "1", "2"]
    assert found.all("tbody")[0].all("td")[0].attributes["data-name"] == "B"
    assert [cell.text for cell in found.all("th")] == ["A <", "B", "<i>", "all"]


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "0 %"), (0.001, "0.1 %"), (0.12345, "12 %"), (0.9949, "99 %"), (1, "100 %"), (float("nan"), "none")],
)
def test_shares_are_written_for_readers(share: float, words: str) -> None:
    assert percent(share) == words


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [
        (24000, 3, "24,000"),
        (999.96, 4, "1,000"),
        (0.00012345, 2, "0.00012"),
        (4551234.5, 6, "4,551,230"),
        (0, 3, "0"),
    ],
)
def test_numbers_are_never_powers_of_ten(value: float, digits: int, words: str) -> None:
    assert plain(value, digits) == words


@pytest.mark.parametrize("name", ["page.pdf", "page", "page.html.gz"])
def test_a_page_is_written_as_html_alone(report: Report, tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match=r"a page is HTML; give a path that ends in \.html"):
        report.write(tmp_path / name)
    assert not list(tmp_path.iterdir())
    assert report.write(tmp_path / "page.HTM").path == tmp_path / "page.HTM"


def test_what_is_not_python_is_shipped() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    package = ROOT / "src" / "privtrace"
    shipped = {path for pattern in patterns["privtrace"] for path in package.glob(pattern)}
    here = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path for path in here if path.suffix != ".py"} == shipped


def test_style_and_script_are_those_of_the_package(tree: Element) -> None:
    for kind, name in (("style", "page.css"), ("script", "page.js")):
        asset = (ROOT / "src/privtrace/report/assets" / name).read_text(encoding="utf-8")
        assert any(asset in found.source for found in tree.all(kind))
        assert "</" not in asset and html.unescape(asset) == asset


def test_a_title_of_bytes_that_are_no_text_is_written_all_the_same(tmp_path: Path) -> None:
    report = page("a\udcffb", []).write(tmp_path / "a.html")
    assert report.title == "a?b" and "<title>a?b</title>" in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("number", "words"),
    [(0.0, "0"), (0.04, "0"), (0.25, "0.2"), (9.96, "10"), (14.54, "14.5"), (114.54, "115"), (1234.5, "1,230")],
)
def test_fitted_numbers_have_the_digits_that_matter(number: float, words: str) -> None:
    assert amount(number) == words
    assert between(number, 0.0, 99_949.0) == f"{words} (0 to 99,900)"
