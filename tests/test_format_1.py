"""Files of format 1, without points and times, load, sample as they did, and are written back byte by byte.

`tests/format_1` has models of all methods, as written before there was another format, of the wanderers of
`privtrace.testing`: with secret noise and with seeded, over a box and polygons, for trajectories and users,
with a count that is public. Beside them stand digests of what is sampled from each: 300 trajectories by the
seed 5, as at that time; those of BridgeTrace as since its walks and lines draw random numbers several at once.
"""

from __future__ import annotations

import hashlib
import json
import struct
import warnings
from pathlib import Path

import pytest

import privtrace as pt
from privtrace.models import from_bytes, to_bytes

FOLDER = Path(__file__).with_name("format_1")
SAMPLES = json.loads((FOLDER / "samples.json").read_text())


def test_there_is_a_file_of_every_method() -> None:
    assert {path.name for path in FOLDER.glob("*.model")} == {*SAMPLES}
    assert {pt.load(FOLDER / name).release.method for name in SAMPLES} == {
        "bridgetrace",
        "privtrace",
        "adatrace",
        "dpt",
    }


@pytest.mark.parametrize("name", SAMPLES)
def test_it_loads_samples_alike_and_is_written_back(name: str, tmp_path: Path) -> None:
    content = (FOLDER / name).read_bytes()
    assert struct.unpack_from("<I", content, 8) == (1,)
    model = from_bytes(content)
    assert model.timing is None and not model.release.timing and model.release.calendar is None
    assert to_bytes(model) == content
    model.save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == content
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.CappedWalks)
        made = model.sample(300, seed=5)
    assert made.times is None
    assert hashlib.sha256(made.points.tobytes() + made.offsets.tobytes()).hexdigest() == SAMPLES[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_what_it_promises_is_the_same(name: str) -> None:
    """The statement, the budget by its settings, and that nothing is said of points and times but that."""
    release = pt.load(FOLDER / name).release
    assert release.spent == release.epsilon
    assert release.private == ("NOT PRIVATE" not in release.verdict)
    said = dict(release.statement())["Points and times"]
    assert said == "Synthetic trips have no times. The method chooses where points lie."


@pytest.mark.parametrize("name", SAMPLES)
def test_the_other_number_of_the_format_is_refused(name: str) -> None:
    """One file for one model: what has neither points nor times is of format 1."""
    content = (FOLDER / name).read_bytes()[:-32]
    other = content[:8] + struct.pack("<I", 2) + content[12:]
    with pytest.raises(pt.ModelFormatError):
        from_bytes(other + hashlib.sha256(other).digest())
