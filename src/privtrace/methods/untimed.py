"""Tell the curator where times are synthesized of data that has hardly any: exact, for the screen alone."""

from __future__ import annotations

from privtrace.methods.declaring import spelled
from privtrace.observer import Observer
from privtrace.trajectories import Source

#: Fewer than one point in so many with a time are hardly any.
_ONE_IN = 100


def tell_untimed(source: Source, observer: Observer) -> None:
    """Tell, loudly, if hardly a time can be read, and so the share of epsilon for times is wasted."""
    told = getattr(source, "unread_times", None)
    if told is None:
        return
    n_unread, n_times = told
    n_read, n_points = n_times - n_unread, source.n_points
    if _ONE_IN * n_read >= n_points:
        return
    observer.note(
        f"{n_read:,} of {n_points:,} points have a time that can be read, so the share of epsilon for times, "
        f"{spelled('clock_share')}, buys next to nothing, and synthetic times are noise. Leave them out with "
        f"--no-times (times=False), or say what times count with {spelled('time_unit')}, or how they are "
        f"written with {spelled('time_format')}",
        loud=True,
    )
