"""Name the numbers that BridgeTrace was tuned by, each with its reason."""

from __future__ import annotations

#: The part of its weight that a walk loses on a step across a twentieth of the region, level by level.
LOSSES = (0.7, 0.3, 0.13, 0.055, 0.023, 0.01)
