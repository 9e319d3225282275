"""Who takes part: by name, class, function, settings or file; what is refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from tests.examples.lines import lines
from tests.study import methods as given

import privtrace as pt
from privtrace.errors import DataError, PrivTraceError, SettingsError
from privtrace.methods import registry
from privtrace.study.competitors import Competitor, Field, competitors, digest_of, of_files
from privtrace.study.messages import packed

Settings = dict[str, Any]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Register the example for a test."""
    pt.register(lines.METHOD)
    yield
    del registry._registered["straight-lines"]


def found(
    area: pt.Region, methods: Any, files: Any = None, *, with_times: bool = False, **settings: Any
) -> dict[str, Competitor]:
    return competitors(methods, files or {}, Field(area, ("0.5", "1"), settings, with_times))


@pytest.mark.parametrize(
    ("one", "label", "kind"),
    [
        ("privtrace", "privtrace", pt.PrivTrace),
        (pt.PrivTrace, "privtrace", pt.PrivTrace),
        ("privtrace.methods.dpt:DPT", "dpt", pt.DPT),
        (partial(pt.PrivTrace.paper, c=500, population=60), "privtrace", pt.PrivTrace),
        ("straight-lines", "straight-lines", lines.StraightLines),
        (lines.StraightLines, "straight-lines", lines.StraightLines),
        ("tests.study.methods:Shifted", "Shifted", given.Shifted),
        (given.Shifted, "Shifted", given.Shifted),
        (given.shifted, "shifted", given.Shifted),
        (given.Factory(), "Factory", given.Shifted),
        (partial(given.Shifted, log=None), "Shifted", given.Shifted),
        (given.bridge, "bridge", pt.BridgeTrace),
    ],
)
def test_each_kind_is_made_with_the_epsilon_and_region(
    one: Any, label: str, kind: type, area: pt.Region
) -> None:
    [(name, competitor)] = found(area, [one]).items()
    again: Competitor = cloudpickle.loads(packed(competitor))
    made = again.at("0.5", area)
    assert name == competitor.label == label and type(made).__name__ == kind.__name__
    assert str(made.epsilon) == "0.5" and made.region == area
    assert found(area, {"mine": one})["mine"].label == "mine" and found(area, {5: one})["5"].label == "5"
    assert found(area, one).keys() == {label}  # one alone needs no list


def test_settings_keep_all_but_epsilon_and_region(area: pt.Region) -> None:
    settings = pt.PrivTrace(epsilon=9, region=(0, 0, 1, 1), order=1, K=7)
    competitor = found(area, [settings])["privtrace"]
    assert competitor.at("0.5", area) == replace(settings, epsilon="0.5", region=area, times=False)
    assert "K=7" in competitor.entry.what and "order=1" in competitor.entry.what
    paper = found(area, [partial(pt.PrivTrace.paper, c=500, population=60)])["privtrace"]
    assert paper.at("1", area).fallback is False and paper.at("1", area).c == 500


def test_common_settings_are_told_to_all_methods_of_the_registry(area: pt.Region) -> None:
    both = found(area, ["dpt", "straight-lines", given.Shifted], unit="user", max_per_user=3)
    for label in ("dpt", "straight-lines"):
        made = both[label].at("1", area)
        assert (made.unit, made.max_per_user) == ("user", 3)
    assert both["dpt"].origin != found(area, ["dpt"])["dpt"].origin
    with pytest.raises(SettingsError, match="max_per_user"):
        found(area, ["dpt"], unit="user")
    with pytest.raises(SettingsError, match="dpt has no setting magic; it has region, epsilon"):
        found(area, ["dpt"], magic=1)


@pytest.mark.parametrize("with_times", [True, False])
def test_all_have_times_or_none(with_times: bool, area: pt.Region) -> None:
    names = [*registry.OURS, "straight-lines", given.bridge]
    for competitor in found(area, names, with_times=with_times).values():
        assert competitor.at("1", area).times is with_times
    told = found(area, [pt.BridgeTrace(epsilon=1, region=area, times=not with_times)], with_times=with_times)
    assert told["bridgetrace"].at("1", area).times is not with_times
    against = found(area, [partial(pt.DPT, sampling=False)], with_times=with_times)
    assert against["dpt"].at("1", area).times is False


