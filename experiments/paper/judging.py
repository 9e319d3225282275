"""Judge what the paper says by what was found here: a verdict, the evidence, and ratios with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import numpy as np

from experiments.paper.costs import COUNTS, LENGTHS, N_TRIPS
from experiments.paper.evidence import Ratio, Setting, growth, ratio, settings_of
from experiments.paper.results import PAPER, SHARES, Results
from experiments.paper.sections import (
    AS_PUBLISHED,
    BASES,
    FEW,
    POPULATIONS,
    SIZES,
    ablation_label,
    budget_label,
    grid_label,
    shares,
    theta_label,
)
from privtrace.methods.common.normcut import normcut

REAL = ("brinkhoff", "porto", "geolife")
RIVALS = ("adatrace", "dpt")
OWN = {"privtrace": "ours", AS_PUBLISHED: "as published"}
LOW, HIGH = ("0.2", "0.4"), ("1.8", "2")


class Verdict(StrEnum):
    """Say how a claim fares."""

    holds = "holds"
    in_part = "holds in part"
    fails = "does not hold"
    unchecked = "cannot be checked here"


@dataclass(frozen=True)
class Finding:
    """Hold a verdict with what it rests on."""

    verdict: Verdict
    evidence: str
    interval: str = ""


def better_in_all(one: Ratio) -> Verdict:
    """Judge that the first is better in all settings: in part, if it is in most, and on the whole for sure."""
    if one.better == one.n:
        return Verdict.holds
    return Verdict.in_part if 2 * one.better > one.n and one.high < 1 else Verdict.fails


def better_in_most(one: Ratio) -> Verdict:
    """Judge that the first is better in most settings, and on the whole for sure: in part, if one of these."""
    signs = (2 * one.better > one.n, one.high < 1)
    if all(signs):
        return Verdict.holds
    return Verdict.in_part if any(signs) else Verdict.fails


def halved_in_most(one: Ratio) -> Verdict:
    """Judge that the first has half the error in most settings: in part, if it is better in most."""
    if 2 * one.halved > one.n:
        return Verdict.holds
    return Verdict.in_part if better_in_most(one) is Verdict.holds else Verdict.fails


def all_true(true: int, total: int) -> Verdict:
    """Judge what should be true everywhere: in part, if it is in most places."""
    if true == total:
        return Verdict.holds
    return Verdict.in_part if 2 * true > total else Verdict.fails


def most_true(true: int, total: int) -> Verdict:
    """Judge what should be true in most places."""
    return Verdict.holds if 2 * true > total else Verdict.fails


def jointly(verdicts: Iterable[Verdict]) -> Verdict:
    """Judge by several parts: all of them, none of them, or something between."""
    found = {*verdicts}
    return found.pop() if len(found) == 1 else Verdict.in_part


def always(verdict: Verdict, evidence: str) -> Callable[[Results], Finding]:
    """Judge without figures."""
    return lambda results: Finding(verdict, evidence)


# --- end to end ---


def against(
    results: Results,
    label: str,
    rival: str,
    metrics: Sequence[str] = PAPER,
    epsilons: Sequence[str] | None = None,
) -> Ratio:
    """Compare two methods on the three data sets."""
    return ratio(
        settings_of(results, "end-to-end", label, rival, data=REAL, metrics=metrics, epsilons=epsilons)
    )


def each_against(results: Results, **chosen: Sequence[str]) -> Iterator[tuple[str, Ratio]]:
    """Compare ours and PrivTrace as published with each rival."""
    for label, words in OWN.items():
        for rival in RIVALS:
            yield f"{words}, against {rival}", against(results, label, rival, **chosen)


def told(found: Iterable[tuple[str, Ratio]], verdict: Callable[[Ratio], Verdict]) -> Finding:
    """Put several ratios into one finding."""
    listed = [*found]
    return Finding(
        jointly(verdict(one) for _, one in listed),
        "; ".join(f"{words}: {one.words}" for words, one in listed),
        "; ".join(f"{words}: {one.interval}" for words, one in listed),
    )


def superior(results: Results) -> Finding:
    """Ask for less error in all settings."""
    return told(each_against(results), better_in_all)


def halved(*metrics: str) -> Callable[[Results], Finding]:
    """Ask for half the error in most settings."""
    return lambda results: told(each_against(results, metrics=metrics), halved_in_most)


def tenfold(results: Results) -> Finding:
    """Ask for a tenth of the error somewhere on a small budget."""
    found = [*each_against(results, metrics=("length", "diameter"), epsilons=LOW)]
    smallest = {words: one.tenth for words, one in found}
    return Finding(
        jointly(Verdict.holds if count else Verdict.fails for count in smallest.values()),
        "at epsilon 0.2 and 0.4, at most a tenth of the error: "
        + "; ".join(f"{words}: in {one.tenth} of {one.n} settings" for words, one in found),
        "; ".join(f"{words}: {one.interval}" for words, one in found),
    )


def rivals(results: Results) -> Finding:
    """Ask who is better where."""
    found = {data: ratio(settings_of(results, "end-to-end", "adatrace", "dpt", data=[data])) for data in REAL}
    expected = {"brinkhoff": True, "porto": True, "geolife": False}
    right = sum((found[data].value < 1) == first for data, first in expected.items())
    return Finding(
        all_true(right, 3),
        "AdaTrace against DPT: " + "; ".join(f"{data}: {one.words}" for data, one in found.items()),
        "; ".join(f"{data}: {one.interval}" for data, one in found.items()),
    )


def level(results: Results, label: str, data: str, metric: str) -> float:
    """Average an error over all epsilons."""
    study = results.study("end-to-end", data)
    return float(np.mean([study.errors(label, epsilon, metric).mean() for epsilon in study.epsilons]))


def alike(results: Results) -> Finding:
    """Ask whether DPT's errors are alike on all data, and AdaTrace's much larger on Geolife."""
    spread, worse = {}, {}
    for metric in PAPER:
        levels = {name: [level(results, name, data, metric) for data in REAL] for name in RIVALS}
        spread[metric] = max(levels["dpt"]) / min(levels["dpt"])
        worse[metric] = levels["adatrace"][2] / np.mean(levels["adatrace"][:2])
    is_alike, is_poor = (max(spread.values()) <= 2), (min(worse.values()) >= 2)
    return Finding(
        jointly(Verdict.holds if true else Verdict.fails for true in (is_alike, is_poor)),
        "DPT's largest error over its smallest among the data sets: "
        + ", ".join(f"{metric} {value:.1f}" for metric, value in spread.items())
        + "; AdaTrace's on Geolife over its mean on the others: "
        + ", ".join(f"{metric} {value:.2f}" for metric, value in worse.items())
        + ". Our AdaTrace chooses its number of cells by rule; the published program has 36 everywhere",
    )


def concentrated(results: Results) -> Finding:
    """Ask where trips are concentrated."""
    found = {data: results.facts[data]["share_in_busiest_cells"] for data in REAL}
    return Finding(
        Verdict.holds if max(found, key=found.__getitem__) == "geolife" else Verdict.fails,
        "visits in the busiest 20 of 400 cells: "
        + ", ".join(f"{data} {share:.0%}" for data, share in found.items())
        + ". In our regions; the paper's are the boxes of its data, which are larger where points lie far out",
    )


def short_sequences(results: Results) -> Finding:
    """Ask how many of AdaTrace's cells trips pass."""
    found = {data: results.facts[data]["cells_of_36_mean"] for data in REAL}
    return Finding(
        Verdict.holds if min(found, key=found.__getitem__) == "geolife" else Verdict.fails,
        "mean number of cells of 6 x 6 that a trip visits: "
        + ", ".join(f"{data} {value:.1f}" for data, value in found.items()),
    )


