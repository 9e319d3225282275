"""A promise goes along with what one model made, and with nothing else: no mixture or file gives it to more."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import privtrace as pt
from privtrace.about import GUARANTEE, MIXED, MODEL, PRIVATE, joined
from privtrace.export import FORMATS as EXPORTS
from privtrace.export.columns import Asked, words
from privtrace.io import FORMATS
from privtrace.space.clip import clip

# Noise is secret here, and now and then leaves a loop that a walk does not get out of.
pytestmark = pytest.mark.filterwarnings("ignore:.*walks reached")

REGION = pt.Region.box(0, 0, 10, 10)
METHODS = [pt.BridgeTrace, pt.PrivTrace, pt.AdaTrace, pt.DPT]


def walks() -> pt.Trajectories:
    rng = np.random.default_rng(8)
    points = rng.uniform(1, 9, (100, 1, 2)) + np.cumsum(rng.normal(0, 0.5, (100, 5, 2)), axis=1)
    return pt.Trajectories(points.reshape(-1, 2), np.arange(101) * 5, crs="lonlat")


def model(epsilon: int = 1, **options: Any) -> Any:
    return pt.PrivTrace(epsilon=epsilon, region=REGION).fit(walks(), **options)


@pytest.fixture(scope="module")
def one() -> Any:
    return model()


@pytest.fixture(scope="module")
def other() -> Any:
    return model()


A = {GUARANTEE: "epsilon = 1", PRIVATE: "true", MODEL: "aa"}


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ([A, A, A], A),
        ([A], A),
        ([{}, {}], {}),
        ([{"town": "x", "day": "1"}, {"town": "x", "day": "2"}], {"town": "x"}),
        ([A, A | {MODEL: "bb"}], {GUARANTEE: MIXED}),
        ([A, {}], {GUARANTEE: MIXED}),
        ([{}, A], {GUARANTEE: MIXED}),
        ([A, {MODEL: "aa"}], {GUARANTEE: MIXED}),
        ([A, A | {GUARANTEE: "epsilon = 2"}], {GUARANTEE: MIXED}),
        ([{GUARANTEE: "epsilon = 1", PRIVATE: "true"}] * 2, {GUARANTEE: MIXED}),  # which model is not said
        ([A | {"town": "x"}, {"town": "x"}], {"town": "x", GUARANTEE: MIXED}),
        ([{GUARANTEE: MIXED}] * 2, {GUARANTEE: MIXED}),
        ([{GUARANTEE: MIXED}, A], {GUARANTEE: MIXED}),
    ],
)
def test_a_promise_survives_only_where_all_name_the_same_model(parts: Any, kept: dict[str, str]) -> None:
    assert joined(parts) == kept and MIXED.startswith("NOT PRIVATE")


@pytest.mark.filterwarnings("ignore:.*walks reached")  # noise is secret here
@pytest.mark.parametrize("method", METHODS)
def test_samples_name_their_model_by_the_checksum_of_its_file(method: Any, tmp_path: Path) -> None:
    fitted = method(epsilon=1, region=REGION).fit(walks())
    fitted.save(tmp_path / "a.model")
    digest = sha256((tmp_path / "a.model").read_bytes()).hexdigest()
    for about in (fitted.sample(3).about, pt.load(tmp_path / "a.model").sample(3, seed=1).about):
        assert about[MODEL] == digest == fitted.checksum and about[PRIVATE] == "true"


def test_two_fits_joined_are_not_one(one: Any, other: Any) -> None:
    """Two of epsilon 1 spent 2, and with raw data there is no promise at all."""
    assert one.release.about == other.release.about  # they say the same, and are not the same
    same = pt.Trajectories.concatenate([one.sample(5, seed=1), one.sample(5, seed=2)])
    assert same.about == one.about and same.about[PRIVATE] == "true"
    for parts in (
        [one.sample(5), other.sample(5)],
        [one.sample(5), walks()],
        [walks(), one.sample(5)],
        [replace(walks(), ids=np.arange(100)), one.sample(5)],
        [one.sample(5), one.sample(5), walks()[:0]],
        [one.sample(5), one.retrace(clip(walks(), one.release.region), 0, 1)],
        [one.sample(5), replace(one.sample(5), about={})],
    ):
        about = pt.Trajectories.concatenate(parts).about
        assert PRIVATE not in about and about[GUARANTEE].startswith("NOT PRIVATE: it combines parts")
    assert pt.Trajectories.concatenate([walks(), walks()]).about == {}


def test_what_is_taken_out_keeps_the_promise(one: Any) -> None:
    made = one.sample(20)
    for less in (made[3:9], made.take(np.array([4, 2])), made.joined(), *made.parts(), *made.cut(7)):
        assert less.about == one.about
    assert one.retrace(clip(walks(), one.release.region), 0, 1).about == {}


@pytest.mark.parametrize("method", METHODS)
def test_what_is_made_of_real_trajectories_has_no_promise(method: Any) -> None:
    fitted = method(epsilon=1, region=REGION, sampling=True).fit(walks())
    assert (
        fitted.retrace(clip(walks(), fitted.release.region), 0, 1).about
        == fitted.on_lines(walks(), 0, 1).about
        == {}
    )


def test_a_seeded_fit_says_so_however_often_it_is_joined() -> None:
    seeded = model(noise=pt.SeededNoise(1))
    about = pt.Trajectories.concatenate([seeded.sample(3), seeded.sample(4)]).about
    assert PRIVATE not in about and about[GUARANTEE].startswith("NOT PRIVATE: fitted with seeded")
    assert about[MODEL] == seeded.checksum


# --- files ------------------------------------------------------------------------------------------------

NAMES = {"porto": "porto.csv", "geolife": "plt", "geoparquet-lines": "lines.parquet"}


def timed(given: pt.Trajectories) -> pt.Trajectories:
    return replace(given, times=np.arange(given.n_points).astype("M8[s]"))


@pytest.mark.parametrize("name", FORMATS)
def test_no_file_keeps_the_promise_of_a_part_and_none_gives_it_back(
    name: str, one: Any, other: Any, tmp_path: Path
) -> None:
    """Also where it has no place for words: what cannot be told apart later should not be mixed silently."""
    path = tmp_path / NAMES.get(name, f"a{FORMATS[name].suffixes[0] if FORMATS[name].suffixes else ''}")
    made, more = timed(one.sample(20, seed=1)), timed(other.sample(20, seed=1))
    for parts in ([made, more], [made, timed(walks())], [timed(walks()), made]):
        with pytest.raises(pt.DataError, match="which marks them NOT PRIVATE"):
            pt.write(parts, path, format=name)
        assert not [*tmp_path.iterdir()]
    pt.write([made, timed(one.sample(20, seed=2))], path, format=name)
    with pt.read(path, crs="lonlat") as source:
        assert [part.about for part in source.parts()] == [{}] and source.collect().about == {}
        pt.write(source, tmp_path / "again.parquet")
    assert not pq.read_schema(tmp_path / "again.parquet").metadata
    pt.write(pt.Trajectories.concatenate([made, more]), tmp_path / "mixed.parquet")
    assert pq.read_schema(tmp_path / "mixed.parquet").metadata == {GUARANTEE.encode(): MIXED.encode()}


def test_words_in_files_name_the_model(one: Any, tmp_path: Path) -> None:
    made = timed(one.sample(20, seed=1))
    for name in ("a.parquet", "a.geoparquet"):
        made.write(tmp_path / name)
        metadata = pq.read_schema(tmp_path / name).metadata
        assert {key: metadata[key.encode()].decode() for key in one.about} == one.about
    for name in ("a.geojson", "a.mfjson"):
        made.write(tmp_path / name)
        assert json.loads((tmp_path / name).read_text())["about"] == one.about
    made.write(tmp_path / "a.gpx")
    assert f"{MODEL}: {one.checksum}" in (tmp_path / "a.gpx").read_text()


def test_a_folder_of_two_releases_is_read_without_a_promise(one: Any, other: Any, tmp_path: Path) -> None:
    for number, fitted in enumerate((one, other)):
        fitted.sample(20).write(tmp_path / f"{number}.parquet")
    assert pt.read(tmp_path).collect().about == {}


# --- frames and exports -----------------------------------------------------------------------------------


def test_frames_carry_words_and_do_not_give_them_back(one: Any, other: Any) -> None:
    made, more, raw = (given.to_pandas() for given in (one.sample(5), other.sample(5), walks()))
    assert made.attrs == one.about
    assert pd.concat([made, more]).attrs == pd.concat([made, raw]).attrs == {}  # as pandas does it: all or none
    assert pt.Trajectories.from_pandas(made).about == {}
    table = one.sample(5).to_arrow()
    assert table.schema.metadata[MODEL.encode()].decode() == one.checksum
    assert pt.Trajectories.from_arrow(table).about == {}
    assert one.sample(5).to_geopandas().attrs == one.about


def test_exports_name_the_model(one: Any, tmp_path: Path) -> None:
    assert one.about.items() <= words(one, Asked("od")).items()
    for name in sorted({*EXPORTS} - {"csv", "xml"}):  # the first has no place for words; the other is of times
        path = tmp_path / f"a{EXPORTS[name].suffixes[0]}"
        one.export(EXPORTS[name].products[0], path, format=name)
        content = path.read_bytes()
        if name == "xlsx":
            with zipfile.ZipFile(path) as archive:
                content = b"".join(map(archive.read, archive.namelist()))
        assert one.checksum.encode() in content, name
