"""Put in words who is protected, and which trajectories count."""

from __future__ import annotations

from privtrace.privacy.unit import Unit

NO_USERS = (
    "the data has no users, so users cannot be protected. Name the user column 'user_id', pass --columns "
    "user_id=NAME (in Python, give Trajectories users), or protect single trips: --unit trajectory "
    "(unit='trajectory')"
)


def chosen(n_users: int, n_trips: int, n_chosen: int, per_user: int) -> str:
    """Tell the curator which trajectories of users count: exact numbers, NOT PRIVATE."""
    return (
        f"{n_users:,} users made {n_trips:,} trips; {n_trips - n_chosen:,} of them are left out because at "
        f"most {per_user:,} per user count"
    )


def each_or_all(unit: Unit) -> str:
    """Tell whoever fits data with users what these are promised, and how to promise more."""
    word, words = ("trajectory", "trajectories") if unit.gap_minutes is None else ("trip", "trips")
    return (
        f"The data has users, but the promise protects each {word} separately, not all {words} of a "
        "person together. To protect people: --unit user --max-per-user K (unit='user', max_per_user=K)."
    )


def who_is_protected(unit: Unit) -> str:
    """Tell a reader who is protected."""
    gap = None if unit.gap_minutes is None else f"splitting at gaps over {unit.gap_minutes:.12g} minutes"
    if unit.kind == "user":
        cut = f" Points without a time do not count; a trajectory means one trip after {gap}." if gap else ""
        return _USER.format(k=f"{unit.contributions:,}", cut=cut)
    if gap:
        one = f"trip after {gap}: all points between two such gaps, recorded"
        neighbors = (
            "Two data sets are neighbors if they differ by one trip after dropping points without a time "
            f"and {gap}. "
        )
        return _TRAJECTORY.format(one=one, neighbors=neighbors, word="trip", words="trips")
    return _TRAJECTORY.format(
        one="trajectory: all points recorded", neighbors="", word="trajectory", words="trajectories"
    )


_TRAJECTORY = (
    "One {one} under one trajectory id (and one user, if the data has users). {neighbors}Adding or removing "
    "any one {word}, whatever it contains, changes the probability of any release by a factor of at most "
    "exp(epsilon). A person with several {words} is protected for each one separately, not for all together."
)
_USER = (
    "One person: all trajectories of one user together, no matter how many. Adding or removing any one user, "
    "whatever their trajectories contain, changes the probability of any release by a factor of at most "
    "exp(epsilon). If a user has more than {k} trajectories, {k} chosen at random count. Rows without a user "
    "do not count.{cut}"
)
