"""Look before spending, and at what was spent."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privtrace.cli.options import AsJson, EngineName, FitOptions, InputOptions, MethodOptions
from privtrace.cli.screen import Screen, counted
from privtrace.cli.taking import takes

if TYPE_CHECKING:
    from privtrace.methods.plan import Plan
    from privtrace.methods.settings import Settings
    from privtrace.privacy.budget_file import BudgetFile, BudgetRecord
    from privtrace.privacy.noise import SystemNoise
    from privtrace.privacy.unsafe_noise import SeededNoise
    from privtrace.space.region import Region


@takes(
    MethodOptions,
    notes={"epsilon": "The privacy budget, for example 0.5. [required, unless there is a --target]"},
)
def plan(
    count: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="About how many trips the data has; with --unit user, how many count."
        ),
    ],
    options: MethodOptions,
    target: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Find the least epsilon for this, such as 'od error 20%'."),
    ] = None,
    districts: Annotated[
        int | None,
        typer.Option(metavar="N", help="Equal districts that errors are for, 4 to 400; 9 by default."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict what a fit would give, before spending anything.

    Shows how far off numbers would be, noise, memory and time; with --target, finds epsilon. Reads no data.

    A target names a number and by how much it may be off. Numbers are: district (trips through it), od (a
    flow between two districts), hour (departures in the busiest), length (of trips), street (trips on it).

    \b
    Examples:
      privtrace plan --region=-8.70,41.10,-8.54,41.22 --count 25000 --target "od error 20%"
      privtrace plan --region=-8.70,41.10,-8.54,41.22 --count 25000 --target "hour 10%, district 10%"
      privtrace plan --region=-8.70,41.10,-8.54,41.22 --count 25000 --epsilon 1 --districts 16
      privtrace plan --region=-8.70,41.10,-8.54,41.22 --count 25000 --epsilon 1 --unit user --max-per-user 5
    """
    from privtrace.methods.foreseeing import DISTRICTS, Target, what_would_help
    from privtrace.privacy.epsilon import LARGE_EPSILON

    n_districts = DISTRICTS if districts is None else districts
    synthesizer = _planned_synthesizer(options, target, count, n_districts)
    half, asked, twice = (
        _plan_at(synthesizer, synthesizer.exact("epsilon") * factor, count, n_districts)
        for factor in (Fraction(1, 2), Fraction(1), Fraction(2))
    )
    screen = Screen(as_json=as_json)
    found = {} if target is None else {"target": target}
    screen.data({**found, **_described(asked), "instead": [_described(half), _described(twice)]})
    if target is not None:
        screen.say(_found(asked, target), style="bold")
    _show_plan(half, asked, twice, screen)
    for warning in asked.warnings:
        screen.warn(warning)
    if target is not None and asked.epsilon > LARGE_EPSILON:
        screen.warn(f"what would help: {what_would_help(synthesizer, Target.read(target), count, n_districts)}")
    if refusal := _refusal_in_degrees(synthesizer.region):
        screen.warn(f"if the data is in longitude and latitude, fit will refuse this region: {refusal}")


def _planned_synthesizer(options: MethodOptions, target: str | None, count: int, districts: int) -> Settings:
    """Make the synthesizer to plan for: with the epsilon that was given, or that a target needs."""
    from privtrace.errors import SettingsError

    given = "epsilon" in options.given
    if target is None:
        if not given:
            raise SettingsError(
                "--epsilon (epsilon) is required: The privacy budget, for example 0.5. Or let --target find "
                "it, for example --target 'od error 20%'"
            )
        return options.synthesizer()
    if given:
        raise SettingsError("--target finds epsilon; leave out --epsilon, or --target")
    return options.synthesizer(epsilon="1").reaching(target, count, districts)


def _plan_at(synthesizer: Settings, epsilon: Fraction, count: int, districts: int) -> Plan:
    """Plan with another budget, and say what to expect with so many districts."""
    at = synthesizer.at(epsilon)
    return replace(at.plan(count), expected=at.expected(count, districts))


