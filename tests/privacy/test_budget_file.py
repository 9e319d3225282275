"""A budget file charges a fit before it draws, exactly and never past its limit, or it refuses in words."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import privtrace as pt
from privtrace.models import to_bytes
from privtrace.privacy import budget_file
from privtrace.privacy.unit import Unit

UNIT = Unit()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "porto.ledger"


def charge(path: Path, epsilon: Any, limit: Any = None, unit: Unit = UNIT, note: str = "") -> None:
    pt.BudgetFile(path, limit, note).charge(Fraction(epsilon), unit, "privtrace")


# --- adding up --------------------------------------------------------------------------------------------


def test_ten_tenths_are_one(path: Path) -> None:
    for _ in range(10):
        charge(path, "0.1", limit=1.0)
    record = pt.BudgetFile(path).read()
    assert record.spent == record.limit == 1 and record.left == 0
    with pytest.raises(
        pt.BudgetExceeded, match=r"asks for epsilon 1e-06, but 1 of 1 is spent and only 0 is left"
    ):
        charge(path, "1/1000000")
    assert len(pt.BudgetFile(path).read().entries) == 10


@given(asked=st.lists(st.fractions(Fraction(1, 60), 2, max_denominator=60), max_size=12))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sum_is_exact_and_within_the_limit(asked: list[Fraction], path: Path) -> None:
    path.unlink(missing_ok=True)
    granted = []
    for epsilon in asked:
        try:
            charge(path, epsilon, limit=3)
            granted.append(epsilon)
        except pt.BudgetExceeded:
            assert sum(granted) + epsilon > 3
    if granted:
        record = pt.BudgetFile(path).read()
        assert [entry.epsilon for entry in record.entries] == granted
        assert record.spent == sum(granted) <= 3


def test_the_file_is_readable_text(path: Path) -> None:
    charge(path, "1/3", limit=4, unit=Unit("user", 5), note="porto.model")
    head, about, entry = (json.loads(line) for line in path.read_text().splitlines())
    assert list(head) == ["format", "fits", "last", "check"]
    assert (head["format"], head["fits"]) == ("privtrace budget file 2", "0000000001")
    assert about == {"limit": "4", "unit": "user", "check": about["check"]}
    assert head["last"] == entry["check"]
    assert list(entry) == ["when", "epsilon", "method", "unit", "note", "check"]
    assert (entry["epsilon"], entry["note"], entry["unit"]) == ("1/3", "porto.model", "user, 5 trips each")
    assert entry["when"].endswith("Z")


def test_lines_are_only_added_behind_a_head_that_stays_in_place(path: Path) -> None:
    charge(path, 1, limit=4)
    head, *before = path.read_bytes().splitlines()
    charge(path, 1)
    new_head, *lines = path.read_bytes().splitlines()
    assert lines[:-1] == before and len(new_head) == len(head) < 512


def test_it_knows_what_was_charged_through_it(path: Path) -> None:
    file = pt.BudgetFile(path, limit=2)
    assert file.charged == 0
    charge(path, 1, limit=2)  # by another
    file.charge(Fraction(1), UNIT, "privtrace")
    assert file.charged == 1
    with pytest.raises(pt.BudgetExceeded):
        file.charge(Fraction(1), UNIT, "privtrace")
    assert file.charged == 1 and file == pt.BudgetFile(path, limit=2)


# --- fits -------------------------------------------------------------------------------------------------


def test_fits_are_charged_whole(path: Path, wanderers: pt.Trajectories, region: pt.Region) -> None:
    setup = pt.PrivTrace(epsilon="0.7", region=region)
    setup.fit(wanderers, budget_file=pt.BudgetFile(path, limit=2, note="first"))
    setup.fit(wanderers, budget_file=pt.BudgetFile(path))
    record = pt.BudgetFile(path).read()
    assert [(entry.epsilon, entry.method, entry.note) for entry in record.entries] == [
        (Fraction(7, 10), "privtrace", "first"),
        (Fraction(7, 10), "privtrace", ""),
    ]
    with pytest.raises(pt.BudgetExceeded):
        setup.fit(wanderers, budget_file=pt.BudgetFile(path))
    assert pt.BudgetFile(path).read() == record


def test_the_release_says_nothing_of_the_file(
    path: Path, wanderers: pt.Trajectories, region: pt.Region
) -> None:
    model = pt.PrivTrace(epsilon=1, region=region).fit(wanderers, budget_file=pt.BudgetFile(path, 1, "secret"))
    assert b"porto" not in to_bytes(model) and b"secret" not in to_bytes(model)


class NoPass:
    """Fail the test when a pass begins."""

    crs, n_points, gap_minutes, has_users = "planar", 0, None, True

    def parts(self) -> Any:
        pytest.fail("a pass was made")


def test_what_can_be_refused_is_refused_before_any_pass(path: Path, region: pt.Region) -> None:
    source: Any = NoPass()

    def refused(error: type[Exception], words: str, file: Path = path, limit: Any = None, **fit: Any) -> None:
        unit = fit.pop("unit", "trajectory")
        setup = pt.PrivTrace(epsilon=1, region=region, unit=unit, max_per_user=2 if unit == "user" else None)
        with pytest.raises(error, match=words):
            setup.fit(source, budget_file=pt.BudgetFile(file, limit), **fit)

    refused(pt.SettingsError, "needs a limit")
    refused(pt.BudgetExceeded, "0 of 0.5 is spent", limit="0.5")
    refused(pt.BudgetFileError, "folder", file=path / "nowhere" / "a", limit=1)
    refused(pt.BudgetFileError, "regular file", file=path.parent, limit=1)
    refused(pt.SettingsError, "NOT PRIVATE", limit=1, noise=pt.SeededNoise(1))
    refused(pt.SettingsError, "NOT PRIVATE", limit=1, noise=pt.NoNoise())
    assert not path.exists()  # only a charge makes it

    charge(path, "1.5", limit=2)
    refused(pt.BudgetExceeded, r"1\.5 of 2 is spent and only 0\.5 is left")
    refused(pt.SettingsError, "the first fit set the limit to 2, not 3", limit=3)
    refused(pt.SettingsError, "per trajectory, but this fit protects each user", unit="user")
    whole = path.read_bytes()
    path.write_bytes(whole[:40] + b"9" + whole[41:])
    refused(pt.BudgetFileError, "line 1 is damaged")
    path.write_bytes(whole[: whole[:-1].rindex(b"\n") + 1])
    refused(pt.BudgetFileError, "its end is missing")
    path.write_bytes(b"")
    refused(pt.BudgetFileError, "is empty", limit=2)


def test_a_file_that_cannot_be_written_is_refused_early(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charge(path, 1, limit=2)
    monkeypatch.setattr(budget_file.os, "access", lambda place, mode: False)  # for root all can be written
    with pytest.raises(pt.BudgetFileError, match="is writable"):
        pt.BudgetFile(path).check(Fraction(1), UNIT)


def test_failed_fits_stay_charged(
    path: Path, wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise RuntimeError("the power went")

    monkeypatch.setattr("privtrace.methods.privtrace.recipe.measure_first_order", fail)
    with pytest.raises(RuntimeError, match="power"):
        pt.PrivTrace(epsilon=1, region=region).fit(wanderers, budget_file=pt.BudgetFile(path, 2))
    assert pt.BudgetFile(path).read().spent == 1


def test_fits_that_draw_nothing_are_not_charged(
    path: Path, wanderers: pt.Trajectories, region: pt.Region
) -> None:
    setup = pt.PrivTrace(epsilon=1, region=region, unit="user", max_per_user=1)
    with pytest.raises(pt.DataError, match="no users"):
        setup.fit(wanderers, budget_file=pt.BudgetFile(path, 2))
    assert not path.exists()


def test_units_whose_epsilons_add_up_share_a_file(path: Path) -> None:
    charge(path, 1, limit=9, unit=Unit("user", 5))
    charge(path, 1, unit=Unit("user", 50, 30))
    with pytest.raises(pt.SettingsError, match="cannot be added"):
        charge(path, 1, unit=Unit())
    charge(path.with_name("trips"), 1, limit=9, unit=Unit(gap_minutes=30))
    with pytest.raises(
        pt.SettingsError, match="per trip between gaps over 30 minutes, but this fit protects each trajectory"
    ):
        charge(path.with_name("trips"), 1)


# --- damage -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("budget") / "a"
    for note in ("one", "two }", "three"):
        charge(path, "0.5", limit=4, note=note)
    return path.read_bytes()


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_changed_byte_is_noticed(content: bytes, data: st.DataObject, path: Path) -> None:
    place = data.draw(st.integers(0, len(content) - 1))
    damaged = bytearray(content)
    damaged[place] ^= data.draw(st.integers(1, 255))
    check_refused(bytes(damaged), path)


def test_the_end_of_each_line_matters(content: bytes, path: Path) -> None:
    ends = [place for place, byte in enumerate(content) if byte == ord("\n")]
    for place in [*ends, *(end - 1 for end in ends), *(end + 1 for end in ends[:-1]), 0]:
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            check_refused(bytes(damaged), path)


def test_lines_lost_moved_or_written_by_hand_are_noticed(content: bytes, path: Path) -> None:
    lines = content.splitlines(keepends=True)
    for order in ("1234", "0234", "0134", "0124", "0123", "001234", "011234", "012234", "01324", "10234"):
        check_refused(b"".join(lines[int(number)] for number in order), path)
    check_refused(content.replace(b'"0.5"', b'"0.1"', 1), path, line=3)
    check_refused(content + b"\n", path, line=6)
    check_refused(content + b'{"epsilon": "0.5"}\n', path, line=6)


def test_a_file_cut_anywhere_is_refused(content: bytes, path: Path) -> None:
    """The loss of last lines as well, and of everything: what was spent must not read as less."""
    for size in range(len(content)):
        check_refused(content[:size], path)


def check_refused(damaged: bytes, path: Path, line: int | None = None) -> None:
    path.write_bytes(damaged)
    words = "damaged|not a budget file|end is missing|is empty" if line is None else f"line {line} is damaged"
    for act in (
        lambda: pt.BudgetFile(path).read(),
        lambda: pt.BudgetFile(path, limit=4).check(Fraction(1), UNIT),
        lambda: charge(path, 1, limit=4),
    ):
        with pytest.raises(pt.BudgetFileError, match=words) as caught:
            act()
        assert str(path) in str(caught.value)
    assert path.read_bytes() == damaged


def test_what_the_head_does_not_tell_of_counts_if_it_is_whole(content: bytes, path: Path) -> None:
    """A power cut between a line and its head: the line has any length, and was not granted yet."""
    charge(path, "0.5", limit=4)
    path.write_bytes(content)
    charge(path, 1)
    line = path.read_bytes().splitlines(keepends=True)[-1]
    for size in range(len(line) + 1):
        path.write_bytes(content + line[:size])
        record = pt.BudgetFile(path).read()
        whole = size >= len(line) - 1  # all but its end: to count it is the safe side
        assert (record.spent, record.n_unfinished) == (Fraction(5, 2) if whole else Fraction(3, 2), int(whole))
        assert record.torn == (0 < size < len(line) - 1)
        charge(path, "0.25")
        after = pt.BudgetFile(path).read()
        assert after.spent == record.spent + Fraction(1, 4) and not after.torn and after.n_unfinished == 0


# --- files of version 1 -----------------------------------------------------------------------------------


def old_file(n_fits: int) -> bytes:
    """Write a file as version 1 did: without a head."""
    line, check = budget_file._line(
        {"format": "privtrace budget file 1", "limit": "4", "unit": "trajectory"}, ""
    )
    lines = [line]
    for number in range(n_fits):
        facts = {"when": "2025-03-01T09:30:00Z", "epsilon": "0.5", "method": "dpt", "unit": "trajectory"}
        line, check = budget_file._line({**facts, "note": f"model {number}"}, check)
        lines.append(line)
    return b"".join(lines)


def test_files_without_a_head_are_read_and_get_one_with_the_next_fit(path: Path) -> None:
    for old in (old_file(3), old_file(3)[:-1]):
        path.write_bytes(old)
        path.chmod(0o640)
        before = pt.BudgetFile(path).read()
        assert before.spent == Fraction(3, 2) and not before.has_head and path.read_bytes() == old
        with pytest.raises(pt.BudgetExceeded):
            charge(path, 3)
        assert path.read_bytes() == old
        charge(path, "0.1")
        after = pt.BudgetFile(path).read()
        assert after.has_head and after.entries[:3] == before.entries and after.limit == 4
        assert after.spent == Fraction(8, 5) and stat.S_IMODE(path.stat().st_mode) == 0o640
        check_refused(path.read_bytes().rpartition(b'{"when"')[0], path)
        path.unlink()


def test_what_shows_of_a_cut_without_a_head_is_refused(path: Path) -> None:
    """A line that lacks its end may be one of a fit that drew; that whole lines are lost does not show."""
    old = old_file(2)
    ends = [place + 1 for place, byte in enumerate(old) if byte == ord("\n")]
    for size in range(len(old)):
        if size in ends[1:] or size + 1 in ends[1:]:
            path.write_bytes(old[:size])
            assert not pt.BudgetFile(path).read().has_head
        else:
            check_refused(old[:size], path)


def test_old_files_get_one_head_from_many_fits_at_once(path: Path) -> None:
    path.write_bytes(old_file(2))
    threads = [threading.Thread(target=charge, args=(path, "0.1")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pt.BudgetFile(path).read().spent == Fraction(9, 5)


# --- what is no budget file, and disks that fail ----------------------------------------------------------


@pytest.mark.parametrize("foreign", [b"PRIVTRAC\x01", b"x", b"{}\n", b"traj_id,x,y\n1,2,3\n", b"\0" * 100])
def test_foreign_files_are_left_alone(foreign: bytes, path: Path) -> None:
    check_refused(foreign, path)


def test_newer_files_are_refused(path: Path) -> None:
    header = {"format": "privtrace budget file 3", "limits": "1"}
    path.write_bytes(budget_file._line(header, "")[0])
    with pytest.raises(pt.BudgetFileError, match="'privtrace budget file 3', but this version reads"):
        pt.BudgetFile(path).read()


@pytest.mark.parametrize("failing", ["write", "short write"])
def test_a_full_disk_grants_nothing(failing: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charge(path, 1, limit=4)
    before = path.read_bytes()
    write = os.pwrite

    def fail(descriptor: int, content: bytes, place: int) -> int:
        if place == 0:  # what is there can be written anew
            return write(descriptor, content, place)
        if failing == "write":
            raise OSError(28, "No space left on device")
        return write(descriptor, content[:20], place)

    monkeypatch.setattr(budget_file.os, "pwrite", fail)
    with pytest.raises(pt.BudgetFileError, match="locked or written"):
        charge(path, 1)
    assert path.read_bytes() == before


def test_each_step_is_on_the_disk_before_the_next(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First the whole file with no fit and its name, then the line of a fit, then the head."""
    steps: list[str] = []

    def followed(name: str) -> None:
        act = getattr(os, name)

        def step(first: Any, *arguments: Any, **named: Any) -> Any:
            steps.append(
                name if name != "fsync" or not stat.S_ISDIR(os.fstat(first).st_mode) else "fsync folder"
            )
            return act(first, *arguments, **named)

        monkeypatch.setattr(budget_file.os, name, step)

    for name in ("link", "pwrite", "fsync"):
        followed(name)
    charge(path, 1, limit=4)
    assert steps == ["fsync", "link", "fsync folder", "pwrite", "fsync", "pwrite", "fsync"]


