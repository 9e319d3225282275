"""Write the page that shows real data beside synthetic. NOT PRIVATE: it is for the curator's eyes only."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from privtrace.io.atomic import replacing
from privtrace.privacy.ledger import decimal
from privtrace.release import Release
from privtrace.report.picture import FAINT, Pixels, flow, paint, png, shade
from privtrace.space.region import Region
from privtrace.synthesizers.base import Model
from privtrace.trajectories import Floats, Source, Trajectories

#: Pixels of a picture's longer side: about what half a screen has.
SIZE = 640


def write_comparison(
    real: Source,
    synthetic: Source,
    model: Model,
    path: str | os.PathLike[str],
    *,
    note: str = "",
    force: bool = False,
) -> None:
    """Write the page of `comparison`; it appears whole or not at all."""
    with replacing(path, force) as temporary:
        temporary.write_bytes(comparison(real, synthetic, model, note=note).encode())


def comparison(real: Source, synthetic: Source, model: Model, *, note: str = "") -> str:
    """Show real data beside synthetic as one HTML page that loads nothing and runs nothing. NOT PRIVATE.

    Parameters
    ----------
    real, synthetic
        What to compare, in the model's region; what lies outside does not show.
    model
        The model that made the synthetic trajectories; its statement, ledger and sizes follow the pictures.
    note
        A sentence about the data, shown at the top.
    """
    release = model.release
    sides = _Side.of(real, release.region), _Side.of(synthetic, release.region)
    sections = [
        _heading(release, note),
        _pictures(*sides, release),
        _numbers(*sides, release.region),
        _statement(release),
        _ledger(release),
        _sizes(model.summary()),
    ]
    return _PAGE.format(style=_STYLE, body="\n".join(sections))


@dataclass(frozen=True)
class _Side:
    """Hold what the page shows of one side. Of the real side it is exact, and so not private."""

    n_trajectories: int  # with a point in the region
    n_points: int  # in the region
    length_m: float  # of all lines in the region
    shares: Floats  # (height, width): of the trajectories, those that pass a pixel

    @classmethod
    def of(cls, source: Source, region: Region) -> _Side:
        n_trajectories = n_points = 0
        length_m = 0.0
        for part in source.parts():
            _, with_point_inside, inside, *_ = region.tally(part).tolist()
            n_trajectories += with_point_inside
            n_points += inside
            length_m += _length_m(part, region)
        # Shares, because the curator may generate more or fewer trajectories than the data has.
        shares = flow(source, region, SIZE) / max(n_trajectories, 1)
        return cls(n_trajectories, n_points, length_m, shares)


def _length_m(part: Trajectories, region: Region) -> float:
    """Add up the lengths of lines between neighboring points in the region."""
    points, inside = region.unwrap(part.points), region.contains(part.points)
    line = inside[:-1] & inside[1:]
    joints = part.offsets[1:-1] - 1  # no line leads from one trajectory into the next
    line[joints[(joints >= 0) & (joints < len(line))]] = False
    steps = (points[1:][line] - points[:-1][line]) * region.scale_m
    return float(np.hypot(*steps.T).sum())


def _heading(release: Release, note: str) -> str:
    if release.private:
        alarm = ""
        advice = """Publish the model and what is generated from it, never this page, and do not choose settings
by it: that would void the privacy statement below."""
    else:
        alarm = f'<p class="alarm">The model is {escape(release.verdict)}.</p>\n'
        advice = "Publish neither this page nor the model."
    note = f"\n<p>{escape(note)}</p>" if note else ""
    return f"""<header>
<p class="kicker">privtrace: real beside synthetic</p>
<h1><em>NOT PRIVATE</em>: this page shows real data</h1>
{alarm}<p>Everything called real below is exact, without noise. Keep this page where the data is kept.
{advice}</p>{note}
</header>"""


def _pictures(real: _Side, synthetic: _Side, release: Release) -> str:
    region = release.region
    most = max(float(real.shares.max()), float(synthetic.shares.max()), FAINT)
    promise = (
        f"epsilon {decimal(release.epsilon)} per {release.unit.neighbors}" if release.private else "NOT PRIVATE"
    )
    width_px = real.shares.shape[1]
    extent = f"{_distance(region.width_m, region)} by {_distance(region.height_m, region)}"
    return f"""<section aria-label="Pictures">
