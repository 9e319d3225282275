"""Open Matrix: what the specification asks for, and the numbers that were given."""

from __future__ import annotations

import io
import sys

import h5py
import numpy as np
import pytest

from privtrace.errors import MissingExtra
from privtrace.export import omx
from privtrace.export.omx import write_omx

MATRICES = {f"trips {n}": np.random.default_rng(n).uniform(0, 9, (5, 5)) for n in range(2)}
ABOUT = {"privtrace.guarantee": "pure, ε = 1", "privtrace.columns": "{" + 9000 * "x" + "}"}


def written(*zones: str) -> bytes:
    sink = io.BytesIO()
    write_omx(sink, MATRICES, zones, ABOUT)
    return sink.getvalue()


def test_the_layout_is_that_of_the_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(omx, "_CHUNK_NUMBERS", 12)
    with h5py.File(io.BytesIO(written("Sé", "b", "10", "d", "e"))) as file:
        assert file.attrs["OMX_VERSION"] == b"0.2"
        assert file.attrs["SHAPE"].tolist() == [5, 5] and file.attrs["SHAPE"].dtype == np.int32
        for name, text in ABOUT.items():
            assert file.attrs[name].decode() == text
        assert {*file} == {"data", "lookup"} and [*file["data"]] == [*MATRICES]
        for name, matrix in MATRICES.items():
            found = file["data"][name]
            assert np.array_equal(found, matrix) and found.dtype == np.float64
            assert found.chunks == (2, 5) and found.compression == "gzip"
        assert [*file["lookup"]] == ["zone"]
        assert [name.decode() for name in file["lookup"]["zone"]] == ["Sé", "b", "10", "d", "e"]


@pytest.mark.parametrize(
    ("zones", "numbers"),
    [
        (["3", "007", "-1", "10", "2147483647"], [3, 7, -1, 10, 2**31 - 1]),
        (["3", "7", "07", "1", "2"], None),  # two would be the same
        (["3", "7", "8", "1", "2147483648"], None),
        (["3", "7", "8", "1", "2.0"], None),
    ],
)
def test_zones_that_are_numbers_are_numbers_too(zones: list[str], numbers: list[int] | None) -> None:
    with h5py.File(io.BytesIO(written(*zones))) as file:
        found = file["lookup"].get("zone_number")
        assert (found is None) == (numbers is None)
        assert numbers is None or (found[:].tolist() == numbers and found.dtype == np.int32)


def test_the_same_matrices_make_the_same_file_without_dates() -> None:
    content = written(*"12345")
    assert content == written(*"12345")
    with h5py.File(io.BytesIO(content)) as file:
        for name in ("data", "lookup", "data/trips 0", "lookup/zone", "lookup/zone_number"):
            assert h5py.h5g.get_objinfo(file.id, name.encode()).mtime == 0


def test_without_the_extra_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingExtra, match=r"OMX needs the zones extra: pip install 'privtrace\[zones\]'"):
        written(*"12345")
