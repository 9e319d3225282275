"""Hold the methods, a folder each with one outline, what they share, and the registry that lists them.

    registry     the list: ours, those of installed packages, and those that a program registers
    declaring    how a setting is declared, once
    settings     what the settings of all methods share
    plan         what a fit would give, from public numbers
    fitting      how a fit begins and ends
    model        what the models of all methods share
    sampling     trajectories from a model, block by block
    view         what any model can show of what was measured
    fitted       what its synthetic trips say of the same, and how sure that is
    usability    what may be read from it, and what is noise
    common/      what methods share of counting, measuring, cleaning and placing

Of a method, settings.py has its settings and the rules for sizes, recipe.py its stages in order, counts.py what
a trajectory contributes to its tables, measure.py which tables are measured, and model.py what is released.
docs/methods/adding.md says how to add one, from inside or from outside.

What a method is written with can be imported from here, as in `from privtrace.methods import Model, Settings`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privtrace.methods.common.counts import ends, trips
    from privtrace.methods.common.measure import in_trajectories, measure_count, measure_density
    from privtrace.methods.common.normcut import normcut, shrunk
    from privtrace.methods.common.placing import decode
    from privtrace.methods.declaring import Flag, Number, OneOf, Whole, setting, share, spelled
    from privtrace.methods.fitting import Fitting
    from privtrace.methods.model import Model
    from privtrace.methods.plan import Plan
    from privtrace.methods.registry import Method, register
    from privtrace.methods.settings import Settings
    from privtrace.methods.view import Flows, Layer, Noisy, Trips, View, error_of
    from privtrace.paths import Paths
    from privtrace.privacy.contributions import Contributions, evenly, once
    from privtrace.privacy.crossing import Crossing, Table
    from privtrace.privacy.unit import WEIGHT
    from privtrace.random import choose
    from privtrace.runs import Runs
    from privtrace.soundness import check_sound, within_limits
    from privtrace.space.grid import Grid

# Where each name is at home; it loads at first use.
_HOMES = {
    "Method": "methods.registry",
    "register": "methods.registry",
    "Settings": "methods.settings",
    "setting": "methods.declaring",
    "share": "methods.declaring",
    "spelled": "methods.declaring",
    "Whole": "methods.declaring",
    "Number": "methods.declaring",
    "Flag": "methods.declaring",
    "OneOf": "methods.declaring",
    "Plan": "methods.plan",
    "Fitting": "methods.fitting",
    "Crossing": "privacy.crossing",
    "Table": "privacy.crossing",
    "Contributions": "privacy.contributions",
    "once": "privacy.contributions",
    "evenly": "privacy.contributions",
    "WEIGHT": "privacy.unit",
    "Grid": "space.grid",
    "Paths": "paths",
    "Runs": "runs",
    "ends": "methods.common.counts",
    "trips": "methods.common.counts",
    "measure_count": "methods.common.measure",
    "measure_density": "methods.common.measure",
    "in_trajectories": "methods.common.measure",
    "normcut": "methods.common.normcut",
    "shrunk": "methods.common.normcut",
    "Model": "methods.model",
    "check_sound": "soundness",
    "within_limits": "soundness",
    "choose": "random",
    "decode": "methods.common.placing",
    "View": "methods.view",
    "Layer": "methods.view",
    "Noisy": "methods.view",
    "Flows": "methods.view",
    "Trips": "methods.view",
    "error_of": "methods.view",
}

__all__ = [
    "Method",
    "register",
    "Settings",
    "setting",
    "share",
    "spelled",
    "Whole",
    "Number",
    "Flag",
    "OneOf",
    "Plan",
    "Fitting",
    "Crossing",
    "Table",
    "Contributions",
    "once",
    "evenly",
    "WEIGHT",
    "Grid",
    "Paths",
    "Runs",
    "ends",
    "trips",
    "measure_count",
    "measure_density",
    "in_trajectories",
    "normcut",
    "shrunk",
    "Model",
    "check_sound",
    "within_limits",
    "choose",
    "decode",
    "View",
    "Layer",
    "Noisy",
    "Flows",
    "Trips",
    "error_of",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"privtrace.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'privtrace.methods' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
