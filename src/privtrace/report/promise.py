"""Say what a release promises: in plain words, question by question, and mechanism by mechanism."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from privtrace.methods.plan import rounded
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
            f"± {rounded(math.sqrt(2) * charge.scale_in_trajectories)}",
        )
        for charge in release.charges
    ]
    head = ("Stage", "What was measured", "Sensitivity", "ε", "Noise scale", "A number is off by about")
    foot = ("Spent", "", "", f"{decimal(release.spent)} of {decimal(release.epsilon)}", "", "")
    return section(
        "What is promised",
        *(paragraph(text) for text in (_plain_words(release) if release.private else [_NO_PROMISE])),
        *(_many_trips(release) if release.private else []),
        answers(item for item in release.statement() if item[0] not in ("Mechanisms", MANY_TRIPS)),
        "<h3>Mechanisms</h3>",
        paragraph(
            "Every number that left the data, with the noise that was added to it. Sensitivity is how much one "
            "protected unit can change a list of numbers, in trajectories; the noise is discrete Laplace, and "
            "its scale is sensitivity over ε. All else on this page follows from these and from public inputs.",
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
        f"In plain words: whichever {whom} is left out of the data{everything}, the chance of any model, and "
        f"so of any page or trip made from it, changes by a factor of {factor} at most. Someone who knows all "
        f"the rest of the data, and finds it as likely as not that a given {whom} is in it too, "
        f"{_surest(epsilon)} after seeing everything here."
    )
    if release.public_count is not None:
        yield (
            "The number of trajectories was declared as public, and is not protected. If it is the exact one, "
            f"read all this for replacing a {whom} by another, at twice the epsilon."
        )
    yield (
        "That bound does not wear off with time, and it does not depend on what attackers know or do. Other "
        "releases of the same data have a bound of their own, and their epsilons add up. It is about what one "
        "contribution adds; what is true of the city as a whole, the release is meant to tell."
    )


def _surest(epsilon: float) -> str:
    """Say how sure someone can become who was undecided: exp(epsilon) / (1 + exp(epsilon)) at most."""
    if epsilon > LARGE_EPSILON:
        return f"can become practically certain of it: an epsilon above {LARGE_EPSILON} promises little,"
    doubt = 100 / (1 + math.exp(epsilon))
    return f"can be {rounded_up(100 - doubt, doubt)} % sure of it at most"


def _many_trips(release: Release) -> Iterator[str]:
    """Say what can be learned of people who made several trips."""
    together = release.unit.kind == "user"
    yield f"<h3>{MANY_TRIPS}</h3>"
    yield paragraph(
        "All that one person did is protected together, however many trips that is: one bound holds for all."
        if together
        else "Each trip is protected by itself. What can be learned of several adds up, and so of someone with "
        "many trips more can be learned than of someone with one: ε grows with their number."
    )
    head = ("Trips of one person", "ε for all of them", "Who was undecided can become sure to at most")
    yield table(
        head, ((str(trips), decimal(epsilon), sure) for trips, epsilon, sure in release.chances()), n_words=1
    )
    twice = " If the declared number of trajectories is the exact one, read twice the ε."
    yield paragraph(
        "As above, this is about someone who knows all the rest of the data, and finds it as likely as not "
        f"(50\u00a0%) that these trips are in it too.{'' if release.public_count is None else twice}",
        "small",
    )


_NO_PROMISE = "No promise is made: this model was fitted for a test or a benchmark, and its noise is known."
