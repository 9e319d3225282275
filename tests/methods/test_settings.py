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
    ],
)
def test_bad_settings_are_refused_in_words(
    method: str, settings: dict[str, Any], word: str, region: pt.Region
) -> None:
    with pytest.raises(pt.SettingsError, match=word):
        registry.find(method).settings(**{"epsilon": 1, "region": region, **settings})
