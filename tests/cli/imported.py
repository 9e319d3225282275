"""Import all of the package and run its kernels once: commands that are forked off find all in memory."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import warnings

from tests import sharing

import privtrace as pt
from privtrace.testing.data import REGIONS, timed_wanderers, wanderers

for module in pkgutil.walk_packages(pt.__path__, "privtrace."):
    if module.name != "privtrace.__main__":
        importlib.import_module(module.name)

sharing.compile_once()

#: Makes no threads: none of them would be there in what is forked off.
HERE = pt.Threads(1)

with warnings.catch_warnings():
    warnings.simplefilter("ignore", pt.CappedWalks)
    for trips, methods in (
        (timed_wanderers(), (pt.BridgeTrace, pt.PrivTrace, pt.AdaTrace, pt.DPT)),
        (wanderers(), (pt.BridgeTrace,)),
    ):
        for method in methods:
            model = method(epsilon=1, region=REGIONS["box"]).fit(trips, backend=HERE)
            made = model.sample(50, seed=1, backend=HERE)
        pt.evaluate(trips, made, region=REGIONS["box"], backend=HERE)

# Looking for garbage among all this would copy it, page by page, into every command.
gc.collect()
gc.freeze()
