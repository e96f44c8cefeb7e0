"""Small plots as inline SVG: no library, no script, no style sheet.

Every plot is 360 units wide, so that its text stays legible on a phone. Its colours come from custom properties of the
page (``--ink``, ``--muted``, ``--rule``, ``--series-1`` … ``--series-3``), with fallbacks. Series differ by shape as
well as by colour. Each plot has a title and a description for screen readers; the page must also give the numbers in a
table. `analysis.plots.image_files` turns a plot into a separate file, SVG or PNG.

Positions are in SVG units, data in their own units; every function returns a string that is safe to put in a page.
"""

from analysis.plots.canvas import LEFT, Axis, Mark, Words, nice_ticks, padded, tick_label
from analysis.plots.charts import Classes, Group, bars, histogram, intervals, scatter, spread, strip
from analysis.plots.diverging import diverging
from analysis.plots.heat_maps import heat_map
from analysis.plots.point_names import PointName
from analysis.plots.series import Line, curves, ranges

__all__ = [
    "LEFT",
    "Axis",
    "Classes",
    "Group",
    "Line",
    "Mark",
    "PointName",
    "Words",
    "bars",
    "curves",
    "diverging",
    "heat_map",
    "histogram",
    "intervals",
    "nice_ticks",
    "padded",
    "ranges",
    "scatter",
    "spread",
    "strip",
    "tick_label",
]
