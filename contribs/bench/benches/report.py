# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Run all other subcommands, or read their results of earlier runs, and write
one page: report.html, which needs no other file, and report.md.

Each paper's figure is beside ours, with `measured` or `modelled`. What was not
run is there with its reason.
"""
import json
import pathlib
import signal
import subprocess
import sys

from measure import beside
from measure.page import to_html, to_page_markdown
from measure.plot import require
from measure.result import NotRun
from measure.turns import words

HELP = "all of them on one page, beside the papers' figures"
SOURCE = ""
QUICK = {"limit": 120}
#: what the papers' figures need besides the defaults
MORE = {"launch": ["--load", "idle,cpu,network"],
        "gang": ["--quantum", "0.3,2,10"]}
NOT_RUN = 77  # a subcommand's exit code; its result says why
HERE = pathlib.Path(__file__).resolve().parent


def options(parser):
    parser.add_argument("--from", dest="results", type=pathlib.Path,
                        metavar="DIR", help="run nothing: read the NAME.json "
                        "of earlier runs in DIR")
    parser.add_argument("--to", type=pathlib.Path, metavar="DIR",
                        default=pathlib.Path("storm_report"),
                        help="write report.html, report.md and each NAME.json "
                        "to DIR (default: storm_report)")
    parser.add_argument("--only", type=words, metavar="LIST",
                        help="these subcommands (default: all)")
    parser.add_argument("--limit", type=int, default=7200, metavar="SECONDS",
                        help="for each subcommand (default: 7200; with "
                        "--quick 120)")


def names(only):
    """All other subcommands, or `only`."""
    found = sorted(p.stem for p in HERE.glob("[a-z]*.py")
                   if p.stem != "report")
    for name in only or ():
        if name not in found:
            raise NotRun(f"--only {name}: give names of {', '.join(found)}")
    return only or found


def execute(name, args, path):
    """Run a subcommand, which writes `path`. It removes its lab when it is
    ended."""
    argv = [sys.argv[0], name, "--json", str(path)]
    if args.quick:
        argv.append("--quick")
    else:
        argv += MORE.get(name, [])
    if args.settle is not None:
        argv += ["--settle", str(args.settle)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as child:
        try:
            _, said = child.communicate(timeout=args.limit)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGTERM)
            child.communicate()
            raise NotRun(f"it took more than {args.limit} s") from None
        except BaseException:
            child.send_signal(signal.SIGTERM)
            raise
    if child.returncode not in (0, NOT_RUN):
        last = (said.strip().splitlines() or [f"exit code {child.returncode}"])
        raise NotRun(last[-1].removeprefix("storm_bench: "))


def read(path):
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise NotRun(f"there is no {path}") from None
    except ValueError as e:
        raise NotRun(f"{path} is no result: {e}") from None


def obtain(args, name):
    """The Result.data() of a subcommand."""
    if args.results:
        return read(args.results / f"{name}.json")
    path = args.to / f"{name}.json"
    path.unlink(missing_ok=True)
    execute(name, args, path)
    return read(path)


def measured(data):
    """Whether any cell has figures or texts."""
    return any(row["cells"] for t in data["tables"] for row in t["rows"])


def run(args, result):
    require()
    args.to.mkdir(parents=True, exist_ok=True)
    table = result.table("subcommands", by=("name",),
                         columns={"tables": "", "result": ""})
    results, absent = {}, {}
    for name in names(args.only):
        try:
            data = obtain(args, name)
            if not measured(data):
                raise NotRun("; ".join(data["notes"]) or "it has no figures")
            results[name] = data
            table.row((name,), {"tables": len(data["tables"])})
        except NotRun as e:
            absent[name] = str(e)
            table.row((name,), {"result": e})
    sides = result.table("the papers' figures, and ours", by=("source", "what"),
                         columns={"paper": "", "by": "", "here": "", "how": ""})
    for source, what, *cells in beside.side_by_side(results):
        sides.row((source, what), dict(zip(("paper", "by", "here", "how"),
                                           cells)))
    (args.to / "report.html").write_text(to_html(results, absent))
    (args.to / "report.md").write_text(to_page_markdown(results, absent))
    result.note(f"{args.to}/report.html, {args.to}/report.md")
