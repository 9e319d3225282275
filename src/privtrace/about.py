"""Keep the words that go along with trajectories: who made them, and what is promised.

They begin with a model and are written into files, and never read from them again: nothing in a file shows that
it is still what the model made, and what has no words promises nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: What words of ours start with, and four of them: the promise in a line, whether it holds, the model's
#: checksum, without which no two parts are known to come from one release, and what dates mean.
_OURS = "privtrace."
GUARANTEE, PRIVATE, MODEL, TIMES = _OURS + "guarantee", _OURS + "private", _OURS + "model", _OURS + "times"

MIXED = "NOT PRIVATE: it combines parts that do not all come from one model, so no promise covers all of it"


def joined(parts: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Keep what all parts say; a promise only where all name the same model, and else say NOT PRIVATE.

    Two releases of epsilon 1 are not one of epsilon 1, and what is not from the model is not protected by it.
    """
    first, *others = parts
    common = {name: text for name, text in first.items() if all(other.get(name) == text for other in others)}
    said = {name for part in parts for name in part if name.startswith(_OURS)}
    if not others or not said or (said <= common.keys() and MODEL in said):
        return common
    theirs = {name: text for name, text in common.items() if not name.startswith(_OURS)}
    return {**theirs, GUARANTEE: MIXED}