def pictures(results: Results) -> Finding:
    """Ask whose maps are nearest to the real one."""
    parts = []
    verdicts = []
    for data, found in results.facts["maps"].items():
        misplaced = {
            label: found[label]["misplaced"] for label in ("privtrace", AS_PUBLISHED, *RIVALS, "bridgetrace")
        }
        best = min(("privtrace", *RIVALS), key=misplaced.__getitem__)
        verdicts.append(Verdict.holds if best == "privtrace" else Verdict.fails)
        parts.append(f"{data}: " + ", ".join(f"{label} {share:.0%}" for label, share in misplaced.items()))
    return Finding(
        jointly(verdicts),
        "part of all passages through 80 x 80 cells that is in other cells than the real ones, epsilon 1: "
        + "; ".join(parts),
    )


# --- ablations ---


def ablated(first: str, second: str, base: str, results: Results, **chosen: Sequence[str]) -> Ratio:
    """Compare two ablations."""
    labels = (ablation_label(first, base), ablation_label(second, base))
    return ratio(settings_of(results, "ablations", *labels, data=REAL, **chosen))


def better_with(
    first: str, *others: str, verdict: Callable[[Ratio], Verdict] = better_in_most
) -> Callable[[Results], Finding]:
    """Ask whether a component lowers the error, with our sizes and with the paper's."""
    return lambda results: told(
        (
            (f"{base}: {first} against {other}", ablated(first, other, base, results))
            for base in BASES
            for other in others
        ),
        verdict,
    )


