"""State what a release promises: the public facts that every model carries, and the privacy statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from privtrace.privacy.ledger import Charge, decimal
from privtrace.privacy.unit import WEIGHT, Unit
from privtrace.space.region import Region
from privtrace.trajectories import Crs

Setting: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class Release:
    """Hold the public facts of a model. Nothing here comes from the data but through the ledger."""

    method: str
    software: str  # the version that fitted the model
    epsilon: Fraction
    unit: Unit
    region: Region
    public_count: int | None  # declared without the data, or None where the count was measured
    settings: Mapping[str, Setting]  # the method's own, by name
    charges: tuple[Charge, ...]
    private: bool  # written only by a fit whose noise was secret and exact

    @property
    def spent(self) -> Fraction:
        """Add up the charges."""
        return sum((charge.epsilon for charge in self.charges), Fraction(0))

    @property
    def verdict(self) -> str:
        """Say in a line whether the release is private."""
        if self.private:
            count = "" if self.public_count is None else "; the number of trajectories was declared public"
            return f"pure differential privacy, epsilon = {decimal(self.epsilon)} per {self.unit.kind}{count}"
        return "NOT PRIVATE: fitted with seeded or absent noise, for tests and benchmarks only"

    @property
    def crs(self) -> Crs:
        """Say whether synthetic points are longitude and latitude or planar."""
        assert self.region.crs is not None  # settled when the region met the data
        return self.region.crs

    @property
    def about(self) -> dict[str, str]:
        """Give the words that go along with synthetic data."""
        return {
            "privtrace.method": self.method,
            "privtrace.software": self.software,
            "privtrace.guarantee": self.verdict,
            **({"privtrace.private": "true"} if self.private else {}),
        }

    def statement(self) -> list[tuple[str, str]]:
        """Answer what a privacy officer asks, question by question."""
        count = (
            "The number of trajectories was measured with noise."
            if self.public_count is None
            else f"The number of trajectories, {self.public_count:,}, was declared as public and is not "
            "protected. If it is the exact number in the data, read the promise for data sets that differ by "
            f"replacing one {self.unit.kind}, at 2 epsilon = {decimal(2 * self.epsilon)}."
        )
        return [
            ("Guarantee", self.verdict),
            ("Protected unit", self.unit.sentence if self.private else "NOT PRIVATE: nobody is protected."),
            (
                "Who sees raw data",
                "Only the curator who ran the fit. The model file and whatever is generated from it are the "
                "release.",
            ),
            ("Mechanisms", " ".join(f"{_describe(charge)}." for charge in self.charges)),
            (
                "Composition",
                f"Sequential and adaptive: {decimal(self.spent)} of epsilon {decimal(self.epsilon)} was spent, "
                "in exact fractions.",
            ),
            (
                "Public inputs",
                f"The region {self.region} ({self.region.crs}), the settings, and all limits. {count}",
            ),
            (
                "Choices made from data outside differential privacy",
                "None by this program. The region and the settings are taken to be chosen without the data.",
            ),
            (
                "Randomness",
                "AES-256 in counter mode, keyed by the operating system, a new key for each fit, never stored. "
                "The guarantee is pure for ideal random bits and computational for the cipher."
                if self.private
                else "NOT PRIVATE: the noise was seeded or switched off, so it can be subtracted.",
            ),
            (
                "Numeric safety",
                "Counts are exact integers in units of 2^-20 trajectories; noise is discrete Laplace, drawn "
                "exactly; no floating-point number decides a draw.",
            ),
            ("Side channels", "An observer of the fit's running time or memory is out of scope."),
            (
                "Post-processing",
                "Everything after the mechanisms: refining the grid, cleaning counts, choosing orders, "
                "estimating trips, walking, placing points. It costs nothing, however much is generated.",
            ),
            (
                "Evaluation",
                "Comparing the release with the real data is not private at any epsilon, and settings chosen "
                "by such comparisons on the same data void this statement.",
            ),
            (
                "Known bias",
                "Long trajectories fare worse than short ones, because each trajectory weighs one in all "
                "however long it is. Times are not synthesized.",
            ),
            ("Repetition", "Fitting twice and keeping the better spends twice."),
        ]


def _describe(charge: Charge) -> str:
    mechanism = charge.mechanism[:1].upper() + charge.mechanism[1:]
    return (
        f"{mechanism} on {charge.statistic} (stage {charge.stage!r}, L1 sensitivity "
        f"{decimal(Fraction(charge.sensitivity, WEIGHT))} trajectory, epsilon {decimal(charge.epsilon)}, scale "
        f"{charge.scale_in_trajectories:.4g} trajectories)"
    )
