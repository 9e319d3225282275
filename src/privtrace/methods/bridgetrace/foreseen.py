"""Hold how far off BridgeTrace's numbers were on public data, as `experiments/foreseen.py --fit` prints it."""

from __future__ import annotations

from privtrace.methods.foreseeing import Constants, Table

FORESEEN: Table = {
    "district": Constants("visits", 17.3, 0.757, 0.254, 0.0195, 0.427, 0.932, 0.439, 310000),
    "od": Constants("trips", 1.83, 0.46, 0.552, 0.0189, 0.709, 0.666, 1.19, 110000),
    "hour": Constants("departures", 16.5, 0.744, 0, 0.0355, 0, 0.0883, 0, 43000),
    "length": Constants("shapes", 53.4, 0.93, 0, 0.0454, 0, 1, 0, 77000),
    "street": Constants("visits", 1.63, 0.0955, 0, 0.000335, 0, 0.0303, 0, 310000),
}