<div class="pair">
{_figure("Real", "NOT PRIVATE", real, most)}
{_figure("Synthetic", promise, synthetic, most)}
</div>
{_legend(most)}
<p class="small">The region {escape(str(region))}, {extent}; north is up, and a pixel is
{_distance(region.width_m / width_px, region)} wide. Lines are drawn straight from point to point.</p>
</section>"""


def _figure(name: str, label: str, side: _Side, most: float) -> str:
    height, width = side.shares.shape
    passed = float(np.mean(side.shares > 0))
    text = (
        f"{name}: {side.n_trajectories:,} trajectories as lines on a map. They pass {passed:.0%} of the "
        f"pixels; the busiest is passed by {_percent(float(side.shares.max()))} of them."
    )
    tone = ' class="red"' if label == "NOT PRIVATE" else ""
    return f"""<figure>
<figcaption><b>{name}</b> <span{tone}>{escape(label)}</span></figcaption>
<img width="{width}" height="{height}" alt="{text}" src="{_data(paint(shade(side.shares, most)))}">
</figure>"""


def _legend(most: float) -> str:
    # Between the ends, only those that leave room for the labels there, also on a telephone.
    between = [tick for tick in (1e-3, 1e-2, 1e-1) if 0.15 < shade(np.array(tick), most) < 0.85]
    ticks = [0.0, *between, most]
    labels = "".join(
        f'<span style="left:{float(shade(np.array(tick), most)):.1%}">{_percent(tick)}</span>' for tick in ticks
    )
    strip = paint(np.linspace(0, 1, 256)[np.newaxis])
    alternative = f"Color scale from dark blue, 0 %, to pale yellow, {_percent(most)}; logarithmic."
    return f"""<figure class="legend">
<figcaption>Share of trajectories that pass a pixel, one scale for both</figcaption>
<img width="256" height="1" alt="{alternative}" src="{_data(strip)}">
<div class="ticks" aria-hidden="true">{labels}</div>
</figure>"""


def _numbers(real: _Side, synthetic: _Side, region: Region) -> str:
    def mean(total: float, side: _Side, form: str) -> str:
        return format(total / side.n_trajectories, form) if side.n_trajectories else "none"

    # Nobody said that a planar unit is a meter.
    unit, unit_m, form = (", km", 1000, ",.2f") if region.crs == "lonlat" else ("", 1, ",.4g")
    sides = real, synthetic
    rows = [
        ("Trajectories", *(f"{side.n_trajectories:,}" for side in sides)),
        ("Points", *(f"{side.n_points:,}" for side in sides)),
        ("Mean points per trajectory", *(mean(side.n_points, side, ",.1f") for side in sides)),
        (f"Mean length{unit}", *(mean(side.length_m / unit_m, side, form) for side in sides)),
    ]
    head = ("In the region", "Real", "Synthetic")
    return f"""<section>
<h2>In numbers</h2>
{_table(head, rows, n_words=1)}
<p class="small">Times are not synthesized. A synthetic trajectory has one point in each cell that it visits,
anywhere in the cell, so its points are fewer than reported positions and its lines coarser than streets.</p>
</section>"""


def _statement(release: Release) -> str:
    tones = ("", ' class="red"')  # the second for answers that say NOT PRIVATE
    answers = "\n".join(
        f"<div><dt>{escape(question)}</dt><dd{tones['NOT PRIVATE' in answer]}>{escape(answer)}</dd></div>"
        for question, answer in release.statement()
    )
    return f"""<section>
<h2>Privacy statement of the model</h2>
<p class="small">It speaks of the model and of what is generated from it, not of this page.</p>
<dl>
{answers}
</dl>
</section>"""


def _ledger(release: Release) -> str:
    rows = [
        (
            charge.stage,
            charge.statistic,
            decimal(charge.epsilon),
            f"{charge.scale_in_trajectories:,.4g}",
        )
        for charge in release.charges
    ]
    head = ("Stage", "What was measured", "Epsilon", "Noise scale, in trajectories")
    foot = ("Spent", "", f"{decimal(release.spent)} of {decimal(release.epsilon)}", "")
    return f"""<section>
<h2>Ledger</h2>
{_table(head, rows, foot, n_words=2)}
</section>"""


def _sizes(summary: Mapping[str, Any]) -> str:
    rows = [
        (name.capitalize(), f"{value:,}" if isinstance(value, int) else str(value))
        for name, value in summary.items()
    ]
    return f"""<section>
<h2>Sizes of the model</h2>
{_table(("Part of the model", "Number"), rows, n_words=1)}
</section>"""


def _table(
    head: Sequence[str], rows: Iterable[Sequence[str]], foot: Sequence[str] = (), *, n_words: int
) -> str:
    """Lay out a table whose first n_words columns are words, and the others numbers."""

    def line(cells: Sequence[str], kind: str) -> str:
        kinds = ["th", *[kind] * (len(cells) - 1)]
        classes = ["" if column < n_words else ' class="n"' for column in range(len(cells))]
        return "".join(
            f"<{kind}{look}>{escape(cell)}</{kind}>"
            for kind, look, cell in zip(kinds, classes, cells, strict=True)
        )

    body = "\n".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    ending = f"\n<tfoot><tr>{line(foot, 'td')}</tr></tfoot>" if foot else ""
    return f"""<table>
