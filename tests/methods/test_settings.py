"""What the settings of all methods share: refusals in words."""

from __future__ import annotations

from typing import Any

import pytest

import privtrace as pt
from privtrace.methods import registry


@pytest.mark.parametrize("method", registry.OURS)
@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"epsilon": 0}, r"epsilon\) must be a positive"),
        ({"epsilon": "much"}, r"epsilon\) must be a positive decimal"),
        ({"epsilon": "1e-6"}, "too small"),
        ({"epsilon": "1e400"}, r"epsilon\) must be"),
        ({"region": None}, "region is needed"),
        ({"region": (0, 0, 1, 1)}, "region is needed"),
        ({"unit": "walk"}, "must be 'trajectory' or 'user'"),
        ({"unit": "user"}, "--max-per-user 5"),
        ({"max_per_user": 5}, "goes with --unit user"),
        ({"unit": "user", "max_per_user": 0}, r"max_per_user\) must be a whole number from 1 to 10000"),
        ({"unit": "user", "max_per_user": 10_001}, r"max_per_user\) must be"),
        ({"unit": "user", "max_per_user": "5"}, r"max_per_user\) must be"),
        ({"unit": "user", "max_per_user": 10_000, "epsilon": "0.01"}, "too small"),
        ({"public_count": -1}, "public_count"),
        ({"times": 1}, r"times\) must be True or False, not 1"),
        ({"sampling": "no"}, r"sampling\) must be True or False, not 'no'"),
        ({"times": True, "sampling": False}, "times are set on points that are measured"),
        ({"period": "2024"}, "a period is two days, such as"),
        ({"period": "2024-03-02/2024-03-01"}, "must begin in 1970 or later and end on a later day"),
        ({"period": "1969-03-02/2024-03-01"}, "must begin in 1970 or later"),
        ({"times": True, "every": 15}, r"every\) must be a time from 1ms to 24h with its unit"),
        ({"times": True, "every": "15 m"}, r"every\) must be a time"),
        ({"times": False, "every": "15s"}, r"--every \(every\) is about times; pass --times"),
        (
            {"points_share": "0.5", "clock_share": "0.5"},
            r"points_share\) and .* must leave something",
        ),
        ({"clock_share": "0"}, r"clock_share\) must be a positive"),
    ],
)
def test_bad_settings_are_refused_in_words(
    method: str, settings: dict[str, Any], word: str, region: pt.Region
) -> None:
    with pytest.raises(pt.SettingsError, match=word):
        registry.find(method).settings(**{"epsilon": 1, "region": region, **settings})
