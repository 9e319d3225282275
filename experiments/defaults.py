"""Sweep a method's defaults: how error depends on sizes and on the shares of epsilon.

    python -m experiments.defaults --method bridgetrace|privtrace|adatrace|dpt [--runs 5]
        [--data porto,geolife,brinkhoff] [--epsilons 0.2,1,2] [--tuning [damping,walks,...]] > all.csv

One setting changes at a time; with --tuning, one of the numbers that BridgeTrace is tuned by, which are no
settings (methods/bridgetrace/tuning.py). Prints the errors of every setting, mean of the runs; and on standard
error, as a Markdown table, how they compare with the defaults, by data set and by metric (geometric means; 1 is
as good, below 1 is better).

Reads real data: NOT PRIVATE. Run it on public data only, and choose defaults that are good on all of it.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import privtrace as pt
from experiments.data import METHODS, METRICS, arguments, load
from experiments.runs import runs_of
from privtrace.evaluation.reference import Reference
from privtrace.methods.bridgetrace.tuning import Tuning
from privtrace.privacy.epsilon import decimal


def bridgetrace_settings() -> Iterator[dict[str, object]]:
    """List the settings of BridgeTrace."""
    defaults = {field.name: field.default for field in fields(METHODS["bridgetrace"])}
    yield from ({"K": size} for size in (8, 12, 16, 20))
    for name in ("cell_factor", "zone_factor", "coarse_factor"):
        yield from ({name: factor * defaults[name]} for factor in (0.5, 2.0))
    yield from ({"rounds": rounds} for rounds in (0, 2, 8))
    visits = Fraction(defaults["visits_share"])
    for name in ("moves_share", "trips_share", "shapes_share", "density_share"):
        share = Fraction(defaults[name])
        for moved in (share / 2, -share / 2):  # from visits to the other, and back
            yield {"visits_share": decimal(visits - moved), name: decimal(share + moved)}


def privtrace_settings() -> Iterator[dict[str, object]]:
    """List the settings of PrivTrace."""
    yield from ({"states_factor": factor} for factor in (0.5, 0.75, 1.0, 2.0, 3.0))
    yield from ({"states_per_coarse_cell": divisor} for divisor in (2.0, 4.0, 8.0, 12.0))
    for grid, first in (
        ("0.1", "0.4"),
        ("0.1", "0.45"),
        ("0.1", "0.6"),
        ("0.2", "0.2"),
        ("0.2", "0.3"),
        ("0.2", "0.5"),
        ("0.2", "0.6"),
        ("0.2", "0.7"),
        ("0.3", "0.35"),
        ("0.3", "0.4"),
    ):
        second = f"{1 - float(grid) - float(first):.2f}"
        yield {"grid_share": grid, "first_order_share": first, "second_order_share": second}
    yield {"theta1": 1e9}  # no state has so many moves: second order is paid for and not used
    yield from ({"order": order} for order in (1, 2))
    yield {"second_layer": False}
    yield {"trip_estimation": False}


def adatrace_settings() -> Iterator[dict[str, object]]:
    """List the settings of AdaTrace."""
    yield from ({"cells_factor": factor} for factor in (0.05, 0.1, 0.4, 0.8, 1.6))
    yield {"N": 6}  # as published, whatever the data
    yield {"N": 6, "max_extra": 48}  # and lengths almost without a limit
    yield from ({"fine_factor": factor} for factor in (0.5, 2.0, 4.0, 8.0))
    yield {"second_layer": False}
    yield from ({"max_extra": cells} for cells in (0, 3, 12, 24, 48))
    for grid, transitions, trips, lengths in (
        ("0.1", "0.3", "0.5", "0.1"),
        ("0.1", "0.35", "0.45", "0.1"),
        ("0.05", "0.25", "0.6", "0.1"),
        ("0.05", "0.45", "0.4", "0.1"),
        ("0.05", "0.35", "0.55", "0.05"),
        ("0.05", "0.3", "0.45", "0.2"),
    ):
        yield {
            "grid_share": grid,
            "transitions_share": transitions,
            "trips_share": trips,
            "lengths_share": lengths,
        }


def dpt_settings() -> Iterator[dict[str, object]]:
    """List the settings of DPT."""
    yield from ({"load": ratio} for ratio in (0.2, 0.4, 1.6, 3.2))
    yield from ({"keep": ratio} for ratio in (0.1, 0.6, 1.2))
    yield from ({"expand": ratio} for ratio in (0.5, 1.0, 4.0))
    yield from ({"height": height} for height in (2, 4))
    yield {"mapping": "coarsest"}
    yield {"hysteresis": False}
    yield {"max_systems": 1}
    yield from ({"heading_strength": strength} for strength in (0, 0.5, 2.0))
    yield from ({"heading_moves": moves} for moves in (1, 2, 10))
    for systems, starts, trees in (
        ("0.05", "0.1", "0.85"),
        ("0.1", "0.05", "0.85"),
        ("0.1", "0.2", "0.7"),
        ("0.1", "0.3", "0.6"),
        ("0.2", "0.2", "0.6"),
    ):
        yield {"systems_share": systems, "starts_share": starts, "trees_share": trees}


#: Values of tuning that are tried, where half and double would not make sense.
NEIGHBORS: dict[str, tuple[float, ...]] = {
    "damping": (0.35, 1.0),  # more than all of a difference is too much
    "draws_for_one": (1.0, 3.0),  # fewer than one cannot be drawn
}


def tuning_values() -> dict[str, tuple[float, ...]]:
    """List what is tried of every number that BridgeTrace is tuned by."""

    def half_and_double(default: float) -> tuple[float, ...]:
        return (max(1, default // 2), 2 * default) if isinstance(default, int) else (default / 2, 2 * default)

    return {field.name: NEIGHBORS.get(field.name) or half_and_double(field.default) for field in fields(Tuning)}


def tuned(name: str, value: float) -> type[pt.BridgeTrace]:
    """Make BridgeTrace tuned in another way."""
    return type("Tuned", (pt.BridgeTrace,), {"tuning": Tuning(**{name: value})})


def trials(method: str, tuning: list[str] | None) -> Iterator[tuple[str, Callable[..., Any]]]:
    """List what is tried, each with its name: defaults first, then settings, or numbers of tuning."""
    yield "defaults", METHODS[method]
    if tuning is None:
        for setting in SETTINGS[method]():
            yield (
                " ".join(f"{key}={value}" for key, value in setting.items()),
                partial(METHODS[method], **setting),
            )
        return
    if method != "bridgetrace":
        raise SystemExit("--tuning goes with --method bridgetrace only")
    values = tuning_values()
    if unknown := {*tuning} - {*values}:
        raise SystemExit(f"no tuning is called {', '.join(sorted(unknown))}; there are {', '.join(values)}")
    for name in tuning or values:
        for value in values[name]:
            yield f"{name}={value:g}", tuned(name, value)


SETTINGS = {
    "bridgetrace": bridgetrace_settings,
    "privtrace": privtrace_settings,
    "adatrace": adatrace_settings,
    "dpt": dpt_settings,
}


def main() -> None:
    """Print a row for each data set, epsilon and setting."""
    options = arguments(__doc__, method="bridgetrace", tuning=True)
    table = csv.writer(sys.stdout)
    table.writerow(["data", "epsilon", "setting", *METRICS])
    logs: dict[str, dict[str, list[np.ndarray]]] = {}
    for name in options.data:
        trips, region = load(name)
        reference = Reference.of(trips, region)
        for epsilon in options.epsilons:
            defaults = None
            for words, make in trials(options.method, options.tuning):
                synthesizer = make(epsilon=epsilon, region=region)
                means = runs_of(trips, synthesizer, reference, METRICS, options.runs)[0].mean(axis=0)
                table.writerow([name, epsilon, words, *(f"{value:.4g}" for value in means)])
                sys.stdout.flush()
                defaults = means if defaults is None else defaults
                logs.setdefault(words, {}).setdefault(name, []).append(np.log(means / defaults))
    print(f"| setting | {' | '.join(options.data)} | {' | '.join(METRICS)} |", file=sys.stderr)
    print("|" + "---|" * (1 + len(options.data) + len(METRICS)), file=sys.stderr)
    for words, by_data in logs.items():
        ratios = [np.exp(np.mean(rows)) for rows in by_data.values()]
        by_metric = np.exp(np.mean([row for rows in by_data.values() for row in rows], axis=0))
        cells = " | ".join(f"{ratio:.2f}" for ratio in (*ratios, *by_metric))
        print(f"| {words} | {cells} |", file=sys.stderr)


if __name__ == "__main__":
    main()