<thead><tr>{line(head, "th")}</tr></thead>
<tbody>
{body}
</tbody>{ending}
</table>"""


def _data(pixels: Pixels) -> str:
    return "data:image/png;base64," + b64encode(png(pixels)).decode()


def _percent(share: float) -> str:
    """Write a share for a reader: 0.001 -> 0.1 %."""
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def _distance(distance_m: float, region: Region) -> str:
    if region.crs != "lonlat":
        return f"{distance_m:,.4g} units"
    return f"{distance_m / 1000:,.3g} km" if distance_m >= 1000 else f"{distance_m:,.3g} m"


# The policy lets a browser load nothing but the pictures in the page itself.
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<link rel="icon" href="data:,">
<title>NOT PRIVATE: real beside synthetic</title>
<style>
{style}
</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""

_STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fcfcfa; --ink: #1c2230; --soft: #5b6272; --rule: #dddfe3; --red: #b3261e; --wash: #fbeceb;
}
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #11141b; --ink: #e4e6eb; --soft: #9aa1ae; --rule: #2b303b; --red: #ff8a80; --wash: #2d1718; }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%;
}
main { max-width: 75rem; margin: 0 auto; padding: 3rem 2rem 5rem; }
header { border-top: 4px solid var(--red); padding-top: 1.25rem; }
.kicker { margin: 0; color: var(--soft); font-size: .875rem; }
h1 { margin: .25rem 0 1rem; font-size: clamp(1.5rem, 4.5vw, 2.25rem); line-height: 1.15; }
h1 em { color: var(--red); font-style: normal; }
h2 { margin: 3.5rem 0 .75rem; font-size: 1.25rem; line-height: 1.3; letter-spacing: -.01em; }
p { max-width: 42rem; margin: 0 0 .75rem; }
.small { color: var(--soft); font-size: .875rem; }
.red { color: var(--red); font-weight: 600; }
.alarm {
  padding: .75rem 1rem; border-left: 4px solid var(--red); background: var(--wash); color: var(--red);
  font-weight: 600;
}
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: 1.5rem; }
.pair { margin-top: 2rem; }
figure { margin: 0; }
figcaption { margin-bottom: .5rem; font-size: .875rem; }
.pair figcaption { display: flex; justify-content: space-between; align-items: baseline; gap: 1rem; }
.pair b { font-size: 1rem; }
.pair img { outline: 1px solid var(--rule); }
img { display: block; width: 100%; height: auto; border-radius: 3px; }
.legend { max-width: 36rem; margin: 1.5rem 0 1rem; }
.legend img { height: .75rem; border-radius: 2px; }
.ticks { position: relative; height: 1.75rem; font-size: .8125rem; color: var(--soft); }
.ticks span { position: absolute; top: .25rem; transform: translateX(-50%); white-space: nowrap; }
.ticks span:first-child { transform: none; }
.ticks span:last-child { transform: translateX(-100%); }
table { border-collapse: collapse; max-width: 56rem; margin-bottom: .75rem; }
th, td { padding: .5rem 1rem .5rem 0; border-bottom: 1px solid var(--rule); text-align: left; }
td, tbody th { vertical-align: top; }
th { font-weight: 500; }
th:first-child { width: 15rem; }
thead th { color: var(--soft); font-size: .875rem; vertical-align: bottom; }
tfoot th, tfoot td { font-weight: 600; border-bottom: 0; }
.n { width: 9rem; padding-right: 0; padding-left: 1rem; text-align: right; }
dl { margin: 0; max-width: 56rem; border-top: 1px solid var(--rule); }
dl div { display: grid; grid-template-columns: 13rem 1fr; gap: 0 2rem; padding: .75rem 0; }
dl div { border-bottom: 1px solid var(--rule); }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
dd::first-letter { text-transform: uppercase; }
@media (max-width: 40rem) {
  main { padding: 1.25rem 1rem 3rem; }
  dl div { grid-template-columns: 1fr; }
  table { width: 100%; font-size: .9375rem; }
  th:first-child, .n { width: auto; }
  th, td { padding-right: .5rem; }
  .n { padding-left: .5rem; }
}
@media print {
  @page { margin: 15mm; }
  :root { font-size: 9.5pt; }
  body { background: none; }
  main { padding: 0; }
  h1 { font-size: 2rem; }
  h2 { margin-top: 2.5rem; break-after: avoid; }
  figure, table, dl div { break-inside: avoid; }
  .pair { grid-template-columns: 1fr 1fr; }
}
""".strip()
