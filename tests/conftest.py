"""Small data for all tests, made in code; the real data sets where they are at hand."""

from __future__ import annotations

import gc
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from experiments import data
from hypothesis import HealthCheck, settings

import privtrace as pt
from privtrace.datasets import city_trips
from privtrace.testing import data as checked
from tests import sharing

BOX, trajectories = checked.BOX, checked.trajectories

# A job in the background ignores interrupts, and so would the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A first call may compile, and a machine may be busy: no test fails for taking long.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# What tests and compilers make is let go by counting. Looking for the rest a tenth as often does.
gc.set_threshold(20_000, 50, 100)

#: Whether this process is one of several that test.
SHARED = "PYTEST_XDIST_WORKER" in os.environ

if SHARED:
    sharing.compile_once()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SHARED:
        n_processes = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        items[:] = sharing.apart(items, os.path.dirname(__file__), n_processes)


def pytest_collection_finish() -> None:
    gc.freeze()  # all that was imported and collected stays


@pytest.fixture(scope="session")
def region() -> pt.Region:
    return pt.Region.box(*BOX)


@pytest.fixture(scope="session")
def wanderers() -> pt.Trajectories:
    """Give 600 random walks in and around the box, of 1 to 60 points; nobody's."""
    return replace(checked.wanderers(), users=None)


@pytest.fixture(scope="session")
def city() -> tuple[pt.Trajectories, pt.Region]:
    """Give 3,000 trips in the invented city, and its region."""
    made = city_trips(3000, seed=3)
    return made.trajectories, pt.Region.box(*made.region)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Find the real data sets, or skip."""
    if not all(data.path(name).exists() for name in data.REGIONS):
        pytest.skip("the real data sets are not here; set PRIVTRACE_DATA to their folder")
    return data.folder()