def small_budgets(results: Results) -> Finding:
    """Ask whether trip estimation helps more on small budgets."""
    words = ("with trip estimation", "with second layer")
    found = {
        (base, budget[0]): ablated(*words, base, results, epsilons=budget)
        for base in BASES
        for budget in (LOW, HIGH)
    }
    helps = [
        found[base, "0.2"].high < 1 and found[base, "0.2"].value < found[base, "1.8"].value for base in BASES
    ]
    return Finding(
        jointly(Verdict.holds if true else Verdict.fails for true in helps),
        "with trip estimation against without: "
        + "; ".join(f"{base}, epsilon from {low}: {one.words}" for (base, low), one in found.items())
        + ". Trips taken from the data exactly, which the paper compares with, are no setting: not private",
        "; ".join(f"{base}, from {low}: {one.interval}" for (base, low), one in found.items()),
    )


# --- subgroups ---


def bias(results: Results) -> Finding:
    """Ask whose shares of short trips are nearest to one half."""
    return told(each_against(results, metrics=SHARES), better_in_most)


def long_and_short(labels: Sequence[str]) -> Callable[[Results], Finding]:
    """Ask whether long trips are reproduced less well than short ones."""

    def judge(results: Results) -> Finding:
        found = []
        for label in labels:
            for metric in ("density", "pattern"):
                settings = [
                    Setting(
                        study.errors(label, epsilon, f"{metric}_short"),
                        study.errors(label, epsilon, f"{metric}_long"),
                    )
                    for study in (results.study("end-to-end", data) for data in REAL)
                    for epsilon in study.epsilons
                ]
                found.append((f"{label}, {metric}, short against long", ratio(settings)))
        return Finding(
            jointly(better_in_most(one) for _, one in found),
            "; ".join(f"{words}: {one.words}" for words, one in found),
            "; ".join(f"{words}: {one.interval}" for words, one in found),
        )

    return judge


# --- costs ---

#: The paper's tables: seconds and megabytes on Brinkhoff, Taxi and Geolife.
SECONDS = {"adatrace": (150, 284, 105), "dpt": (1127, 2631, 2067), "privtrace": (381, 513, 444)}
MEGABYTES = {
    "adatrace": (0.05, 0.04, 0.53),
    "dpt": (1003.77, 111.22, 1755.23),
    "privtrace": (12.96, 63.30, 193.75),
}


def seconds_of(results: Results, data: str, method: str) -> float:
    """Add up a fit and its sample."""
    cost = results.cost("data", data, method)
    return cost.fit_s + cost.sample_s


def quick(results: Results) -> Finding:
    """Ask for less than ten minutes."""
    found = {data: seconds_of(results, data, "privtrace") for data in (*REAL, "city")}
    return Finding(
        Verdict.holds if max(found.values()) < 600 else Verdict.fails,
        "a fit and its sample: " + ", ".join(f"{data} {value:.2f} s" for data, value in found.items()),
    )


