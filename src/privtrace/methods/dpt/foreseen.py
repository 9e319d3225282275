"""Hold how far off DPT's numbers were on public data, as `experiments/foreseen.py --fit` prints it."""

from __future__ import annotations

from privtrace.methods.foreseeing import Constants, Table

FORESEEN: Table = {
    "district": Constants("level 1", 5.35, 0.657, 0.222, 0.169, 0.211, 0.934, 0.439, 80000),
    "od": Constants("level 1", 11, 0.669, 0.278, 0.38, 0.26, 0.646, 1.17, 80000),
    "hour": Constants("departures", 4.03, 0.469, 0, 0.0509, 0, 0.0878, 0, 14000),
    "length": Constants("level 1", 3.68, 0.518, 0, 0.298, 0, 1, 0, 80000),
    "street": Constants("level 1", 1.18, 0.05, 0, 0.188, 0, 0.0304, 0, 80000),
}
