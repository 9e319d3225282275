"""Which epsilon? `plan` finds it for a target, says what to expect in plain words, and reads no data."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import run

AREA = ["--region=-8.70,41.10,-8.54,41.22", "--count=25000"]
PEOPLE = ["--unit=user", "--max-per-user=5"]


def planned(*arguments: str, cwd: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(run("plan", *AREA, *arguments, "--json", cwd=cwd).stdout)
    return facts


def offs(facts: dict[str, Any]) -> dict[str, float]:
    return {one["statistic"]: one["off"] for one in facts["expected"]}


def test_a_target_is_answered_with_an_epsilon_of_one_digit_and_the_reason(tmp_path: Path) -> None:
    shown = run("plan", *AREA, "--target", "od error 20%, hour 15%", cwd=tmp_path).stdout
    first = shown.splitlines()[0]
    said = re.fullmatch(
        r"Epsilon (0\.0*[1-9]|[1-9]0*) should be enough for a typical flow between two districts \(9 in all\) "
        r"within ±20 % and departures in the busiest hour of the day within ±15 %\. It is the smallest with "
        r"one digit\.",
        first,
    )
    assert said is not None, first
    assert (
        f"at epsilon {said[1]} per trajectory. No data was read." in shown
    )  # the plan is the one at that epsilon
    assert not list(tmp_path.iterdir())


def test_the_epsilon_found_meets_the_target_and_half_of_it_does_not(tmp_path: Path) -> None:
    facts = planned("--target=od error 20%", cwd=tmp_path)
    assert facts["target"] == "od error 20%"
    assert offs(facts)["od"] <= 0.2 < offs(facts["instead"][0])["od"]
    assert offs(facts["instead"][1])["od"] < offs(facts)["od"]
    given = planned(f"--epsilon={facts['epsilon']}", cwd=tmp_path)
    assert given["expected"] == facts["expected"] and "target" not in given


def test_people_need_as_much_more_epsilon_as_they_may_make_trips(tmp_path: Path) -> None:
    one, five = (
        float(planned("--target=district 10%", *options, cwd=tmp_path)["epsilon"]) for options in ([], PEOPLE)
    )
    assert 5 * one / 1.5 <= five <= 5 * one * 2  # both are rounded up to one digit
    assert offs(planned("--epsilon=1", *PEOPLE, cwd=tmp_path)) != offs(planned("--epsilon=1", cwd=tmp_path))


def test_what_to_expect_is_said_in_plain_words_and_once_what_plus_minus_means(tmp_path: Path) -> None:
    shown = run("plan", *AREA, "--epsilon=1", cwd=tmp_path).stdout
    assert shown.count("± means") == 1 and "± means that nine numbers in ten are off by less." in shown
    for words, verdicts in (
        ("trips through a typical district (9 in all)", "good"),
        ("a typical flow between two districts (9 in all)", "good|rough"),
        ("departures in the busiest hour of the day", "good"),
        ("the mean length of a trip", "good"),
        ("trips through a typical stretch of street", "not usable"),
    ):
        assert re.search(rf"^  {re.escape(words)}: ±\d+ %, ({verdicts})$", shown, re.MULTILINE), words
    assert "taxis in Porto" in shown and "within a factor of 1.5" in shown


def test_the_noise_of_a_plan_is_a_margin(tmp_path: Path) -> None:
    facts = planned("--epsilon=1", cwd=tmp_path)
    shown = " ".join(run("plan", *AREA, "--epsilon=1", cwd=tmp_path).stdout.split())
    for stage in facts["stages"]:
        assert stage["margin"] == pytest.approx(1.645 * stage["error"])
        assert stage["error"] == pytest.approx(2**0.5 * stage["noise_scale"])
        assert stage["words"] in shown


def test_districts_are_chosen(tmp_path: Path) -> None:
    coarse, fine = (offs(planned("--epsilon=1", f"--districts={n}", cwd=tmp_path)) for n in (4, 100))
    assert coarse["od"] < fine["od"] and coarse["district"] < fine["district"]
    assert coarse["length"] == fine["length"]
    assert "(16 in all)" in run("plan", *AREA, "--epsilon=1", "--districts=16", cwd=tmp_path).stdout


def test_an_epsilon_that_promises_little_comes_with_what_would_help(tmp_path: Path) -> None:
    done = run("plan", *AREA, "--target=od 12%", *PEOPLE, cwd=tmp_path)
    assert done.stdout.startswith("It would take epsilon ") and "promises next to nothing" in done.stdout
    told = done.stderr
    assert "promises little" in told
    assert "what would help: 4 districts (then epsilon" in told and "times as many trips" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Or let --target find it, for example --target 'od error 20%'"),
        (["--target=od 20%", "--epsilon=1"], "--target finds epsilon; leave out --epsilon, or --target"),
        (["--target=speed 10%"], "the statistics are district, od, hour, length, street"),
        (["--target=od"], "a target needs an error from 0.1% to 99%"),
        (["--target=od 1%"], "no epsilon is known to bring a typical flow between two districts within ±1 %"),
        (["--target=od 20%", "--districts=2"], "districts (districts) must be a whole number from 4 to 400"),
        (["--target=hour 10%", "--no-times"], "turn times on"),
        (["--target=od 20%", "--unit=user"], "--max-per-user"),
    ],
)
def test_mistakes_are_refused_in_words(arguments: list[str], words: str, tmp_path: Path) -> None:
    told = run("plan", *AREA, *arguments, cwd=tmp_path, code=2).stderr
    assert words in " ".join(told.split())


def test_a_method_without_a_forecast_says_so(tmp_path: Path) -> None:
    arguments = [*AREA, "--method=adatrace"]
    shown = run("plan", *arguments, "--epsilon=1", cwd=tmp_path).stdout
    assert "How far off numbers would be is not foreseen for the method adatrace." in shown
    told = run("plan", *arguments, "--target=od 30%", cwd=tmp_path, code=2).stderr
    assert "not foreseen for the method adatrace" in told and "use the method bridgetrace" in told


@pytest.mark.parametrize("method", ["privtrace", "dpt"])
def test_published_methods_are_foreseen_too(method: str, tmp_path: Path) -> None:
    facts = planned("--target=district 30%", f"--method={method}", cwd=tmp_path)
    assert offs(facts)["district"] <= 0.3 and "hour" not in offs(facts)


def test_the_page_about_choosing_epsilon_shows_what_is_printed(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "choosing-epsilon.md").read_text()
    command, shown = re.findall(r"^   ```\n(.*?)^   ```$", page, re.MULTILINE | re.DOTALL)[:2]
    printed = run(*shlex.split(command)[1:], cwd=tmp_path).stdout
    lines = [line[3:] for line in shown.splitlines()]
    assert printed.splitlines()[: len(lines)] == lines and len(lines) > 8


def test_data_would_not_be_read(tmp_path: Path) -> None:
    """A plan takes no file: there is nothing private that it could see."""
    (tmp_path / "trips.csv").write_text("traj_id,x,y\n")
    run("plan", "trips.csv", *AREA, "--epsilon=1", cwd=tmp_path, code=2)
