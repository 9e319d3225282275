"""Import all of the package."""

import importlib
import pkgutil

import privtrace

for module in pkgutil.walk_packages(privtrace.__path__, "privtrace."):
    if module.name != "privtrace.__main__":
        importlib.import_module(module.name)