def test_origins_tell_versions_apart(area: pt.Region, trips: pt.Trajectories) -> None:
    def origin(one: Any) -> str:
        return found(area, {"x": one})["x"].origin

    kinds = [
        "privtrace",
        pt.PrivTrace(epsilon=1, region=area, order=1),
        partial(pt.PrivTrace.paper, c=500, population=60),
        partial(pt.PrivTrace.paper, c=501, population=60),
        given.Shifted,
        partial(given.Shifted, log="a"),
        partial(given.Shifted, log="b"),
        given.Factory("a"),
        given.Factory("b"),
        given.shifted,
        lines.StraightLines,
    ]
    assert len({*map(origin, kinds)}) == len(kinds)
    assert [origin(one) for one in kinds] == [origin(one) for one in kinds]


def test_colors_differ(area: pt.Region, trips: pt.Trajectories) -> None:
    others = {f"other {number}": given.Shifted for number in range(4)}
    entries = [one.entry for one in found(area, [*registry.OURS]).values()]
    entries += [one.entry for one in found(area, others, {"files": trips}).values()]
    assert len({entry.colors for entry in entries}) == len(entries)


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        (["magic"], r"must be of bridgetrace, .*, straight-lines, or module:Class, not 'magic'"),
        (["no_such_module:Class"], r"no_such_module:Class: cannot be imported \(ModuleNotFoundError"),
        (["tests.study.methods:Magic"], r"tests.study.methods:Magic: cannot be imported \(AttributeError"),
        ([given.Unfit], "Unfit: what it makes has no fit"),
        ([lambda epsilon, region: None], "<lambda>: what it makes has no fit"),
        ([dict], "dict: what it makes has no fit"),
        ([object], "object: cannot be made with epsilon=0.5 and region=... .TypeError"),
        ([given.Refusing], r"Refusing: cannot be made with epsilon=0.5 and region=... \(ValueError: never\)"),
        ([5], "'5' is no method; give names such as bridgetrace"),
        ([None], "'None' is no method"),
        (None, "'None' is no method"),
        (5, "'5' is no method"),
        (["privtrace", pt.PrivTrace], "two competitors are called privtrace; name them apart"),
        ({"limit": "privtrace"}, "cannot be called limit: that is one of the marks"),
        ({"real": given.Shifted}, "cannot be called real"),
        ({"baseline": given.Shifted}, "cannot be called baseline"),
        ([], "there is nothing to compare"),
        ([partial(pt.PrivTrace, magic=1)], "PrivTrace: cannot be made with epsilon=0.5 .* .magic."),
        ([pt.PrivTrace.paper], "PrivTrace: cannot be made with epsilon=0.5 .* .c. and .population."),
        ([partial(pt.PrivTrace, K=0)], "K"),
    ],
)  # fmt: skip
def test_what_cannot_take_part_is_told_in_a_sentence(methods: Any, words: str, area: pt.Region) -> None:
    with pytest.raises(SettingsError, match=words):
        found(area, methods)


# --- finished files ---


def test_files_are_runs_and_may_be_by_epsilon(area: pt.Region, trips: pt.Trajectories, tmp_path: Path) -> None:
    path = tmp_path / "made.parquet"
    trips.write(path)
    frame = trips.to_pandas()
    files = {"one": path, "runs": [trips, str(path)], "by": {0.5: trips, "1": [path, frame]}, "frame": frame}
    got = found(area, [], files)
    assert {label: {e: len(of) for e, of in (one.files or {}).items()} for label, one in got.items()} == {
        "one": {"": 1}, "runs": {"": 2}, "by": {"0.5": 1, "1": 2}, "frame": {"": 1},
    }  # fmt: skip
    assert [one.entry.has_epsilon for one in got.values()] == [False, False, True, False]
    taken = (got["frame"].files or {})[""][0]
    assert isinstance(taken, pt.Trajectories) and len(taken) == len(trips)


