"""Whatever ends a fit, its last words say what was spent and whether it stays charged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import privtrace as pt

# One process imports and compiles, and forks a child for each case, which runs the command line as a user does.
# A hook finds the moment to send it a signal, or to let the disk be full.
CASES = """
import json, os, signal, sys
import numpy as np
import privtrace as pt
from privtrace import cli
from privtrace.rows import spool
from privtrace.storage import atomic
from privtrace.io.source import FileSource
from privtrace.privacy.noise import SystemNoise
from privtrace.methods import sampling
from privtrace.methods.model import Model

sent = []

def interrupt(number):
    if not sent:
        sent.append(number)
        os.kill(os.getpid(), number)

def full(*arguments, **named):
    raise OSError(28, "No space left on device")

def before(act, stop):
    def stopped(*arguments, **named):
        stop()
        return act(*arguments, **named)
    return stopped

def after(act, stop):
    def stopped(*arguments, **named):
        done = act(*arguments, **named)
        stop()
        return done
    return stopped

def hook(moment, stop):
    if moment == "reading":
        FileSource.parts = before(FileSource.parts, stop)
    elif moment == "charging":
        os.pwrite = after(os.pwrite, stop)
    elif moment == "charged":
        pt.BudgetFile.charge = after(pt.BudgetFile.charge, stop)
    elif moment == "drawn":
        SystemNoise.laplace = after(SystemNoise.laplace, stop)
    elif moment == "saving":
        Model.save = before(Model.save, lambda: setattr(atomic, "_sync", stop))
    elif moment == "generating":
        sampling.sample_parts = before(sampling.sample_parts, stop)
    elif moment == "spooling":
        spool.tempfile.TemporaryFile = stop

class Serial:
    def map(self, task, parts):
        return map(task, parts)

points = np.random.default_rng(1).uniform(0, 10, (300, 2))
trips = pt.Trajectories(points, np.arange(0, 301, 3), crs="planar")
pt.PrivTrace(epsilon=1, region=pt.Region.box(0, 0, 10, 10), K=2).fit(trips, backend=Serial())
for number, (arguments, moment, how) in enumerate(json.loads(sys.argv[1])):
    folder = os.path.join(sys.argv[2], str(number))
    os.makedirs(folder)
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        for descriptor, name in ((1, "../out"), (2, "../err")):
            os.dup2(os.open(f"{name}{number}", os.O_CREAT | os.O_WRONLY), descriptor)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background inherits none
        hook(moment, full if how == "full" else lambda *arguments: interrupt(signal.Signals[how]))
        sys.argv = ["privtrace", *arguments]
        try:
            cli.main()
        except SystemExit as end:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(end.code or 0)
        os._exit(99)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    kept = sorted(os.listdir(folder))
    spent = str(pt.BudgetFile(os.path.join(folder, "t.ledger")).read().spent) if "t.ledger" in kept else ""
    read = [open(os.path.join(sys.argv[2], f"{name}{number}")).read() for name in ("out", "err")]
    print(json.dumps([code, *read, kept, spent]))
"""

SETTINGS = ["--region=0,0,10,10", "--epsilon=0.5", "--method=privtrace", "--K=2", "--threads=1"]
FIT = ["fit", "../t.csv", *SETTINGS, "--output=m"]
SYNTH = ["synth", "../t.csv", *SETTINGS, "--output=s.csv", "--model=m"]
SCATTERED = ["fit", "../scattered.csv", *SETTINGS, "--output=m"]
NOWHERE = ["fit", "../t.csv", "--region=500,500,600,600", *SETTINGS[1:], "--output=m"]
ACCOUNT = ["--budget-file=t.ledger", "--limit=2"]
NOTHING = "no noise was drawn, and nothing was charged to t.ledger"
STAYS = "epsilon 0.5 stays charged to t.ledger"

#: Arguments, when and how the run ends, its exit code, its last words, which files are left, and what is spent.
ENDINGS = [
    (FIT + ACCOUNT, "reading", "SIGINT", 130, NOTHING, [], ""),
    (FIT + ACCOUNT, "charging", "SIGINT", 130, NOTHING, ["t.ledger"], "0"),
    (FIT + ACCOUNT, "charged", "SIGTERM", 130, f"{STAYS}, although no noise was drawn", ["t.ledger"], "1/2"),
    (FIT + ACCOUNT, "drawn", "SIGTERM", 130, STAYS, ["t.ledger"], "1/2"),
    (FIT + ACCOUNT, "saving", "full", 2, STAYS, ["t.ledger"], "1/2"),
    (SCATTERED + ACCOUNT, "spooling", "full", 2, NOTHING, [], ""),
    (FIT, "reading", "SIGINT", 130, "no noise was drawn and no epsilon spent", [], ""),
    (FIT, "drawn", "SIGINT", 130, "noise was drawn, so epsilon 0.5 is spent", [], ""),
    ([*FIT, "--noise-seed=1"], "saving", "SIGINT", 130, "NOT PRIVATE and spends no budget", [], ""),
    (SYNTH + ACCOUNT, "generating", "SIGINT", 130, STAYS, ["m", "t.ledger"], "1/2"),
    (
        SYNTH,
        "generating",
        "full",
        2,
        "the fitted model is saved in m; generating from it costs no privacy",
        ["m"],
        "",
    ),
    (NOWHERE + ACCOUNT, "", "", 0, f"{STAYS}. Before the next fit", ["m", "t.ledger"], "1/2"),
    ([*NOWHERE, "--json", "--crs=planar"], "", "", 0, "epsilon 0.5 is spent. Before the next fit", ["m"], ""),
]


def test_the_last_words_say_what_was_spent(tmp_path: Path) -> None:
    trips = np.random.default_rng(1).uniform(0, 10, (900, 2))
    pt.Trajectories(trips, np.arange(0, 901, 3), crs="planar").write(tmp_path / "t.csv")
    header, *rows = (tmp_path / "t.csv").read_text().splitlines()
    (tmp_path / "scattered.csv").write_text("\n".join([header, *rows[::2], *rows[1::2]]))
    cases = json.dumps([ending[:3] for ending in ENDINGS])
    done = subprocess.run(
        [sys.executable, "-c", CASES, cases, str(tmp_path)],
        capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    for (arguments, moment, how, *expected), (code, out, err, *left) in zip(ENDINGS, told, strict=True):
        exit_code, words, *files = expected
        case, last = (moment, how, arguments), " ".join(err.split())
        assert (code, left) == (exit_code, files), (case, err)
        assert words in last and "Traceback" not in out + err, (case, err)
        assert err.startswith("for the curator only, NOT PRIVATE: " if code == 0 else "error: "), (case, err)
        assert (code == 130) == ("interrupted; no incomplete file is left behind" in last), (case, err)
        assert (how == "full") == ("No space left on device" in last), (case, err)
        assert (code == 0) == ("no trip was usable" in last), (case, err)
        assert "usable" not in out, case  # results may be published
    assert told[-1][2].rstrip().endswith("privtrace check ../t.csv --region=500,500,600,600 --crs=planar")