def fastest(results: Results) -> Finding:
    """Ask who is fast: AdaTrace, then PrivTrace, then DPT."""
    return ranked(partial(seconds_of, results), ".2f", "s")


def hungry(results: Results) -> Finding:
    """Ask who needs memory: DPT most, AdaTrace least."""
    return ranked(lambda data, method: results.cost("data", data, method).memory_mb, ".0f", "MB")


def ranked(cost: Callable[[str, str], float], form: str, unit: str) -> Finding:
    """Ask whether AdaTrace costs least and DPT most, on each data set."""
    parts, right = [], []
    for data in (*REAL, "city"):
        found = {method: cost(data, method) for method in ("adatrace", "privtrace", "dpt")}
        right.append([*found] == sorted(found, key=found.__getitem__))
        parts.append(
            f"{data}: " + ", ".join(f"{method} {value:{form}} {unit}" for method, value in found.items())
        )
    return Finding(all_true(sum(right), len(right)), "; ".join(parts))


def grown(
    method: str, axis: str, values: Sequence[float], size: str | None = None
) -> Callable[[Results], float]:
    """Fit the power by which a fit's seconds grow with a size; of the model, where it is named."""

    def power(results: Results) -> float:
        sizes = [value if size is None else results.cost_sizes(axis, value, method)[size] for value in values]
        return growth(sizes, [results.cost(axis, value, method).fit_s for value in values])

    return power


def complexity(method: str, size: str, most: float) -> Callable[[Results], Finding]:
    """Ask whether time grows no faster than the paper says: linearly with trips, and by a power with states."""

    def judge(results: Results) -> Finding:
        by_trips = grown(method, "trips", N_TRIPS)(results)
        by_states = grown(method, "count", COUNTS, size)(results)
        by_length = grown(method, "length", LENGTHS)(results)
        cells = [results.cost_sizes("count", count, method)[size] for count in COUNTS]
        return Finding(
            Verdict.holds if by_trips <= 1.1 and by_states <= most + 0.1 else Verdict.fails,
            f"seconds of a fit grow as trips^{by_trips:.2f} ({N_TRIPS[0]:,} to {N_TRIPS[-1]:,} trips), as "
            f"{size}^{by_states:.2f} ({cells[0]:.0f} to {cells[-1]:.0f}), and as length^{by_length:.2f} (an "
            "eighth to all of each trip). These are bounds, which small sizes stay far below",
        )

    return judge


# --- parameters ---


def overall(results: Results, section: str, label: str, epsilon: str, metrics: Sequence[str] = PAPER) -> float:
    """Average the logarithms of mean errors."""
    study = results.study(section, "porto")
    return float(np.mean([np.log(study.errors(label, epsilon, metric).mean()) for metric in metrics]))


def granular(metrics: Sequence[str], *, finer_is_worse: bool) -> Callable[[Results], Finding]:
    """Ask how errors change from coarse to fine, in the first layer and in the second."""

    def judge(results: Results) -> Finding:
        changes = {
            "first layer, K = 3 to 20": [
                (grid_label(SIZES[0], times), grid_label(SIZES[-1], times)) for times in POPULATIONS
            ],
            "second layer, none to population x 16": [
                (grid_label(size, 0), grid_label(size, POPULATIONS[-1])) for size in SIZES
            ],
        }
        found = []
        for words, pairs in changes.items():
            settings = [
                one
                for coarse, fine in pairs
                for one in settings_of(
                    results,
                    "granularity",
                    *((coarse, fine) if finer_is_worse else (fine, coarse)),
                    data=["porto"],
                    metrics=metrics,
                )
            ]
            order = "coarse against fine" if finer_is_worse else "fine against coarse"
            found.append((f"{words}, {order}", ratio(settings)))
        return told(found, better_in_most)

    return judge


