"""Data for comparisons: few trips, with times and without."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.study.setups import here  # noqa: F401

import privtrace as pt


@pytest.fixture(scope="session")
def timed(city: tuple[pt.Trajectories, pt.Region]) -> pt.Trajectories:
    """Give 200 trips of the invented city, by users, with times."""
    return city[0][:200]


@pytest.fixture(scope="session")
def trips(timed: pt.Trajectories) -> pt.Trajectories:
    """Give them without times."""
    return replace(timed, times=None)


@pytest.fixture(scope="session")
def area(city: tuple[pt.Trajectories, pt.Region]) -> pt.Region:
    """Give their region."""
    return city[1]
