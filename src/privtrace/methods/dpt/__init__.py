"""DPT (He et al., PVLDB 2015): hierarchical reference systems, noisy prefix trees, direction-weighted sampling.

After the published description; parameters that the description leaves open are ours, and its figures are no
reproduction of the authors' program. docs/methods/dpt.md says what is known and what is chosen here.
"""

from __future__ import annotations

from privtrace.methods.dpt.settings import DPT
from privtrace.methods.registry import Ours

METHOD = Ours(
    DPT,
    label="DPT",
    colors=("#2f6b2f", "#7ccb7c"),
    docs="docs/methods/dpt.md",
)
