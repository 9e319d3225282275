"""Say at the top of a page what may be read from a model and what not, and how its numbers are meant."""

from __future__ import annotations

from html import escape

from privtrace.methods.usability import Usability
from privtrace.report.document import bullets, paragraph, section

#: The one place of a page that says what its numbers mean.
_MEANING = (
    "How to read numbers. ± is about noise: nine measured numbers in ten are off by less. Fitted numbers are "
    "counted on synthetic trips. They are closer to the truth where noise hides single numbers; where many "
    "trips go, a measured one can be closer. The numbers in brackets after them, as in 412 (380 to 447), are "
    "low and high: nine in ten of the true numbers are expected between. They allow for the noise, for the "
    "random draw of the synthetic trips, and for what the model misses, so they can be wider than ±. A number "
    "stands out if it is more than three standard deviations of its noise above zero. A typical number is such "
    "that half of all trips or visits are in numbers as large or larger."
)


def what_can_be_read(usability: Usability) -> str:
    """Show the verdict on each level of numbers."""
    lines = "\n".join(
        f"<li><b>{escape(level.name)}</b><span>{escape(level.words[:1].upper() + level.words[1:])}</span></li>"
        for level in usability.levels
    )
    return section(
        "What can be read from it",
        paragraph(usability.verdict, "alarm" if usability.is_noise else "lead"),
        bullets(usability.advice) if usability.advice else "",
        f'<ul class="verdicts">\n{lines}\n</ul>' if lines else "",
        paragraph(_MEANING, "small"),
    )