def center(results: Results) -> Finding:
    """Ask how good the sizes are that rules choose, among all that were tried."""
    tried = [grid_label(size, times) for size in SIZES for times in POPULATIONS]
    chosen = {
        "the paper's formulas (K = 5 for 24,668 trips)": grid_label(5, 1),
        "the paper's K for 200,000 trips, 13": grid_label(13, 1),
        "our rule": "rule",
    }
    ranks = {
        words: [
            1
            + sum(
                overall(results, "granularity", one, e) < overall(results, "granularity", label, e)
                for one in tried
            )
            for e in FEW
        ]
        for words, label in chosen.items()
    }
    own = next(iter(ranks.values()))
    return Finding(
        all_true(sum(rank <= len(tried) / 3 for rank in own), len(own)),
        f"rank among {len(tried)} grids by the geometric mean of the four errors, at epsilon 0.2, 1 and 2: "
        + "; ".join(f"{words}: {', '.join(map(str, found))}" for words, found in ranks.items()),
    )


def first_threshold(results: Results) -> Finding:
    """Ask whether theta1 is best as it is."""
    return told(
        (
            (
                f"{base}: as it is against {factor} times",
                ratio(
                    settings_of(
                        results,
                        "thetas",
                        theta_label(1, 1, base),
                        theta_label(1, factor, base),
                        data=["porto"],
                    )
                ),
            )
            for base in BASES
            for factor in (3, 5)
        ),
        better_in_all,
    )


def second_threshold(results: Results) -> Finding:
    """Ask whether theta2 = 5 is best in most settings."""
    study, parts, verdicts = results.study("thetas", "porto"), [], []
    for base in BASES:
        best = total = 0
        for epsilon in study.epsilons:
            for metric in PAPER:
                errors = [
                    study.errors(theta_label(2, value, base), epsilon, metric).mean() for value in (3, 5, 7)
                ]
                best, total = best + (int(np.argmin(errors)) == 1), total + 1
        verdicts.append(most_true(best, total))
        parts.append(f"{base}: 5 is best of 3, 5 and 7 in {best} of {total} settings")
    both = [
        (
            f"{base}: 5 against {value}",
            ratio(
                settings_of(
                    results, "thetas", theta_label(2, 5, base), theta_label(2, value, base), data=["porto"]
                )
            ),
        )
        for base in BASES
        for value in (3, 7)
    ]
    return Finding(
        jointly(verdicts), "; ".join(parts), "; ".join(f"{words}: {one.interval}" for words, one in both)
    )


#: How much larger an error is that is larger at all, and one that is far larger.
MUCH, FAR = 1.05, 2.0

#: Where one of the three shares is as small as was tried.
SMALL = {
    "grid": [(grid, first) for grid, first in shares() if grid == 1],
    "first order": [(grid, first) for grid, first in shares() if first == 1],
    "second order": [(grid, first) for grid, first in shares() if grid + first == 9],
}


def small(results: Results, which: str, epsilon: str, metric: str) -> float:
    """Average the error where a share is small."""
    labels = [budget_label(*pair) for pair in SMALL[which]]
    return float(np.exp(np.mean([overall(results, "budgets", label, epsilon, (metric,)) for label in labels])))


def shares_small(
    compare: Callable[[float, float, float], bool],
    words: str,
    verdict: Callable[[int, int], Verdict] = all_true,
    *,
    far: bool = False,
) -> Callable[[Results], Finding]:
    """Compare the errors of three small shares in all metrics and epsilons."""

    def judge(results: Results) -> Finding:
        found = {
            (epsilon, metric): [small(results, which, epsilon, metric) for which in SMALL]
            for epsilon in FEW
            for metric in PAPER
        }
        true = [key for key, errors in found.items() if compare(*errors)]
        ratios = np.exp(
            np.mean(np.log([[e[0] / e[1], e[0] / e[2], e[1] / e[2]] for e in found.values()]), axis=0)
        )
        found_true = verdict(len(true), len(found))
        is_much = not far or max(ratios[:2]) < 1 / FAR
        return Finding(
            found_true if is_much or found_true is Verdict.fails else Verdict.in_part,
            f"{words} in {len(true)} of {len(found)} settings (metric and epsilon); geometric means of the "
            f"ratios: small grid over small first order {ratios[0]:.2f}, over small second order "
            f"{ratios[1]:.2f}; small first over small second order {ratios[2]:.2f}",
        )

    return judge


