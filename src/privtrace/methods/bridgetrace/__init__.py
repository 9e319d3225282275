"""BridgeTrace, our own: traced paths, measured trips, and walks that arrive, calibrated to what was measured.

docs/methods/bridgetrace.md explains each part; the notebook beside it has what was tried, and what it costs.
"""

from __future__ import annotations

from privtrace.methods.bridgetrace.settings import BridgeTrace
from privtrace.methods.registry import Ours

METHOD = Ours(
    BridgeTrace,
    label="BridgeTrace",
    colors=("#0b6b8a", "#5cc3e0"),
    docs="docs/methods/bridgetrace.md",
)
