# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Draws a result's tables as SVG, which follows the reader's choice of a light
or a dark page."""
import io
import itertools
import re

from .result import NotRun

#: a colour that nothing else has: the reader's ink takes its place
INK = "#010203"
#: hues that are told apart on white and on black, also by the colour-blind
COLOURS = ("#0a84c6", "#d1571f", "#1a9a73", "#b065a8", "#a08000", "#5b6fd6",
           "#c03a5b", "#7a7a7a")
MARKERS = "osD^vPX*"
STYLE = """<style>
svg { color: #1f2933; background: #ffffff; }
@media (prefers-color-scheme: dark) {
  svg { color: #d9dee3; background: #15191d; }
}
</style>
"""


def require():
    """Raise NotRun if there is no library that draws."""
    try:
        import matplotlib
    except ImportError as e:
        raise NotRun("--plot needs matplotlib: install python3-matplotlib "
                     "(apt install python3-matplotlib)") from e
    matplotlib.use("svg")
    matplotlib.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": "storm_bench",
        "font.family": "sans-serif", "font.size": 9, "axes.titlesize": 10,
        "figure.facecolor": "none", "axes.facecolor": "none",
        "legend.facecolor": "none", "legend.framealpha": 0,
        **{key: INK for key in (
            "text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color",
            "ytick.color", "grid.color")}})


def apart(rows, names):
    """[(values of names, rows with these)], in the rows' order."""
    found = {}
    for row in rows:
        found.setdefault(tuple(row["by"][n] for n in names), []).append(row)
    return found.items()


def label(names, values, *more):
    """A line's or a picture's name, of the values that differ."""
    return ", ".join([f"{n} {v}" for n, v in zip(names, values)] + list(more))


def several(rows, names):
    """Those of the names that have more than one value."""
    return [n for n in names if len({row["by"][n] for row in rows}) > 1]


def points(rows, x, column):
    """[(x, cell)] of the cells that have figures."""
    return [(row["by"][x], row["cells"][column]) for row in rows
            if "median" in row["cells"].get(column, {})]


def lines_of(table, rows):
    """[(name, column, points)]"""
    plot = table["plot"]
    names = several(rows, [n for n in table["by"]
                           if n != plot["x"] and
                           n not in plot.get("facets", ())])
    for values, group in apart(rows, names):
        for column in plot["y"]:
            found = points(group, plot["x"], column)
            if found:
                more = [column] if len(plot["y"]) > 1 or not names else []
                yield label(names, values, *more), column, found


def place(values):
    """{value: where it is on the x axis}; what is not a number is spread
    evenly."""
    if all(isinstance(v, (int, float)) for v in values):
        return {v: v for v in values}
    return {v: i for i, v in enumerate(dict.fromkeys(values))}


def line(axes, where, found, column, plot, look):
    colour, marker = look
    at = [where[x] for x, _ in found]
    middle = [cell["median"] for _, cell in found]
    bars = [[cell["median"] - cell["q1"] for _, cell in found],
            [cell["q3"] - cell["median"] for _, cell in found]]
    form = {"marker": marker, "linestyle": "-"}
    if column in plot.get("points", ()):
        form["linestyle"] = ""
    if column in plot.get("curves", ()):
        form["marker"] = ""
    if any(bars[0] + bars[1]):
        return axes.errorbar(at, middle, bars, color=colour, markersize=4,
                             linewidth=1.2, elinewidth=0.8, capsize=2, **form)
    return axes.plot(at, middle, color=colour, markersize=4, linewidth=1.2,
                     **form)[0]


def crowded(at, all_of_them):
    """On an axis of powers, a number's text would cover that of a greater
    one."""
    return any(at < other < 1.2 * at for other in all_of_them)


def picture(axes, table, title, rows):
    plot = table["plot"]
    lines = list(lines_of(table, rows))
    where = place([row["by"][plot["x"]] for row in rows])
    looks = itertools.cycle(zip(COLOURS, MARKERS))
    for (name, column, found), look in zip(lines, looks):
        line(axes, where, found, column, plot, look).set_label(name)
    log = plot.get("log", "")
    if "x" in log:
        axes.set_xscale("log", base=2)
    if "y" in log:
        axes.set_yscale("log")
    else:
        axes.margins(y=0.05)
        axes.set_ylim(bottom=0, top=1.05 * axes.get_ylim()[1])
    if len(where) <= 12:
        shown = {v: at for v, at in where.items()
                 if "x" not in log or not crowded(at, where.values())}
        axes.set_xticks(list(shown.values()), [str(v) for v in shown])
        axes.minorticks_off()
        if any(len(str(v)) > 9 for v in where):
            axes.tick_params("x", labelrotation=90)
    units = {table["columns"][column] for _, column, _ in lines} - {""}
    axes.set(xlabel=plot["x"], ylabel=", ".join(sorted(units)), title=title)
    axes.grid(alpha=0.2)
    axes.spines[["top", "right"]].set_visible(False)
    if len(lines) > 1 or plot.get("facets"):
        axes.legend()


def pictures(tables):
    """[(table, title, rows)]"""
    for table in tables:
        if not table["plot"]:
            continue
        names = several(table["rows"], table["plot"].get("facets", ()))
        for values, rows in apart(table["rows"], names):
            if any(lines_of(table, rows)):
                yield (table, table["title"] + "\n"
                       + label(names, values), rows)


def draw(data):
    """The SVG of Result.data()."""
    require()
    from matplotlib import pyplot
    found = list(pictures(data["tables"]))
    if not found:
        raise NotRun("there is nothing to draw")
    across = min(2, len(found))
    down = -(-len(found) // across)
    figure, grid = pyplot.subplots(down, across, squeeze=False,
                                   figsize=(5.6 * across, 3.8 * down + 0.3),
                                   layout="constrained")
    for axes, one in itertools.zip_longest(grid.flat, found):
        if one:
            picture(axes, *one)
        else:
            axes.remove()
    figure.supxlabel(data["command"], fontsize=7)
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None,
                                                "Title": data["command"]})
    pyplot.close(figure)
    return re.sub(r"(<svg [^>]*>\n)", lambda m: m[1] + STYLE,
                  out.getvalue().replace(INK, "currentColor"), count=1)
