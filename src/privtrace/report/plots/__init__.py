"""Draw pictures of numbers: each described once, as marks, and drawn from them as SVG and as PNG.

marks      lines, areas, symbols, text and rasters, with their colors on light and on dark ground
svg        marks as SVG, inline for a page or as a file of its own
png        marks as PNG, on light ground
plot       Plot: a picture with its numbers; files of it, in a folder
axes       linear and logarithmic axes with round ticks
labels     labels that keep apart, and keys
curves     curves with bands, and levels
lines      these over axes, with labels or a key
cells      a matrix of numbers, shaded
heats      maps side by side on one color scale
bars       bars with their numbers

Nothing here knows what the numbers mean. Whoever draws real data says NOT PRIVATE by default.
"""

from privtrace.report.plots.bars import Bar, bars
from privtrace.report.plots.cells import cells
from privtrace.report.plots.curves import DASHED, DOTTED, Level, Line
from privtrace.report.plots.heats import HeatMap, heats
from privtrace.report.plots.lines import lines
from privtrace.report.plots.marks import SERIES, Color
from privtrace.report.plots.plot import Plot, beside, write_plots

__all__ = [
    "Bar",
    "Color",
    "DASHED",
    "DOTTED",
    "HeatMap",
    "Level",
    "Line",
    "Plot",
    "SERIES",
    "bars",
    "beside",
    "cells",
    "heats",
    "lines",
    "write_plots",
]