def test_a_disk_that_fails_for_good_is_told_of(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charge(path, 1, limit=4)

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(budget_file.os, "fsync", fail)
    file = pt.BudgetFile(path)
    with pytest.raises(pt.BudgetFileError, match=r"no noise was drawn, but `privtrace ledger .*` may show"):
        file.charge(Fraction(1), UNIT, "dpt")
    assert file.charged == 1  # the safe side


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("start", ["none", "old", "new", "torn"])
def test_whatever_stops_a_charge_it_is_whole_or_not_at_all(
    start: str, error: BaseException, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt comes, or a call fails, once: before or after any call to the system."""
    charge(path, "0.5", limit=4)
    first = {"none": None, "old": old_file(1), "new": path.read_bytes(), "torn": path.read_bytes() + b'{"when'}[
        start
    ]
    spent = Fraction(0) if first is None else Fraction(1, 2)
    n_stopped = 0
    for after in (False, True) if isinstance(error, KeyboardInterrupt) else (False,):
        for moment in range(1000):
            path.unlink(missing_ok=True)
            if first is not None:
                path.write_bytes(first)
            file = pt.BudgetFile(path, limit=4)
            with monkeypatch.context() as patched:
                stopped = stop_at(moment, after, error, patched)
                with contextlib.suppress(KeyboardInterrupt, pt.BudgetFileError):
                    file.charge(Fraction(1), UNIT, "dpt")
            record = pt.BudgetFile(path).read() if path.exists() else None
            assert (record.spent if record else 0) == spent + file.charged
            assert file.charged in ((0, 1) if stopped else (1,))
            assert [entry.name for entry in path.parent.iterdir()] in ([path.name], [])
            if not stopped:
                break
            n_stopped += 1
    assert n_stopped >= 5


def stop_at(moment: int, after: bool, error: BaseException, patched: pytest.MonkeyPatch) -> list[str]:
    """Let the system's call of this number fail, once; return its name, when it did."""
    stopped: list[str] = []
    calls = iter(range(10**6))

    def patch(name: str) -> None:
        act = getattr(os, name)

        def step(*arguments: Any, **named: Any) -> Any:
            due = not stopped and next(calls) == moment
            if due:
                stopped.append(name)
            if due and not after:
                raise error
            done = act(*arguments, **named)
            if due:
                raise error
            return done

        patched.setattr(budget_file.os, name, step)

    for name in ("link", "replace", "chmod", "pwrite", "fsync", "ftruncate"):
        patch(name)
    return stopped


def test_a_file_replaced_while_waiting_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charge(path, 1, limit=4)
    lock = budget_file._lock

    def replaced(descriptor: int, exclusive: bool) -> None:
        path.rename(path.with_name("away"))
        path.write_bytes(path.with_name("away").read_bytes())
        lock(descriptor, exclusive)

    monkeypatch.setattr(budget_file, "_lock", replaced)
    with pytest.raises(pt.BudgetFileError, match="replaced"):
        charge(path, 1)


@pytest.mark.parametrize("arguments", [{"limit": 0}, {"limit": "x"}, {"note": "a\nb"}, {"note": "x" * 501}])
def test_odd_settings_are_refused(arguments: Any, path: Path) -> None:
    with pytest.raises(pt.SettingsError):
        pt.BudgetFile(path, **arguments)


# --- at the same time, and kill -9 ------------------------------------------------------------------------

# One process imports and compiles, then forks workers that start at once. It never starts a thread itself.
HARNESS = """
import logging, os, random, signal, sys, time
logging.disable()  # that these models are noise
from fractions import Fraction
import numpy as np
import privtrace as pt
from privtrace.privacy.noise import SystemNoise

action, path, side, times = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])

class Serial:
    def map(self, task, parts):
        return map(task, parts)

rng = np.random.default_rng(1)
source = pt.Trajectories(rng.uniform(0, 10, (300, 2)), np.arange(0, 301, 3), crs="planar")
setup = pt.PrivTrace(epsilon="0.1", region=pt.Region.box(0, 0, 10, 10), K=2)

def fit():
    setup.fit(source, backend=Serial(), budget_file=pt.BudgetFile(path, limit=LIMIT))

LIMIT = 10**5
setup.fit(source, backend=Serial())  # everything is compiled now
began = time.time()
setup.fit(source, backend=Serial())
moment = 4 * (time.time() - began)  # a worker is killed within its first few fits, on a machine of any speed
laplace, descriptor = SystemNoise.laplace, os.open(side, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def recorded(self, n_draws, scale):
    if not hasattr(self, "recorded"):  # a noise for each fit
        self.recorded = True
        os.write(descriptor, b"drew\\n")
        os.fsync(descriptor)
    return laplace(self, n_draws, scale)

SystemNoise.laplace = recorded

def worker():
    try:
        if action == "kill":
            while True:
                fit()
        time.sleep(max(0, start - time.time()))
        for _ in range(3):
            fit()
    except pt.BudgetExceeded:
        os._exit(0)
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
    os._exit(1)

if action == "kill":
    for _ in range(times):
        pid = os.fork()
        if pid == 0:
            worker()
        time.sleep(random.uniform(0, moment))
        os.kill(pid, signal.SIGKILL)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL
else:
    LIMIT, start = 1, time.time() + 0.2
    pids = []
    for _ in range(times):
        pids.append(os.fork())
        if pids[-1] == 0:
            worker()
    for pid in pids:
        os.waitpid(pid, 0)
"""


# A process is killed before each of its calls to the system, and in the middle of each write but the head's,
# which is shorter than what disks write whole.
CRASHES = """
import os, shutil, sys
from fractions import Fraction
from pathlib import Path
import privtrace as pt
from privtrace.privacy.unit import Unit

path, old = Path(sys.argv[1]), bytes.fromhex(sys.argv[2])
granted, crashed = path.with_name("granted"), 0

def charge(epsilon):
    pt.BudgetFile(path, limit=4).charge(Fraction(epsilon), Unit(), "dpt")

def spent():
    return pt.BudgetFile(path).read().spent if path.exists() else 0

def dying(moment):
    calls = iter(range(10**6))
    def patch(name):
        act = getattr(os, name)
        def step(*arguments, **named):
            call = next(calls)
            if call == moment and name == "pwrite" and arguments[2] > 0:
                descriptor, content, place = arguments
                act(descriptor, content[: len(content) // 2], place)
            if call == moment:
                os._exit(7)
            return act(*arguments, **named)
        setattr(os, name, step)
    for name in ("open", "link", "replace", "chmod", "pwrite", "fsync", "ftruncate", "unlink"):
        patch(name)

charge("0.5")
new = path.read_bytes()
for start in (None, new, new + b'{"when', old):
    moment, code = 0, 7
    while code == 7:
        for leftover in path.parent.iterdir():
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        if start is not None:
            path.write_bytes(start)
        before = spent()
        pid = os.fork()
        if pid == 0:
            dying(moment)
            charge(1)
            os.close(os.open(granted, os.O_CREAT | os.O_WRONLY))
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert code in (0, 7)
        after = spent()
        assert after - before in ((1,) if granted.exists() else (0, 1)), (start, moment)
        charge("0.25")
        assert spent() == after + Fraction(1, 4), (start, moment)
        moment, crashed = moment + 1, crashed + (code == 7)
print(crashed)
"""


def test_a_process_killed_at_any_step_leaves_a_sound_file(path: Path) -> None:
    command = [sys.executable, "-c", CRASHES, str(path), old_file(1).hex()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30


def run(action: str, path: Path, times: int) -> tuple[int, Any]:
    """Run the harness; return how many fits drew, and what the file says."""
    side = path.with_name("side")
    command = [sys.executable, "-c", HARNESS, action, str(path), str(side), str(times)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return side.read_text().count("drew"), pt.BudgetFile(path).read()


def test_kill_9_charges_all_that_drew(path: Path) -> None:
    check_kills(path, 40)


@pytest.mark.slow
@pytest.mark.parametrize("round_", range(10))
def test_kill_9_charges_all_that_drew_many_times(round_: int, path: Path) -> None:
    check_kills(path, 200)


def check_kills(path: Path, n_kills: int) -> None:
    n_drew, record = run("kill", path, n_kills)
    assert n_drew > 0
    assert record.spent >= n_drew * Fraction(1, 10)
    assert len(record.entries) <= n_drew + n_kills  # a kill leaves at most one fit charged that did not draw


@pytest.mark.parametrize("n_fits", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_fits_at_once_do_not_overspend(n_fits: int, path: Path) -> None:
    """The limit allows 10 of 24 fits: just 10 draw, and all of it is used."""
    n_drew, record = run("race", path, n_fits)
    assert n_drew == len(record.entries) == 10
    assert record.spent == record.limit == 1


def test_threads_at_once_do_not_overspend(path: Path) -> None:
    granted, refused = [], []

    def work() -> None:
        for _ in range(5):
            try:
                charge(path, "0.1", limit=1)
                granted.append(1)
            except pt.BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(granted), len(refused)) == (10, 20) and pt.BudgetFile(path).read().left == 0
