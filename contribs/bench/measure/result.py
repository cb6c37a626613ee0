# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What a subcommand measured: tables of medians and quartiles, and ratios, as
text, JSON and Markdown."""
import datetime
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[3]


class NotRun(Exception):
    """A part of a measurement cannot run here. The text says why, and what to
    do: what lacks something says "install X" or "needs X"."""


def spread(values):
    """{median, q1, q3, n} of numbers."""
    ordered = sorted(values)
    if len(ordered) > 1:
        q1, median, q3 = statistics.quantiles(ordered, n=4, method="inclusive")
    else:
        q1 = median = q3 = ordered[0]
    return {"median": median, "q1": q1, "q3": q3, "n": len(ordered)}


def ratio(ours, theirs):
    """Quotients of neighbouring runs, where there are any."""
    return [a / b for a, b in zip(ours, theirs) if b]


def number(value):
    """About three digits."""
    if value == int(value) and abs(value) < 1e7 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def cell_text(cell):
    if "not_run" in cell:
        return "not run"
    if "text" in cell:
        return cell["text"]
    text = number(cell["median"])
    if cell["n"] > 1:
        text += f" [{number(cell['q1'])}, {number(cell['q3'])}]"
    return text


class Table:
    """Rows are named by the values of `by`. Columns have units; those of
    `ratios`, named "A / B", are computed from their columns' runs."""

    def __init__(self, title, by, columns, ratios=(), plot=None, show=None):
        self.title, self.by, self.columns = title, tuple(by), dict(columns)
        self.ratios, self.plot, self.rows = tuple(ratios), plot, []
        self._show = show

    @property
    def headings(self):
        """{column: unit}, ratios last."""
        return {**self.columns, **{name: "" for name in self.ratios}}

    def row(self, names, values):
        """Append the row of `names` (one for each `by`). `values` has for each
        column a list of numbers, a number, a text, or a NotRun; a column may
        be missing."""
        for name in self.ratios:
            ours, theirs = (values.get(n) for n in name.split(" / "))
            if isinstance(ours, list) and isinstance(theirs, list) and \
                    (found := ratio(ours, theirs)):
                values = {**values, name: found}
        self.rows.append({
            "by": dict(zip(self.by, names, strict=True)),
            "cells": {name: self._cell(values[name], unit)
                      for name, unit in self.headings.items()
                      if name in values}})
        if self._show:
            self._show(self)

    @staticmethod
    def _cell(value, unit):
        if isinstance(value, NotRun):
            return {"not_run": str(value)}
        if isinstance(value, str):
            return {"text": value}
        values = value if isinstance(value, list) else [value]
        return {**spread(values), "unit": unit}

    def data(self):
        return {"title": self.title, "by": list(self.by),
                "columns": self.headings, "plot": self.plot,
                "rows": self.rows}


def reasons(table):
    """Each cause of a cell that was not run, once."""
    found = {}
    for row in table["rows"]:
        for name, cell in row["cells"].items():
            if "not_run" in cell:
                where = ", ".join(f"{k} {v}" for k, v in row["by"].items())
                found.setdefault((name, cell["not_run"]), []).append(where)
    return [f"{name}: not run: {why}" + (f" ({'; '.join(where)})"
            if len(where) < len(table["rows"]) else "")
            for (name, why), where in found.items()]


def heading_words(table):
    return list(table["by"]) + [
        f"{name}, {unit}" if unit else name
        for name, unit in table["columns"].items()]


def row_words(table, row):
    return [str(row["by"][name]) for name in table["by"]] + [
        cell_text(row["cells"][name]) if name in row["cells"] else ""
        for name in table["columns"]]


def aligned(table, words):
    """A line whose columns are as wide as the heading and the first row."""
    first = row_words(table, table["rows"][0])
    widths = [max(len(head), len(word) + 2)
              for head, word in zip(heading_words(table), first)]
    return "  ".join(word.rjust(width)
                     for word, width in zip(words, widths)).rstrip()


def machine():
    """What the figures depend on."""
    cpus = [line.split(":", 1)[1].strip()
            for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"processors": len(os.sched_getaffinity(0)),
            "model": cpus[0] if cpus else platform.machine(),
            "memory_bytes": memory, "kernel": platform.release(),
            "load": round(os.getloadavg()[0], 2)}


def storm_version():
    done = subprocess.run(["git", "-C", TOP, "-c", "safe.directory=*",
                           "describe", "--always", "--dirty"],
                          capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


class Result:
    """`stream`: rows are printed there as they come."""

    def __init__(self, name, argv, source, stream=None):
        self.name, self.argv, self.source = name, list(argv), source
        self.tables, self.notes = [], []
        self.machine = machine()
        self.versions = {"storm": storm_version()}
        self.date = datetime.datetime.now(datetime.timezone.utc)
        self._stream = stream
        self._print(f"{self.command}\n{self._machine_line()}")

    @property
    def command(self):
        return shlex.join(["contribs/bench/storm_bench", *self.argv])

    def _machine_line(self):
        m = self.machine
        return (f"{m['processors']} processors, {m['model']}, load "
                f"{m['load']:.1f}; medians [quartiles]")

    def _print(self, text):
        if self._stream:
            print(text, file=self._stream, flush=True)

    def table(self, title, by, columns, ratios=(), plot=None):
        """`columns` is {name: unit}; `ratios` are names "A / B" of two
        columns. `plot` is {"x": one of by, "y": [columns], "log": "xy"}; a
        table without it is not drawn."""
        one = Table(title, by, columns, ratios, plot, self._show)
        self.tables.append(one)
        return one

    def _show(self, table):
        data = table.data()
        if len(table.rows) == 1:
            self._print(f"\n{table.title}\n"
                        + aligned(data, heading_words(data)))
        self._print(aligned(data, row_words(data, table.rows[-1])))
        for line in reasons({**data, "rows": table.rows[-1:]}):
            self._print("  " + line)

    def note(self, text):
        """What a reader of the figures must know."""
        self.notes.append(text)
        self._print(text)

    def measured(self):
        return any(table.rows for table in self.tables)

    def not_run(self, what, why):
        self.note(f"{what}: not run: {why}")

    def data(self):
        return {"name": self.name, "command": self.command,
                "source": self.source,
                "date": self.date.isoformat(timespec="seconds"),
                "machine": self.machine, "versions": self.versions,
                "notes": self.notes,
                "tables": [t.data() for t in self.tables]}

    def json(self):
        return json.dumps(self.data(), indent=1) + "\n"

    def markdown(self):
        return to_markdown(self.data())


def to_markdown(data):
    """The Markdown of Result.data()."""
    lines = [f"`{data['command']}`, {data['machine']['processors']} "
             f"processors, {data['machine']['model']}, {data['date'][:10]}; "
             "medians [quartiles]", ""]
    for table in data["tables"]:
        words = heading_words(table)
        lines += [table["title"] + ":", "", f"| {' | '.join(words)} |",
                  "|" + " --- |" * len(words)]
        lines += [f"| {' | '.join(row_words(table, row))} |"
                  for row in table["rows"]]
        lines += [""] + [f"- {why}" for why in reasons(table)] + [""]
    return "\n".join(lines + [f"- {note}" for note in data["notes"]]) \
        .rstrip() + "\n"