def test_another_version_of_a_file_is_told(area: pt.Region, trips: pt.Trajectories, tmp_path: Path) -> None:
    def origin(data: Any) -> str:
        return found(area, [], {"x": data})["x"].origin

    path, folder = tmp_path / "made.parquet", tmp_path / "folder"
    trips.write(path)
    folder.mkdir()
    trips.write(folder / "a.parquet")
    first, of_folder = origin(path), origin(folder)
    assert origin(str(path)) == first and origin(folder) == of_folder
    trips[:-1].write(path, force=True)
    trips[:-1].write(folder / "a.parquet", force=True)
    assert origin(path) != first and origin(folder) != of_folder
    frames = trips.to_pandas(), trips[:-1].to_pandas()
    assert origin(frames[0]) == origin(frames[0].copy()) != origin(frames[1])
    assert origin(trips) == origin(replace(trips)) != origin(trips[:-1])


def test_how_a_file_is_read_counts(area: pt.Region, tmp_path: Path) -> None:
    """The same file cut at other gaps has other trips in it."""
    path = tmp_path / "log.csv"
    rows = [f"1,-8.6,41.1{minute},2024-07-01T08:{minute}:00" for minute in (10, 20, 50)]
    path.write_text("\n".join(["user_id,lon,lat,t", *rows]))

    def origin(gap_minutes: float) -> str:
        with pt.read(path, gap_minutes=gap_minutes) as source:
            return found(area, [], {"x": source})["x"].origin

    assert origin(15) == origin(20) != origin(60)


def test_a_digest_tells_trips_users_times_and_borders(timed: pt.Trajectories) -> None:
    others = [
        timed[:-1],
        replace(timed, times=None),
        replace(timed, times=timed.times + 1),  # type: ignore[operator]
        replace(timed, users=None),
        replace(timed, zone="Europe/Lisbon"),
        replace(timed, points=timed.points + 1e-9),
        replace(timed, offsets=[*timed.offsets[:1], timed.offsets[1] - 1, *timed.offsets[2:]]),  # type: ignore[arg-type]
    ]
    assert len({digest_of(one) for one in (timed, *others)}) == len(others) + 1
    assert digest_of(timed) == digest_of(replace(timed))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"x": "nowhere.parquet"}, "nowhere.parquet: no such file; --file takes NAME=PATH"),
        ({"x": {"3": "nowhere.parquet"}}, "x: its files are for epsilon 3, which is not compared; .* 0.5, 1"),
        ({"x": {"none": "nowhere.parquet"}}, "epsilon must be a positive"),
        ({"x": []}, "x: it has no files"),
        ({"x": {}}, "x: it has no files"),
        ({"x": {"1": []}}, "x: it has no files"),
        ({"x": {"": __file__, "1": __file__}}, "x: some of its files have an epsilon and some have none"),
        ({"x": 5}, "trajectories are needed"),
        ({"limit": __file__}, "cannot be called limit"),
        ({"dpt": __file__}, "two competitors are called dpt"),
        ([__file__], "finished files have labels: files="),
    ],
)
def test_files_that_cannot_be_meant_are_refused(files: Any, words: str, area: pt.Region) -> None:
    with pytest.raises(PrivTraceError, match=words):
        found(area, ["dpt"], files)


def test_an_epsilon_that_is_written_twice_is_one(area: pt.Region, trips: pt.Trajectories) -> None:
    got = found(area, [], {"x": {"0.5": trips, "0.50": trips[:50]}})["x"].files or {}
    assert {epsilon: len(runs) for epsilon, runs in got.items()} == {"0.5": 2}


def test_what_the_command_line_says_of_files() -> None:
    texts = ["a=x.csv", "a=y.csv", "b@0.5=c=d@e.csv", "b@1=f.csv"]
    assert of_files(texts) == {"a": {"": ["x.csv", "y.csv"]}, "b": {"0.5": ["c=d@e.csv"], "1": ["f.csv"]}}
    for text in ("x.csv", "=x.csv", "a=", "@1=x.csv"):
        with pytest.raises(SettingsError, match=r"--file takes NAME=PATH, or NAME@EPSILON=PATH, not '"):
            of_files([text])


def test_a_file_that_is_missing_is_a_data_error(area: pt.Region) -> None:
    with pytest.raises(DataError):
        found(area, [], {"x": Path("nowhere.csv")})
