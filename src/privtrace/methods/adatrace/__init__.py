"""AdaTrace (Gursoy et al., CCS 2018): grid, moves to neighbors, trips, lengths, and bridges between ends.

This is the private variant: all that leaves the data goes through the ledger, unlike in the published program.
Its filters against attacks consult the raw data, and so are not offered. docs/methods/adatrace.md says more.
"""

from __future__ import annotations

from privtrace.methods.adatrace.settings import AdaTrace
from privtrace.methods.registry import Ours

METHOD = Ours(
    AdaTrace,
    label="AdaTrace",
    colors=("#5b3a8e", "#b79be6"),
    docs="docs/methods/adatrace.md",
)
