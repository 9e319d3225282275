"""Check a method: what every method of privtrace has to keep, for anyone's class to be held to.

    from privtrace.testing import checks

    @pytest.mark.parametrize("check", checks(MyMethod), ids=str)
    def test_my_method(check):
        check()

or `python -m privtrace.testing NAME`, where NAME is that of an installed method. There are five suites:

    contract      spends exactly its budget, stays in the region, goes through files, follows the seed, ...
    sensitivity   a trajectory or a user more changes no exact table by more than is charged for
    replay        with the same noisy outputs, a neighboring source gives the same model file, byte for byte
    purity        what is counted of a trajectory does not depend on those beside it
    times         all of that where times are synthesized, whatever times the data has

The last four look at exact counts of data that they make themselves. They are NOT PRIVATE on any other data.
"""

from __future__ import annotations

from privtrace.testing.check import Check, Make
from privtrace.testing.contract import contract
from privtrace.testing.purity import purity
from privtrace.testing.replay import replay
from privtrace.testing.sensitivity import sensitivity
from privtrace.testing.times import times

__all__ = ["SUITES", "Check", "checks", "contract", "purity", "replay", "sensitivity", "times"]

#: By name: each lists its checks of one method.
SUITES = {
    "contract": contract,
    "sensitivity": sensitivity,
    "replay": replay,
    "purity": purity,
    "times": times,
}


def checks(make: Make, *, suites: tuple[str, ...] = tuple(SUITES)) -> list[Check]:
    """List the checks of a method: of its settings class, or of a function that takes the same and sets more.

    Give settings under which a few hundred trajectories reach all of its stages: what no data reaches shows
    nothing.
    """
    return [check for suite in suites for check in SUITES[suite](make)]