def exception(results: Results) -> Finding:
    """Ask for the exception that the paper names."""
    first, second = (small(results, which, "2", "diameter") for which in ("first order", "second order"))
    return Finding(
        Verdict.holds if first > MUCH * second else Verdict.in_part if first > second else Verdict.fails,
        f"diameter at epsilon 2: {first:.4f} with a small share of first order, {second:.4f} of second order",
    )


def guideline(results: Results) -> Finding:
    """Ask how good 0.2 / 0.4 / 0.4 is among all divisions."""
    labels = [budget_label(*pair) for pair in shares()]
    parts, ranks = [], []
    for epsilon in FEW:
        values = {label: overall(results, "budgets", label, epsilon) for label in labels}
        own = values[budget_label(2, 4)]
        ranks.append(1 + sum(value < own for value in values.values()))
        best = min(values, key=values.__getitem__)
        parts.append(
            f"epsilon {epsilon}: rank {ranks[-1]} of {len(labels)}, error {np.exp(own - values[best]):.2f} "
            f"times that of the best, {best}"
        )
    return Finding(all_true(sum(rank <= 12 for rank in ranks), 3), "; ".join(parts))


def shortest(results: Results) -> Finding:
    """Ask how many moves of a shortest path trips have."""
    found = {data: results.facts[data]["shortest_over_harmonic"] for data in REAL}
    return Finding(
        jointly(Verdict.holds if 0.8 <= value <= 1.25 else Verdict.fails for value in found.values()),
        "moves of shortest paths over the harmonic mean of those of trips with the same ends, 13 x 13 cells: "
        + ", ".join(f"{data} {value:.2f}" for data, value in found.items()),
    )


def learned(results: Results) -> Finding:
    """Ask whether AdaTrace learns anything on Geolife."""
    study = results.study("end-to-end", "geolife")
    values = {metric: level(results, "adatrace", "geolife", metric) for metric in PAPER}
    return Finding(
        Verdict.fails if values["length"] < study.baseline["length"] / 10 else Verdict.holds,
        "mean error on Geolife, and of a uniform random walk: "
        + ", ".join(f"{metric} {value:.3f}, {study.baseline[metric]:.3f}" for metric, value in values.items()),
    )


# --- arithmetic ---


def storage(results: Results) -> Finding:
    """Count the numbers of a third-order model."""
    values = 300**4
    return Finding(
        Verdict.holds,
        f"300^4 = {values:,} numbers, {4 * values / 1e9:.0f} GB with 4 bytes, {8 * values / 1e9:.0f} GB with 8",
    )


def coarse_sizes(results: Results) -> Finding:
    """Work out K."""
    roots = [(30_000 / 5000) ** 0.5, (200_000 / 1200) ** 0.5, (17_621 / 500) ** 0.5]
    return Finding(
        Verdict.holds,
        f"the square roots are {', '.join(f'{root:.2f}' for root in roots)}: rounded up, 3, 13 and 6. The text "
        "does not say that it rounds up; to the nearest would give 2 for Brinkhoff",
    )


def cut_example(results: Results) -> Finding:
    """Run the example of NormCut."""
    found = normcut(np.array([[-5, 1, 7]]))[0].tolist()
    return Finding(Verdict.holds if found == [0, 0, 3] else Verdict.fails, f"our NormCut gives {tuple(found)}")


def seven_cells(results: Results) -> Finding:
    """Count the cells that the rule of the second layer divides."""
    found = results.facts["divided"]
    near = [words for words, count in found.items() if 5 <= count <= 10]
    stated = [words for words in near if words.startswith(("text", "appendix"))]
    return Finding(
        Verdict.holds if stated else Verdict.fails,
        "divided cells of 13 x 13, for Porto's trips scaled to 200,000 in our region: "
        + "; ".join(f"{words}: {count}" for words, count in found.items())
        + ". The text divides by 2e7 and the appendix by 20000, and neither divides about 7",
    )
