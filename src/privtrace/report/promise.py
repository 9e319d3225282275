"""Say what a release promises: in plain words, question by question, and mechanism by mechanism."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from privtrace.methods.plan import rounded
from privtrace.methods.view import MARGIN
from privtrace.privacy.epsilon import LARGE_EPSILON, decimal
from privtrace.privacy.unit import WEIGHT
from privtrace.release import MANY_TRIPS, Release, rounded_up
from privtrace.report.document import answers, paragraph, plain, section, table


def promise(release: Release) -> str:
    """Say what epsilon means, answer what privacy officers ask, and list every mechanism."""
    rows = [
        (
            charge.stage,
            charge.statistic,
            decimal(Fraction(charge.sensitivity, WEIGHT)),
            decimal(charge.epsilon),
            plain(charge.scale_in_trajectories, 4),
            f"± {rounded(MARGIN * math.sqrt(2) * charge.scale_in_trajectories)}",
        )
        for charge in release.charges
    ]
    head = ("Stage", "What was measured", "Sensitivity", "ε", "Noise scale", "Margin")
    foot = ("Spent", "", "", f"{decimal(release.spent)} of {decimal(release.epsilon)}", "", "")
    return section(
        "The privacy promise",
        *(paragraph(text) for text in (_plain_words(release) if release.private else [_NO_PROMISE])),
        *(_many_trips(release) if release.private else []),
        answers(item for item in release.statement() if item[0] not in ("Mechanisms", MANY_TRIPS)),
        "<h3>Mechanisms</h3>",
        paragraph(
            "All measurements taken from the data, and the noise added to each. Sensitivity is how much "
            "one protected unit can change a list of numbers, in trips. The noise is discrete Laplace "
            "with scale sensitivity / ε; nine numbers in ten are off by less than the margin. Everything "
            "else on this page follows from these measurements and from public inputs.",
            "small",
        ),
        table(head, rows, foot, n_words=2),
    )


def _plain_words(release: Release) -> Iterator[str]:
    """Say what epsilon means, with its numbers."""
    epsilon, unit = float(release.epsilon), release.unit
    whom = "person" if unit.kind == "user" else unit.neighbors
    everything = ", with all their trajectories" if unit.kind == "user" else ""
    large = epsilon > LARGE_EPSILON
    factor = f"e to the power of {epsilon:,g}" if large else rounded_up(math.exp(epsilon), math.expm1(epsilon))
    yield (
        f"In plain words: take any {whom} out of the data{everything}, and the probability of any model "
        f"changes by a factor of at most {factor}; the same holds for every page or trip made from the "
        "model. Suppose someone knows all the rest of the data and gives a 50 % chance that a certain "
        f"{whom} is in it too. After seeing everything here, they {_surest(epsilon)}."
    )
    if release.public_count is not None:
        yield (
            "The number of trips was declared public and is not protected. If it is the exact number, "
            f"the promise is about replacing one {whom} by another, at twice the epsilon."
        )
    yield (
        "This bound does not weaken with time and does not depend on what attackers know or do. Other "
        "releases of the same data have their own bound, and the epsilons add up. The bound is about "
        "what one contribution adds. What holds for the city as a whole is not hidden: the release is "
        "there to show it."
    )


def _surest(epsilon: float) -> str:
    """Say how sure someone can become who was undecided: exp(epsilon) / (1 + exp(epsilon)) at most."""
    if epsilon > LARGE_EPSILON:
        return f"can be practically certain of it: an epsilon above {LARGE_EPSILON} promises little"
    doubt = 100 / (1 + math.exp(epsilon))
    return f"can be at most {rounded_up(100 - doubt, doubt)} % sure of it"


def _many_trips(release: Release) -> Iterator[str]:
    """Say what can be learned of people who made several trips."""
    together = release.unit.kind == "user"
    yield f"<h3>{MANY_TRIPS}</h3>"
    yield paragraph(
        "Everything one person did is protected together: one bound covers all their trips."
        if together
        else "Each trip is protected separately. What can be learned about several trips adds up: ε "
        "grows with their number, so more can be learned about people with many trips."
    )
    head = ("Trips of one person", "ε for all of them", "An attacker can be at most this sure")
    yield table(
        head, ((str(trips), decimal(epsilon), sure) for trips, epsilon, sure in release.chances()), n_words=1
    )
    twice = " If the declared number of trips is the exact one, read twice the ε."
    yield paragraph(
        "As above, the attacker knows all the rest of the data and starts with a 50\u00a0% chance that "
        f"these trips are in it too.{'' if release.public_count is None else twice}",
        "small",
    )


_NO_PROMISE = "There is no promise: this model was fitted for a test or a benchmark, and its noise is known."
