import numpy as np
import pytest

from privtrace.datasets import moving_objects, read_network
from privtrace.errors import DataError, SettingsError

NODES = "10 0 0\n20 300 0\n30 300 400\n\n"
EDGES = "0 10 20 300.0\n1 20 30 450\n"


@pytest.fixture
def files(tmp_path):
    def write(nodes=NODES, edges=EDGES):
        (tmp_path / "a.cnode").write_text(nodes)
        (tmp_path / "a.cedge").write_text(edges)
        return tmp_path / "a.cnode", tmp_path / "a.cedge"

    return write


def test_edges_are_open_both_ways(files):
    network = read_network(*files())
    assert network.nodes.tolist() == [[0, 0], [300, 0], [300, 400]]
    assert network.starts.tolist() == [0, 1, 1, 2]
    assert network.ends.tolist() == [1, 2, 0, 1]
    assert network.lengths_m.tolist() == [300, 450, 300, 450]
    np.testing.assert_allclose(network.speeds, 50 / 3.6)
    assert network.crs == "planar"
    assert read_network(*files(), speed=7).speeds.tolist() == [7] * 4


def test_ids_may_come_in_any_order(files):
    network = read_network(*files(nodes="30 300 400\n10 0 0\n20 300 0\n"))
    assert network.nodes.tolist() == [[0, 0], [300, 0], [300, 400]]
    assert network.lengths_m.tolist() == [300, 450, 300, 450]


def test_what_a_network_cannot_have_is_mended(files):
    edges = "0 10 20 500\n1 20 10 300\n2 20 20 5\n3 20 30 399.9\n4 50 40 10\n"
    network = read_network(*files(NODES + "40 900 900\n50 910 900\n", edges))
    assert network.n_nodes == 3  # of two components the larger
    assert network.n_edges == 4  # no loop, one of the parallels
    assert network.lengths_m.tolist() == [300, 400, 300, 400]  # the shorter one; the straight line


def test_nodes_at_one_place_stay_apart(files):
    network = read_network(*files(NODES + "40 300 400\n", EDGES + "2 30 40 0\n"))
    assert network.n_nodes == 4
    assert 0 < network.lengths_m.min() < 0.01


def test_degrees_become_meters_and_come_back(files):
    paths = files("0 8.0 50.0\n1 8.2 50.0\n2 8.2 50.1\n", "0 0 1 0.2\n1 1 2 0.15\n")
    network = read_network(*paths, crs="lonlat")
    np.testing.assert_allclose(network.middle, (8.1, 50.05))
    np.testing.assert_allclose(
        network.lengths_m[:2], [0.2 * 111_195 * np.cos(np.radians(50.05)), 0.15 * 111_195], rtol=1e-5
    )
    placed = network.own_coordinates(network.nodes)
    np.testing.assert_allclose(placed, [[8.0, 50.0], [8.2, 50.0], [8.2, 50.1]], atol=1e-9)
    made = moving_objects(network, 5, seed=1)
    assert (made.crs, made.zone) == ("lonlat", "UTC")


def test_users_live_by_the_time_zone_that_is_given(files):
    there, here = (read_network(*files(), **settings) for settings in ({"zone": "Asia/Tokyo"}, {}))
    told, untold = (moving_objects(network, 5, seed=1) for network in (there, here))
    assert (told.zone, untold.zone) == ("Asia/Tokyo", "UTC")
    np.testing.assert_array_equal(told.times, untold.times - np.timedelta64(9, "h"))
    with pytest.raises(SettingsError, match="no time zone"):
        read_network(*files(), zone="Atlantis")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": "0 1\n"}, "a.cnode: line 1 is not of the form `id x y`"),
        ({"nodes": "\n0 0 0\n1 0 0 0\n"}, "a.cnode: line 3 is not"),
        ({"nodes": "0 0 0\n1 abc 0\n"}, "a.cnode: line 2 must hold finite numbers"),
        ({"nodes": "0 0 0\n1 nan 0\n"}, "a.cnode: line 2 must hold finite numbers"),
        ({"nodes": "0 0 0\n1.5 1 0\n"}, "a.cnode: line 2 has an id"),
        ({"nodes": "0 0 0\n-1 1 0\n"}, "a.cnode: line 2 has an id"),
        ({"nodes": "10 0 0\n20 1 1\n10 2 2\n"}, "a.cnode: line 3 repeats the id of an earlier line"),
        ({"nodes": "\n"}, "a.cnode: is empty"),
        ({"edges": ""}, "a.cedge: is empty"),
        ({"edges": "0 10 20\n"}, "a.cedge: line 1 is not of the form `id from to length`"),
        ({"edges": "0 10 20 300\n1 20 31 1\n"}, "a.cedge: line 2 names a node that is not in .*a.cnode"),
        ({"edges": "0 10 20 -3\n"}, "a.cedge: line 1 has a negative length"),
        ({"edges": "0 10 10 3\n"}, "a.cedge: no edge joins two"),
    ],
)
def test_a_bad_file_is_refused_by_file_and_line(files, changes, message):
    with pytest.raises(DataError, match=message) as caught:
        read_network(*files(**changes))
    assert "abc" not in str(caught.value)


def test_planar_coordinates_are_not_degrees(files):
    with pytest.raises(DataError, match="line 2 is not a longitude and latitude"):
        read_network(*files(), crs="lonlat")


def test_files_that_cannot_be_read(files, tmp_path):
    nodes, edges = files()
    with pytest.raises(DataError, match="cannot be opened"):
        read_network(tmp_path / "none", edges)
    edges.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not a plain text file"):
        read_network(nodes, edges)


@pytest.mark.parametrize("setting", [{"crs": "degrees"}, {"speed": 0}, {"speed": np.nan}])
def test_bad_settings_are_refused(files, setting):
    with pytest.raises(SettingsError, match=next(iter(setting))):
        read_network(*files(), **setting)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "crs", "n_nodes", "n_edges"), [("OL", "planar", 6_105, 7_029), ("cal", "lonlat", 21_048, 21_693)]
)
def test_objects_move_on_real_networks(real_data, name, crs, n_nodes, n_edges):
    folder = real_data / "networks"
    network = read_network(folder / f"{name}.cnode", folder / f"{name}.cedge", crs=crs)
    assert (network.n_nodes, network.n_edges) == (n_nodes, 2 * n_edges)
    made = moving_objects(network, 1_000, seed=1)
    assert len(made) == 1_000
    assert made.crs == crs
    west, south, east, north = network.region
    assert np.all((made.points >= [west, south]) & (made.points <= [east, north]))
    minutes = np.diff(made.offsets) * 15 / 60
    assert 2 < np.median(minutes) < 60