def _show_plan(half: Plan, asked: Plan, twice: Plan, screen: Screen) -> None:
    """Show a plan, and beside it those of half and twice the budget."""
    from privtrace.methods.plan import PLUS_MINUS

    screen.say(asked.heading, style="bold")
    screen.say(f"{PLUS_MINUS}\n")
    screen.say("What to expect", style="bold")
    for words, off, verdict in asked.outlook:
        screen.say(f"  {words}: {off}, {verdict}")
    screen.say(f"{asked.source}\n")
    screen.say(asked.grid)
    screen.say(f"{asked.average}\n")
    screen.say("The noise", style="bold")
    for line in asked.noise_lines:
        screen.say(line)
    screen.say("\nOther budgets", style="bold")
    _show_table([half, asked, twice], screen)
    screen.say(f"\n{asked.cost}")


def _found(plan: Plan, target: str) -> str:
    """Say which epsilon a target needs, and why."""
    from privtrace.methods.foreseeing import Target
    from privtrace.privacy.epsilon import LARGE_EPSILON, decimal

    off = {one.statistic: one for one in plan.expected}
    reasons = [f"{off[one.statistic].words} within {one.shown}" for one in Target.read(target)]
    wanted, epsilon = " and ".join(reasons), decimal(plan.epsilon)
    if plan.epsilon > LARGE_EPSILON:
        return (
            f"It would take epsilon {epsilon} for {wanted}. That promises next to nothing: change the target."
        )
    return f"Epsilon {epsilon} should be enough for {wanted}. It is the smallest with one digit."


def ledger(
    budget_file: Annotated[Path, typer.Argument(metavar="NAME.ledger", help="A budget file.")],
    as_json: AsJson = False,
) -> None:
    """Show what each fit on a data set spent, and what is left. For the curator.

    Refuses a file that was changed, cut or emptied; docs/data.md lists what it cannot detect.

    \b
    Examples:
      privtrace demo --output demo --force
      privtrace synth demo/trips.parquet --region demo/region.geojson --epsilon 0.5 --output first.parquet \\
          --timezone Europe/Berlin --budget-file demo.ledger --limit 100
      privtrace ledger demo.ledger
    """
    from privtrace.privacy.budget_file import BudgetFile
    from privtrace.privacy.epsilon import decimal

    record = BudgetFile(budget_file).read()
    screen = Screen(as_json=as_json)
    entries = [{**asdict(entry), "epsilon": decimal(entry.epsilon)} for entry in record.entries]
    screen.data(
        {
            "limit": decimal(record.limit),
            "spent": decimal(record.spent),
            "left": decimal(record.left),
            "unit": record.unit,
            "fits": entries,
            "unfinished": record.n_unfinished,
        }
    )
    screen.say(f"{budget_file}: epsilon per {record.unit}", style="bold")
    for entry in entries:
        screen.say(f"  {entry['when']}  epsilon {entry['epsilon']:8} {entry['method']:12} {entry['note']}")
    screen.say(_standing(record).capitalize())
    if record.n_unfinished:
        screen.warn(
            f"{counted(record.n_unfinished, 'fit')} at the end stopped right after being charged; no "
            "noise was drawn, but the charge counts"
        )
    if record.torn:
        screen.warn("the last line was cut off while being written; that fit never started and drew no noise")
    if not record.has_head:
        screen.warn(
            "the file has format 1, which cannot show that its last lines were lost; the next fit upgrades it"
        )


@dataclass(frozen=True)
class Spending:
    """Know what a fit has spent, whatever ends it."""

    epsilon: Fraction
    noise: SystemNoise | SeededNoise
    budget_file: BudgetFile | None

    @classmethod
    def of(cls, synthesizer: Settings, options: FitOptions, note: str) -> Spending:
        """Open what the options name; the note goes into the budget file."""
        from privtrace.privacy.noise import SystemNoise
        from privtrace.privacy.unsafe_noise import SeededNoise

        noise = SystemNoise() if options.noise_seed is None else SeededNoise(options.noise_seed)
        return cls(synthesizer.exact("epsilon"), noise, options.account(note))

    def words(self) -> str:
        """Say what was spent, and whether it stays charged."""
        from privtrace.methods.ending import spent
        from privtrace.privacy.noise import SystemNoise

        private = isinstance(self.noise, SystemNoise)
        return spent(self.epsilon, self.budget_file, private=private, drew=self.noise.drew)

    def tell(self, screen: Screen) -> None:
        """Say how the budget file stands after the fit; a file that is new by mistake shows."""
        if self.budget_file is not None:
            record = self.budget_file.read()
            new = ", which is new" if len(record.entries) == 1 else ""
            screen.say(f"Charged to {self.budget_file.path}{new}: {_standing(record)}")


