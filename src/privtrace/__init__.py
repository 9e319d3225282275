"""Publish movement data as synthetic trajectories, under pure epsilon-differential privacy.

import privtrace as pt

trips = pt.read("trips.parquet")
model = pt.BridgeTrace(epsilon=1.0, region=(-8.70, 41.10, -8.54, 41.22)).fit(trips)
model.save("porto.model")
pt.load("porto.model").sample(100_000, seed=7).write("synthetic.parquet")
"""

from __future__ import annotations

# As in `typing`, which takes longer to load than all else here, and Ctrl-C should find `cli.main` running.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from privtrace.backends.local import Threads
    from privtrace.backends.spark import SparkBackend
    from privtrace.errors import (
        BudgetExceeded,
        BudgetFileError,
        CappedWalks,
        DataError,
        MissingExtra,
        ModelFormatError,
        OutputError,
        PrivTraceError,
        SettingsError,
    )
    from privtrace.evaluation.decomposition import Explanation, explain
    from privtrace.evaluation.suite import Evaluation, evaluate
    from privtrace.frames.spark import SparkSource
    from privtrace.io import read, write
    from privtrace.methods.adatrace.model import AdaTraceModel
    from privtrace.methods.adatrace.settings import AdaTrace
    from privtrace.methods.bridgetrace.model import BridgeTraceModel
    from privtrace.methods.bridgetrace.settings import BridgeTrace
    from privtrace.methods.dpt.model import DPTModel
    from privtrace.methods.dpt.settings import DPT
    from privtrace.methods.privtrace.model import PrivTraceModel
    from privtrace.methods.privtrace.settings import PrivTrace
    from privtrace.methods.registry import Method, register
    from privtrace.models import load
    from privtrace.privacy.budget_file import BudgetFile
    from privtrace.privacy.unsafe_noise import NoNoise, SeededNoise
    from privtrace.space.region import Region
    from privtrace.study.comparing import compare
    from privtrace.study.study import Study
    from privtrace.trajectories import Source, Trajectories, Trajectory

# In the order of the pipeline. Modules load at first use: `privtrace --help` should not wait for a compiler.
_HOMES = {
    "PrivTraceError": "errors",
    "SettingsError": "errors",
    "DataError": "errors",
    "OutputError": "errors",
    "MissingExtra": "errors",
    "BudgetExceeded": "errors",
    "BudgetFileError": "errors",
    "ModelFormatError": "errors",
    "CappedWalks": "errors",
    "Trajectories": "trajectories",
    "Trajectory": "trajectories",
    "Source": "trajectories",
    "read": "io",
    "write": "io",
    "SeededNoise": "privacy.unsafe_noise",
    "NoNoise": "privacy.unsafe_noise",
    "BudgetFile": "privacy.budget_file",
    "Threads": "backends.local",
    "SparkSource": "frames.spark",
    "SparkBackend": "backends.spark",
    "Region": "space.region",
    "BridgeTrace": "methods.bridgetrace.settings",
    "BridgeTraceModel": "methods.bridgetrace.model",
    "PrivTrace": "methods.privtrace.settings",
    "PrivTraceModel": "methods.privtrace.model",
    "AdaTrace": "methods.adatrace.settings",
    "AdaTraceModel": "methods.adatrace.model",
    "DPT": "methods.dpt.settings",
    "DPTModel": "methods.dpt.model",
    "Method": "methods.registry",
    "register": "methods.registry",
    "load": "models",
    "evaluate": "evaluation.suite",
    "Evaluation": "evaluation.suite",
    "explain": "evaluation.decomposition",
    "Explanation": "evaluation.decomposition",
    "compare": "study.comparing",
    "Study": "study.study",
}

__all__ = [
    "PrivTraceError",
    "SettingsError",
    "DataError",
    "OutputError",
    "MissingExtra",
    "BudgetExceeded",
    "BudgetFileError",
    "ModelFormatError",
    "CappedWalks",
    "Trajectories",
    "Trajectory",
    "Source",
    "read",
    "write",
    "SeededNoise",
    "NoNoise",
    "BudgetFile",
    "Threads",
    "SparkSource",
    "SparkBackend",
    "Region",
    "BridgeTrace",
    "BridgeTraceModel",
    "PrivTrace",
    "PrivTraceModel",
    "AdaTrace",
    "AdaTraceModel",
    "DPT",
    "DPTModel",
    "Method",
    "register",
    "load",
    "evaluate",
    "Evaluation",
    "explain",
    "Explanation",
    "compare",
    "Study",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("privtrace")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"privtrace.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'privtrace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
