# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""One HTML page of several results: no other file, light and dark, readable on
a phone."""
import html
import re

from . import beside
from .result import NotRun, cell_text, number, reasons, to_markdown

STYLE = """
:root { --ink: #1f2933; --soft: #5b6773; --page: #ffffff; --line: #d5dbe1;
  --band: #f3f5f7; --mark: #0a6aa1; }
@media (prefers-color-scheme: dark) { :root { --ink: #d9dee3; --soft: #98a3ae;
  --page: #15191d; --line: #353d45; --band: #1d2329; --mark: #62b5ea; } }
* { box-sizing: border-box; }
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 74rem; padding: 1rem; color: var(--ink);
  background: var(--page); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.25rem; margin: 3rem 0 .5rem; padding-top: .6rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.8rem 0 .4rem; }
a { color: var(--mark); }
p, ul { max-width: 46rem; margin: .4rem 0; }
ul { padding-left: 1.2rem; }
code { font: .85em ui-monospace, monospace; overflow-wrap: anywhere; }
.soft, .spread { color: var(--soft); }
.soft { font-size: .9rem; }
.spread { font-size: .8em; white-space: nowrap; }
.wide { overflow-x: auto; margin: .5rem 0 1rem; }
table { border-collapse: collapse; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .7rem; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--line); }
thead th { vertical-align: bottom; background: var(--band); }
th small { display: block; font-weight: normal; color: var(--soft); }
tbody th { font-weight: normal; text-align: left; white-space: nowrap; }
.first { position: sticky; left: 0; background: var(--page); }
thead .first { background: var(--band); }
.prose th, .prose td { text-align: left; }
.prose td { min-width: 9rem; }
@media (max-width: 40rem) {
  .prose thead { display: none; }
  .prose tr { display: block; padding: .6rem 0;
    border-bottom: 1px solid var(--line); }
  .prose th, .prose td { display: block; border: 0; padding: 0; }
  .prose th { font-weight: bold; }
  .prose td[data-of]::before { content: attr(data-of) ": ";
    color: var(--soft); }
  .prose .how { display: inline; }
}
.not { color: var(--soft); font-style: italic; }
.how { font-size: .8rem; color: var(--soft); white-space: nowrap; }
figure { margin: .5rem 0 1.5rem; overflow-x: auto; }
figure svg { display: block; height: auto; width: 100%; min-width: 22rem; }
figure.two svg { min-width: 42rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0;
  list-style: none; max-width: none; }
"""


def text(value):
    return html.escape(str(value), quote=False)


def cell(one):
    """A cell's inside: the median, its quartiles smaller."""
    if "median" not in one or one["n"] < 2:
        return text(cell_text(one))
    return (f"{number(one['median'])} <span class=spread>"
            f"{number(one['q1'])}\N{EN DASH}{number(one['q3'])}</span>")


def heading(name, unit=""):
    return text(name) + (f"<small>{text(unit)}</small>" if unit else "")


def grid(head, rows, kind=""):
    """A table of HTML texts; `rows` are [(names, cells)]."""
    names = len(rows[0][0]) if rows else 1
    lines = [f"<div class=wide><table{kind}><thead><tr>"]
    lines += [f"<th scope=col{' class=first' * (i == 0)}"
              f"{' style=text-align:left' * (i < names)}>{one}</th>"
              for i, one in enumerate(head)]
    lines.append("</tr></thead><tbody>")
    for by, cells in rows:
        lines.append("<tr>" + "".join(
            f"<th scope=row{' class=first' * (i == 0)}>{one}</th>"
            for i, one in enumerate(by)) + "".join(cells) + "</tr>")
    return "\n".join([*lines, "</tbody></table></div>"])


def table(one):
    """A table of a result."""
    used = [name for name in one["columns"]
            if any(name in row["cells"] for row in one["rows"])]
    head = [text(n) for n in one["by"]] + [
        heading(n, one["columns"][n]) for n in used]
    rows = []
    for row in one["rows"]:
        found = [row["cells"].get(n) for n in used]
        rows.append(([text(row["by"][n]) for n in one["by"]], [
            "<td></td>" if c is None else
            f"<td{' class=not' * ('not_run' in c)}>{cell(c)}</td>"
            for c in found]))
    return grid(head, rows) + items(reasons(one))


def items(texts):
    return "<ul class=soft>" + "".join(
        f"<li>{text(t)}</li>" for t in texts) + "</ul>" if texts else ""


def picture(data, one, prefix):
    """The SVG of a table, its ids unlike those of any other; "" without."""
    if not one["plot"]:
        return ""
    from .plot import draw
    try:
        svg = draw({**data, "tables": [{**one, "title": ""}], "command": ""})
    except NotRun:
        return ""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<style>.*?</style>|<metadata>.*?</metadata>", "", svg,
                 flags=re.S)
    svg = re.sub(r'\b(id="|xlink:href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    wide = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
    svg = re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*"', r"\1", svg)
    svg = re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*"', r"\1", svg, count=1)
    svg = svg.replace("<svg", f'<svg role="img" aria-label='
                      f'"{html.escape(one["title"])}"', 1)
    two = wide > 500
    return (f'<figure class="{"two" if two else "one"}" '
            f'style="max-width:{wide * 1.25:.0f}px">{svg}</figure>')


def machine_words(data):
    m = data["machine"]
    return (f"{m['processors']} processors, {m['model']}, "
            f"{m['memory_bytes'] / 2 ** 30:.0f} GiB, Linux {m['kernel']}, "
            f"load {m['load']}")


def versions_words(data):
    return ", ".join(f"{k} {v.removeprefix('slurm ')}"
                     for k, v in data["versions"].items())


def about(data):
    return f"{data['date'][:16].replace('T', ' ')} UTC; {machine_words(data)}"


def section(name, data):
    lines = [f'<h2 id="{name}">{text(name)}</h2>']
    if data["source"]:
        lines.append(f"<p>After {text(data['source'])}.</p>")
    lines += [f"<p class=soft><code>{text(data['command'])}</code><br>"
              f"{text(about(data))}; {text(versions_words(data))}</p>",
              items(data["notes"])]
    for i, one in enumerate(data["tables"]):
        if one["rows"]:
            lines += [f"<h3>{text(one['title'])}</h3>",
                      picture(data, one, f"{name}-{i}"), table(one)]
    return "\n".join(lines)


def comparison(results):
    rows = []
    for source, what, printed, how, found, our_how in \
            beside.side_by_side(results):
        ours = f"<span class=not>{text(found)}</span>" if not our_how else (
            f"{text(found)} <div class=how>{our_how}</div>")
        rows.append(([text(source)], [
            f"<td>{text(what)}</td>",
            f"<td data-of=paper>{text(printed)} <div class=how>{how}</div></td>",
            f"<td data-of=here>{ours}</td>"]))
    return grid(["source", "what", "paper", "here"], rows, " class=prose")


def to_html(results, absent):
    """`results`: {name: Result.data()}; `absent`: {name: why not}."""
    some = next(iter(results.values()), None)
    lines = ["<!doctype html>", "<html lang=en>", "<meta charset=utf-8>",
             "<meta name=viewport content='width=device-width, "
             "initial-scale=1'>",
             "<meta name=color-scheme content='light dark'>",
             "<title>STORM: measured and modelled</title>",
             f"<style>{STYLE}</style>", "<h1>STORM: measured and modelled</h1>"]
    if some:
        lines.append(f"<p>{text(about(some))}.<br>"
                     f"{text(versions_words(some))}.</p>")
    lines.append("<p class=soft>Medians, quartiles beside them. Contenders ran "
                 "by turns in one run. All hosts of a lab share this machine's "
                 "processors: figures of many nodes are not those of a "
                 "cluster.</p>")
    lines.append("<nav><ul><li><a href='#papers'>the papers</a></li>" + "".join(
        f'<li><a href="#{n}">{n}</a></li>' for n in results) + "</ul></nav>")
    lines += ["<h2 id=papers>The papers' figures, and ours</h2>",
              comparison(results)]
    if absent:
        lines += ["<h2 id=absent>Not run</h2>",
                  items([f"{n}: {why}" for n, why in absent.items()])]
    return "\n".join(lines + [section(n, d) for n, d in results.items()]) + "\n"


def to_page_markdown(results, absent):
    lines = ["# STORM: measured and modelled", ""]
    some = next(iter(results.values()), None)
    if some:
        lines += [f"{about(some)}; {versions_words(some)}.", ""]
    lines += ["## The papers' figures, and ours", "",
              "| source | what | paper | | here | |", "|" + " --- |" * 6]
    lines += [f"| {' | '.join(row)} |" for row in beside.side_by_side(results)]
    if absent:
        lines += ["", "## Not run", ""] + [
            f"- {n}: {why}" for n, why in absent.items()]
    for name, data in results.items():
        source = [f"After {data['source']}.", ""] if data["source"] else []
        lines += ["", f"## {name}", "", *source, to_markdown(data).rstrip()]
    return "\n".join(lines) + "\n"
