# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The papers' figures, and ours from results, side by side."""
from . import paper
from .result import cell_text


def fits(row, where):
    """Does the row have those names? A name that its table lacks fits: a
    table without `load` is of an idle machine."""
    return all(row["by"].get(name, "idle" if name == "load" else value) == value
               for name, value in where.items() if value != paper.MOST)


def row_of(table, where):
    """The row that `where` chooses, or None."""
    rows = [row for row in table["rows"] if fits(row, where)]
    for name in (n for n, v in where.items() if v == paper.MOST):
        rows = [r for r in rows if r["by"].get(name) == rows[-1]["by"].get(name)]
    return rows[-1] if rows else None


def words(row, columns, headings):
    texts = []
    for name in columns:
        cell = row["cells"].get(name)
        if cell is None:
            continue
        unit = f" {headings[name]}" if headings[name] else ""
        texts.append((f"{name} " if len(columns) > 1 else "")
                     + cell_text(cell) + unit * ("median" in cell
                                                 or "text" in cell))
    where = ", ".join(f"{v}" if isinstance(v, str) else f"{k} {v}"
                      for k, v in row["by"].items())
    return "; ".join(texts) + f" ({where})"


def ours(one, results):
    """A text, or None: not measured."""
    if one.bench not in results:
        return None
    for table in results[one.bench]["tables"]:
        if set(one.columns) <= set(table["columns"]) \
                and set(one.where) - {"load"} <= set(table["by"]) \
                and one.title in table["title"]:
            row = row_of(table, one.where)
            if row and any(name in row["cells"] for name in one.columns):
                return words(row, one.columns, table["columns"])
    return None


def side_by_side(results):
    """[(source, what, the paper's, how, ours, how)]"""
    return [(one.source, one.what, one.printed, one.how,
             *((found, one.ours) if (found := ours(one, results))
               else (f"not run (storm_bench {one.bench}{one.options})", "")))
            for one in paper.ALL]
