"""GPX: GDAL reads what is written, and the other way round; hostile XML does no harm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyogrio
import pytest
import shapely
from tests.io.trips import assert_same, trips

import privtrace as pt
from privtrace.io import gpx, open_source
from privtrace.io.source import Sizes

HEAD = '<?xml version="1.0"?>\n<gpx version="1.1" creator="me" xmlns="http://www.topografix.com/GPX/1/1">\n'
POINT = '<trkpt lat="2" lon="1"><ele>3</ele><time>2024-01-01T10:00:00Z</time></trkpt>'


def saved(folder: Path, body: str, head: str = HEAD) -> Path:
    path = folder / "a.gpx"
    path.write_text(f"{head}{body}</gpx>\n")
    return path


@pytest.mark.parametrize("kind", ["calendar", "bare"])
@pytest.mark.parametrize("name", ["a.gpx", "a.gpx.gz"])
def test_nothing_is_lost_there_and_back(kind: str, name: str, tmp_path: Path) -> None:
    given = trips(kind)
    pt.write(given, tmp_path / name)
    assert_same(pt.read(tmp_path / name).collect(), given, ids_as_text=True)


def test_numbers_are_seconds_since_1970(tmp_path: Path) -> None:
    pt.write(trips("numbers"), tmp_path / "a.gpx")
    found = pt.read(tmp_path / "a.gpx").collect()
    np.testing.assert_array_equal(found.times.astype(int) / 1e6, trips("numbers").times)


def test_gdal_reads_what_is_written(tmp_path: Path) -> None:
    given = trips("calendar", about={"made": "<by> hand & heart"})
    pt.write(given, tmp_path / "a.gpx")
    _, _, shapes, fields = pyogrio.raw.read(tmp_path / "a.gpx", layer="track_points", columns=["time"])
    np.testing.assert_array_equal(shapely.get_coordinates(shapely.from_wkb(shapes)), given.points)
    np.testing.assert_array_equal(fields[0].astype("datetime64[ms]"), given.times)
    names = pyogrio.raw.read(tmp_path / "a.gpx", layer="tracks", columns=["name"])[3][0]
    assert names.tolist() == given.ids.tolist()
    assert "<desc>made: &lt;by&gt; hand &amp; heart</desc>" in (tmp_path / "a.gpx").read_text()


def test_what_gdal_writes_is_read(tmp_path: Path) -> None:
    line = shapely.to_wkb(np.array([shapely.MultiLineString([[(1, 2), (3, 4)], [(5, 6), (7, 8)]])]))
    pyogrio.raw.write(
        tmp_path / "a.gpx",
        line,
        [],
        [],
        layer="tracks",
        driver="GPX",
        geometry_type="MultiLineString",
        crs="EPSG:4326",
    )
    found = pt.read(tmp_path / "a.gpx").collect()
    assert len(found) == 1 and found.points.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert np.isnat(found.times).all() and found.users.tolist() == [""]  # there might be some


def test_tracks_of_one_name_are_several_unless_names_are_declared_ids(tmp_path: Path) -> None:
    path = saved(tmp_path, f"<trk><name>Run</name><trkseg>{POINT}</trkseg></trk>\n" * 2)
    assert pt.read(path).collect().ids.tolist() == ["~0", "~1"]
    assert pt.read(path, columns={"traj_id": ""}).collect().ids.tolist() == [0, 1]
    assert pt.read(path, columns={"traj_id": "name"}).collect().ids.tolist() == ["Run"]


def test_only_tracks_are_read_and_only_their_own_times(tmp_path: Path) -> None:
    other = '<wpt lat="9" lon="9"/><rte><rtept lat="8" lon="8"/></rte><trkpt lat="7" lon="7"/>'
    odd = '<trkpt lat="4" lon="3"><extensions><a><time>2020-01-01T00:00:00Z</time></a></extensions></trkpt>'
    found = pt.read(saved(tmp_path, f"{other}<trk><trkseg>{POINT}{odd}</trkseg></trk>")).collect()
    assert found.points.tolist() == [[1, 2], [3, 4]] and np.isnat(found.times).tolist() == [False, True]


def test_another_version_or_none_is_read_too(tmp_path: Path) -> None:
    body = f"<trk><trkseg>{POINT}</trkseg></trk>"
    assert pt.read(saved(tmp_path, body, "<gpx>")).collect().points.tolist() == [[1, 2]]
    prefixed = f'<gpx xmlns:x="http://www.topografix.com/GPX/1/0">{body}</gpx>'
    path = tmp_path / "b.gpx"
    path.write_text(prefixed.replace("<", "<x:").replace("<x:/", "</x:"))
    assert pt.read(path).collect().points.tolist() == [[1, 2]]


@pytest.mark.parametrize("bad", ['lat="secret" lon="1"', 'lon="1"', 'lat="91" lon="1"', 'lat="" lon=""'])
def test_bad_points_are_faults_with_their_lines(bad: str, tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        f"<trk><trkseg>\n{POINT}\n<trkpt {bad}><time>2024-01-01T10:00:00Z</time></trkpt>\n</trkseg></trk>",
    )
    faults = list(pt.read(path).faults())
    assert {fault.line for fault in faults} == {5}
    assert not any("secret" in str(fault) for fault in faults)


def test_a_track_without_points_is_a_fault(tmp_path: Path) -> None:
    source = pt.read(saved(tmp_path, f"<trk/><trk><trkseg>{POINT}</trkseg></trk>"))
    assert source.dropped.total() == 1 and len(source.collect()) == 1


def test_a_track_without_points_changes_no_other(tmp_path: Path) -> None:
    track = f"<trk><traj_id>a</traj_id><user_id>b</user_id><trkseg>{POINT}</trkseg></trk>"
    found = pt.read(saved(tmp_path, f"<trk><name>empty</name></trk>{track}")).collect()
    assert (found.ids.tolist(), found.users.tolist()) == (["a"], ["b"]) and found.times is not None


def test_text_that_is_too_long_is_as_if_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gpx, "LINE_BYTES", 100)
    tracks = (f"<trk><traj_id>{id}</traj_id><trkseg>{POINT}</trkseg></trk>" for id in ("a", "x\n" * 51, "b"))
    source = pt.read(saved(tmp_path, "".join(tracks)))
    assert source.collect().ids.tolist() == ["a", "~1", "b"]


def test_metadata_before_the_tracks_may_say_what_they_have(tmp_path: Path) -> None:
    def said(words: str) -> str:
        return f"<metadata><extensions><columns>{words}</columns></extensions></metadata>"

    track = f"<trk><name>a</name><user_id>u</user_id><trkseg>{POINT}</trkseg></trk>"
    found = pt.read(saved(tmp_path, said("traj_id=name,user_id=,t=") + track)).collect()
    assert (found.ids.tolist(), found.users, found.times) == (["a"], None, None)
    inside = f"<trk>{said('traj_id=name')}<trkseg>{POINT}</trkseg></trk>"
    for body in (
        said("nonsense") + track,
        said("color=x") + track,
        track + said("traj_id=name"),
        inside + track,
    ):
        found = pt.read(saved(tmp_path, body)).collect()
        assert found.ids.tolist()[-1].startswith("~") and found.users.tolist()[-1] == "u"


BOMB = '<!DOCTYPE gpx [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize("doctype", [f"{BOMB}]>", '<!DOCTYPE gpx SYSTEM "file:///etc/passwd">'])
def test_entities_are_refused_before_they_grow(doctype: str, tmp_path: Path) -> None:
    path = saved(
        tmp_path, f"<trk><name>&i;</name><trkseg>{POINT}</trkseg></trk>", f"<?xml version='1.0'?>{doctype}<gpx>"
    )
    with pytest.raises(pt.DataError, match="has a DOCTYPE, which GPX does not allow; remove it"):
        pt.read(path)


@pytest.mark.parametrize("encoding", ["U-8", "shift_jis", "utf-7"])
def test_an_encoding_that_is_not_known_is_refused(encoding: str, tmp_path: Path) -> None:
    path = saved(
        tmp_path, f"<trk><trkseg>{POINT}</trkseg></trk>", f"<?xml version='1.0' encoding='{encoding}'?><gpx>"
    )
    with pytest.raises(pt.DataError, match="save it as UTF-8"):
        pt.read(path)


def test_damage_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.gpx"
    path.write_text(f"{HEAD}<trk><trkseg>{POINT}</trkseg></trk>\n<trk><trkseg></trk>")
    with pytest.raises(pt.DataError, match=r"a.gpx:4: is not valid XML from here on"):
        pt.read(path).collect()


@pytest.mark.parametrize("n_bytes", [150, -3])
def test_truncated_text_is_refused(n_bytes: int, tmp_path: Path) -> None:
    pt.write(trips("calendar"), tmp_path / "a.gpx")
    (tmp_path / "b.gpx").write_bytes((tmp_path / "a.gpx").read_bytes()[:n_bytes])
    with pytest.raises(pt.DataError, match="is not valid XML from here on"):
        pt.read(tmp_path / "b.gpx").collect()


@pytest.mark.parametrize("block_bytes", [1, 17, 1 << 20])
def test_no_result_depends_on_the_blocks(block_bytes: int, tmp_path: Path) -> None:
    given = trips("calendar")
    pt.write(given, tmp_path / "a.gpx")
    assert_same(open_source(tmp_path / "a.gpx", None, Sizes(block_bytes=block_bytes)).collect(), given)


def test_ids_with_signs_that_xml_has_not_stay_apart(tmp_path: Path) -> None:
    ids = np.array(["a\x00", "a\x01", "a\n", "]]>"], np.dtypes.StringDType())
    pt.write(pt.Trajectories(np.ones((4, 2)), np.arange(5), ids=ids), tmp_path / "a.gpx")
    found = pt.read(tmp_path / "a.gpx").collect().ids.tolist()
    assert len(set(found)) == 4 and found[3] == "]]>"


def test_a_folder_of_tracks_is_read_as_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        pt.write(pt.Trajectories([[1, 2], [3, 4]], [0, 2]), tmp_path / f"{name}.gpx")
        text = (tmp_path / f"{name}.gpx").read_text()
        (tmp_path / f"{name}.gpx").write_text(text.replace(":traj_id", ":color"))
    # Each file says that its tracks are named, by a name that they have not.
    assert pt.read(tmp_path).dropped == {"no trajectory id": 4}
    assert pt.read(tmp_path, columns={"traj_id": ""}).collect().ids.tolist() == ["~0", "~1"]


def test_what_a_track_has_makes_no_folder_unreadable(tmp_path: Path) -> None:
    bare = POINT[: POINT.index("<time>")] + "</trkpt>"
    for name, body in {
        "0": "",
        "1": f"<trk><traj_id>a</traj_id><user_id>u</user_id><trkseg>{POINT}</trkseg></trk>",
        "2": f"<trk><traj_id>b</traj_id><trkseg>{bare}</trkseg></trk>",
        "3": f"<trk><name>none</name><trkseg>{POINT}</trkseg></trk>",
    }.items():
        saved(tmp_path, body).rename(tmp_path / f"{name}.gpx")
    source = pt.read(tmp_path)
    found = source.collect()
    assert found.ids.tolist() == ["a", "b", "~2"] and found.users.tolist() == ["u", "", ""]
    assert np.isnat(found.times).tolist() == [False, True, False] and source.dropped_rows == 0


def test_planar_points_have_no_place(tmp_path: Path) -> None:
    with pytest.raises(pt.OutputError, match="gpx holds longitude and latitude"):
        pt.write(trips("bare", "planar"), tmp_path / "a.gpx")
    pt.write(trips("bare"), tmp_path / "a.gpx")
    with pytest.raises(pt.SettingsError, match="leave --crs planar"):
        pt.read(tmp_path / "a.gpx", crs="planar")


def test_no_trajectories_are_no_tracks(tmp_path: Path) -> None:
    pt.write(trips("bare")[:0], tmp_path / "a.gpx")
    assert len(pt.read(tmp_path / "a.gpx").collect()) == 0
