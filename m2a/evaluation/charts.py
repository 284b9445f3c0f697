"""Draws charts of a run as SVG that takes its text colour from the page."""

import io
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from m2a.evaluation.tables import categories_of, main_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK = "#123456"  # replaced by the page's text colour
_COLOURS = "#2b6a5c #c2703d #5b6fb0 #a8892b #8c4f86 #4c94a8 #b04d4d #6f7a4a #7d6a58 #3d8f5f".split()
_MARKERS = ("o", "s", "^")  # for points whose colours repeat
_MARK_INCHES, _LETTER_INCHES = 0.7, 0.085
_MAX_SCALE = 1.3
_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "m2a",  # the same figures give the same bytes
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


def charts_of(
    summary: Mapping[str, Mapping[str, Any]], amounts: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, str]]:
    """Returns titles and drawings of the main rate by category, and against tokens and time if the run has them.

    `amounts` are `amounts_of` the same run.
    """
    metric = main_rate(summary)
    if metric is None:
        return []
    charts = [(f"{metric} by category", bars(summary, metric))]
    for key, label in (("total_tokens", "tokens per question"), ("seconds_p50", "seconds per question (p50)")):
        points = {
            system: (float(amounts[system][key]), float(figures[metric]))
            for system, figures in summary.items()
            if metric in figures and amounts.get(system, {}).get(key, 0) > 0
        }
        if len(points) > 1:
            charts.append((f"{metric} against {label}", scatter(points, label, metric)))
    return charts


def bars(summary: Mapping[str, Mapping[str, Any]], metric: str, categories: Sequence[str] | None = None) -> str:
    """Draws a group of bars per category, with one bar per system and 95 % intervals."""
    names = [
        category
        for category in (categories or categories_of(summary))
        if any(metric in figures["categories"].get(category, {}) for figures in summary.values())
    ]
    width = 0.8 / max(1, len(summary))
    with _styled():
        figure, axes = _drawing(summary, metric, min_width=1.3 * len(names) + 1)
        for number, (system, figures) in enumerate(summary.items()):
            cells = [figures["categories"].get(category, {}) for category in names]
            xs = [position + (number - (len(summary) - 1) / 2) * width for position in range(len(names))]
            rates = [100 * cell.get(metric, 0.0) for cell in cells]
            lows, highs = zip(*(_interval(cell, metric) for cell in cells), strict=True) if cells else ((), ())
            errors = (
                [max(0.0, rate - 100 * low) for rate, low in zip(rates, lows, strict=True)],
                [max(0.0, 100 * high - rate) for rate, high in zip(rates, highs, strict=True)],
            )
            colour = _COLOURS[number % len(_COLOURS)]
            hatch = "////" if number >= len(_COLOURS) else None  # the colour repeats
            axes.bar(xs, rates, width * 0.92, label=system, color=colour, hatch=hatch, edgecolor=_INK, linewidth=0)
            axes.errorbar(xs, rates, yerr=errors, fmt="none", ecolor=_INK, elinewidth=0.8)
        axes.set_xticks(range(len(names)), [name.replace(" ", "\n") for name in names])
        return _svg(figure)


def scatter(points: Mapping[str, tuple[float, float]], label: str, metric: str) -> str:
    """Draws a point per system, named in the legend, along a logarithmic axis."""
    with _styled():
        figure, axes = _drawing(points, metric)
        for number, (system, (x, rate)) in enumerate(points.items()):
            colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number // len(_COLOURS) % len(_MARKERS)]
            axes.scatter(x, 100 * rate, color=colour, marker=marker, s=40, label=system)
        axes.set_xscale("log")
        axes.margins(x=0.2)
        axes.set_xlabel(label)
        return _svg(figure)


def line(series: Mapping[str, Sequence[tuple[float, float]]], label: str, metric: str) -> str:
    """Draws a line per series through its points, in their order."""
    with _styled():
        figure, axes = _drawing(series, metric)
        for number, (name, points) in enumerate(series.items()):
            colour = _COLOURS[number % len(_COLOURS)]
            axes.plot([x for x, _ in points], [100 * y for _, y in points], marker="o", label=name, color=colour)
        axes.set_xlabel(label)
        return _svg(figure)


def _styled() -> AbstractContextManager[None]:
    """Returns a context in which drawings have the style of the page."""
    import matplotlib as mpl  # here, because importing it takes half a second and most commands draw nothing

    return mpl.rc_context(_STYLE)


def _drawing(names: Collection[str], metric: str, min_width: float = 6.0) -> "tuple[Figure, Axes]":
    """Returns a figure at least 6 inches wide, with room for a legend of the names above, and its axes for the metric in %."""
    from matplotlib.figure import Figure

    width = max(6.0, min_width)
    rows = -(-len(names) // _columns(names, width))
    figure = Figure(figsize=(width, 3.2 + 0.22 * rows))
    return figure, figure.add_subplot(ylim=(0, 100), ylabel=f"{metric}, %")


def _columns(names: Collection[str], width: float) -> int:
    """Returns the number of columns in a legend of that width in inches."""
    return max(1, int(width / (_MARK_INCHES + _LETTER_INCHES * max(map(len, names), default=1))))


def _interval(cell: Mapping[str, Any], metric: str) -> tuple[float, float]:
    rate = cell.get(metric, 0.0)
    low, high = cell.get(f"{metric}_ci95", (rate, rate))
    return low, high


def _svg(figure: "Figure") -> str:
    _, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(loc="outside upper left", ncols=_columns(names, figure.get_figwidth()))
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawing = buffer.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, count=1, flags=re.DOTALL)
    # The page sets the colour and, within readable limits, the width. Matplotlib gives sizes in points.
    drawing = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", drawing, count=1)
    drawing = re.sub(r'(<svg[^>]*?) width="([\d.]+)pt"', _size, drawing, count=1)
    return drawing.replace(_INK, "currentColor").replace("fill: #ffffff", "fill: none")


def _size(match: re.Match[str]) -> str:
    width = float(match[2])
    return f'{match[1]} style="width:100%;min-width:{width:.0f}px;max-width:{_MAX_SCALE * width:.0f}px"'
