"""Hold how far off PrivTrace's numbers were on public data, as `experiments/foreseen.py --fit` prints it."""

from __future__ import annotations

from privtrace.methods.foreseeing import Constants, Table

FORESEEN: Table = {
    "district": Constants("first order", 3.89, 0.559, 0.331, 0.0589, 0.362, 0.934, 0.439, 120000),
    "od": Constants("first order", 357, 1.46, 0.855, 0.438, 0.228, 0.646, 1.17, 120000),
    "hour": Constants("departures", 3.02, 0.402, 0, 0.0397, 0, 0.0878, 0, 14000),
    "street": Constants("first order", 1.21, 0.05, 0, 0.0796, 0, 0.0304, 0, 120000),
}