def tell_unusable(trips: str | Path, options: FitOptions, spending: Spending, screen: Screen) -> None:
    """End a fit that no trajectory counted for with what it cost, and how to look before the next."""
    from privtrace.methods.declaring import option

    if not screen.unusable.is_set():
        return
    reading = {field.name: getattr(options, field.name) for field in fields(InputOptions)}
    given = {name: value for name, value in reading.items() if value is not None and name != "strict"}
    # What Spark reads is checked by a file of it.
    path = f"{trips}/PART.parquet" if options.engine is EngineName.spark else str(trips)
    words = ["privtrace", "check", path, f"--region={options.region}"]
    words += [f"{option(name)}={value}" for name, value in given.items()]
    look = "how much of the data lies in the region"
    if "period" in options.given:
        look = f"{look} and how many times can be read (only trips that begin in the period count)"
    screen.note(
        f"no trip was usable, so the model is pure noise; {spending.words()}. Before the next fit, check "
        f"{look}, which spends nothing: {shlex.join(words)}",
        loud=True,
    )


def _standing(record: BudgetRecord) -> str:
    """Say how much of a limit is spent."""
    from privtrace.privacy.epsilon import decimal

    return (
        f"spent {decimal(record.spent)} of {decimal(record.limit)} in {counted(len(record.entries), 'fit')}; "
        f"{decimal(record.left)} is left"
    )


def _refusal_in_degrees(region: Region) -> str | None:
    """Say why a region that could be in degrees cannot; a plan sees no data that would tell."""
    from privtrace.errors import SettingsError

    if max(abs(region.west), abs(region.east)) > 180 or max(abs(region.south), abs(region.north)) > 90:
        return None
    try:
        region.for_data("lonlat")
    except SettingsError as error:
        return str(error)
    return None


def _show_table(plans: list[Plan], screen: Screen) -> None:
    """Set the same numbers of several budgets side by side."""
    from privtrace.privacy.epsilon import decimal

    rows = {
        "epsilon": [decimal(plan.epsilon) for plan in plans],
        "states": [f"{plan.states:,}" for plan in plans],
        "weight of an average state": [_number(plan.per_state) for plan in plans],
    }
    for number, expected in enumerate(plans[0].expected):
        rows[expected.words] = [plan.expected[number].shown for plan in plans]
    for number, stage in enumerate(plans[0].stages):
        rows[f"{stage.what} is off by"] = [f"±{_number(plan.stages[number].margin)}" for plan in plans]
    for name, cells in rows.items():
        screen.say(f"  {name:48}" + "".join(f"{cell:>15}" for cell in cells))


def _number(value: float) -> str:
    from privtrace.methods.plan import rounded

    return rounded(value)


def _described(plan: Plan) -> dict[str, Any]:
    """Describe a plan for a program."""
    from privtrace.methods.foreseeing import described
    from privtrace.privacy.epsilon import decimal

    return {
        "method": plan.method,
        "epsilon": decimal(plan.epsilon),
        "unit": {"kind": plan.unit.kind, "contributions": plan.unit.contributions},
        "count": plan.count,
        "coarse_per_side": plan.coarse_per_side,
        "states": plan.states,
        "second_order_share": plan.second_order_share,
        "trips_per_state": plan.per_state,
        "stages": [
            {
                "stage": stage.stage,
                "epsilon": decimal(stage.epsilon),
                "noise_scale": stage.scale,
                "error": stage.error,
                "margin": stage.margin,
                "words": stage.sentence,
            }
            for stage in plan.stages
        ],
        "expected": [described(one) for one in plan.expected],
        "expected_from": plan.source,
        "memory_mb": plan.memory_mb,
        "seconds": plan.seconds,
        "warnings": list(plan.warnings),
    }
