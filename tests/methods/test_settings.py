"""What the settings of all methods share: refusals in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import privtrace as pt
from privtrace.methods import registry
from privtrace.testing.data import timed_wanderers


@pytest.mark.parametrize("method", registry.OURS)
@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"epsilon": 0}, r"epsilon\) must be a positive"),
        ({"epsilon": "much"}, r"epsilon\) must be a positive decimal"),
        ({"epsilon": "1e-6"}, "too small"),
        ({"epsilon": "1e400"}, r"epsilon\) must be"),
        ({"region": None}, "region is needed"),
        ({"region": (0, 0, 1)}, "a region is four numbers .* not tuple"),
        ({"unit": "walk"}, "must be 'trajectory' or 'user'"),
        ({"unit": "user"}, "--max-per-user 5"),
        ({"max_per_user": 5}, "only applies to --unit user"),
        ({"unit": "user", "max_per_user": 0}, r"max_per_user\) must be a whole number from 1 to 10000"),
        ({"unit": "user", "max_per_user": 10_001}, r"max_per_user\) must be"),
        ({"unit": "user", "max_per_user": "5"}, r"max_per_user\) must be"),
        ({"unit": "user", "max_per_user": 10_000, "epsilon": "0.01"}, "too small"),
        ({"public_count": -1}, "public_count"),
        ({"times": 1}, r"times\) must be True or False, not 1"),
        ({"sampling": "no"}, r"sampling\) must be True or False, not 'no'"),
        ({"times": True, "sampling": False}, "times need measured points"),
        ({"period": "2024"}, r"--period \(period\) must be two days, .*, not '2024'"),
        ({"period": "2024-03-02/2024-03-01"}, r"--period \(period\) must be .* and the one after the last"),
        ({"period": "1969-03-02/2024-03-01"}, r"--period \(period\) must be .*1970 or later"),
        ({"times": True, "every": 15}, r"every\) must be a time from 1ms to 24h with its unit"),
        ({"times": True, "every": "15 m"}, r"every\) must be a time"),
        ({"times": False, "every": "15s"}, r"--every \(every\) needs times; also pass --times"),
        (
            {"sampling": False, "every": "15s"},
            r"--every \(every\) needs times, but --no-sampling \(sampling=False\) turns them off",
        ),
        (
            {"points_share": "0.5", "clock_share": "0.5"},
            r"points_share\) and .* must leave some epsilon",
        ),
        ({"clock_share": "0"}, r"clock_share\) must be a positive"),
    ],
)
def test_bad_settings_are_refused_in_words(
    method: str, settings: dict[str, Any], word: str, region: pt.Region
) -> None:
    with pytest.raises(pt.SettingsError, match=word):
        registry.find(method).settings(**{"epsilon": 1, "region": region, **settings})


def test_a_spacing_that_is_in_the_way_of_times_is_named(region: pt.Region) -> None:
    words = r"every\) needs times, but --spacing \(spacing\) turns them off; leave out one of the two"
    with pytest.raises(pt.SettingsError, match=words):
        pt.BridgeTrace(epsilon=1, region=region, spacing=50, every="15s")
    for left in ({"spacing": 50}, {"every": "15s"}):
        pt.BridgeTrace(epsilon=1, region=region, **left)


PERIOD = "2013-07-08/2013-07-15"


@pytest.mark.parametrize("has_numbers", [False, True])
@pytest.mark.parametrize(
    ("settings", "consequence", "instead"),
    [
        ({"times": True}, "none can be synthesized", "or synthesize without times"),
        ({"times": False, "period": PERIOD}, "no period can be applied", r"or leave out --period \(period\)"),
        ({"period": PERIOD}, "no period can be applied", r"or leave out --period \(period\)"),
        (
            {"times": True, "period": PERIOD},
            "times cannot be synthesized and no period can be applied",
            r"or leave out --times \(times=True\) and --period \(period\)",
        ),
    ],
)
def test_without_a_clock_the_setting_that_needs_one_is_named(
    settings: dict[str, Any], consequence: str, instead: str, has_numbers: bool, region: pt.Region
) -> None:
    wanderers = timed_wanderers()
    assert wanderers.times is not None
    given = replace(wanderers, times=wanderers.times.astype(float) if has_numbers else None)
    with pytest.raises(pt.DataError, match=f"so {consequence}; .*, {instead}$"):
        pt.BridgeTrace(epsilon=1, region=region, **settings).fit(given)


class Foreign:
    """Yield trajectories as a source from elsewhere does that says little of them, and closes nothing."""

    crs, n_points, gap_minutes, zone = "planar", 0, None, "Europe/Lisbon"

    def __init__(self, *, is_timed: bool = False) -> None:
        self.is_timed = is_timed
        self.words: list[str] = []

    def timed(self, consequence: str, instead: str) -> Foreign:
        """Open itself again."""
        self.words += [consequence, instead]
        return self if self.is_timed else Foreign(is_timed=True)

    def parts(self) -> Iterator[pt.Trajectories]:
        """Start a pass."""
        assert self.is_timed
        return timed_wanderers()[:80].parts()


@pytest.mark.parametrize("settings", [{"times": True}, {"period": PERIOD}, {"times": True, "period": PERIOD}])
def test_a_foreign_source_need_not_close_what_it_opens(settings: dict[str, Any], region: pt.Region) -> None:
    source: Any = Foreign()
    model = pt.AdaTrace(epsilon=1, region=region, **settings).fit(source)
    assert model.release.spent == 1 and source.words


@pytest.mark.parametrize("period", [None, PERIOD])
@pytest.mark.parametrize("has_users", [None, False, True])
def test_that_trips_are_protected_singly_is_said_where_the_header_names_users(
    has_users: bool | None, period: str | None, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether there is a period makes no difference, to a source that cannot tell neither."""
    said: list[str] = []
    monkeypatch.setattr("privtrace.observer.Silent.say", lambda self, text: said.append(text))
    source: Any = Foreign(is_timed=True)
    if has_users is not None:
        source.has_users = has_users
    pt.AdaTrace(epsilon=1, region=region, period=period).fit(source)
    assert bool(said) is bool(has_users)
