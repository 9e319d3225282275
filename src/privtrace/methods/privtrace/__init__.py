"""PrivTrace (Wang et al., USENIX Security 2023): adaptive grid, adaptive Markov models, trip estimation.

Where the paper is silent or contradicts itself, docs/methods/privtrace.md says what is done here and why.
"""

from __future__ import annotations

from privtrace.methods.privtrace.settings import PrivTrace
from privtrace.methods.registry import Ours

METHOD = Ours(
    PrivTrace,
    label="PrivTrace",
    colors=("#7a4a00", "#e0a23c"),
    docs="docs/methods/privtrace.md",
)
