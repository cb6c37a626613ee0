# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure what a flood of datagrams or connections without a key costs a node
whose jobs take turns: how late strobes are (median and 99 of 100), the CPU time
of the jobs, and the agent's. The node has a core, and who floods it another
one.

Quiet and flooded parts come by turns. The aims: late p99 below 2 times, jobs
above 0.9 times.
"""
import os

import flood
from measure import target
from measure.turns import words_of

HELP = "what a flood without a key costs jobs and strobes"
SOURCE = ""
QUICK = {"runs": 1, "strobes": 100, "kinds": ["garbage"]}
#: (name, field of a part, unit, scale)
WHAT = (("late, half", "late50", "us", 1e6), ("late, p99", "late99", "us", 1e6),
        ("jobs' CPU", "jobs", "%", 100), ("agent's CPU", "agent", "%", 100))


def options(parser):
    target.options(parser, site=False)
    parser.add_argument("--runs", type=int, default=7, metavar="N",
                        help="pairs of parts for each kind (default: 7)")
    parser.add_argument("--strobes", type=int, default=250, metavar="N",
                        help="in each part (default: 250)")
    parser.add_argument("--kinds", type=words_of(*flood.KINDS),
                        default=flood.KINDS,
                        metavar="LIST",
                        help=f"of {','.join(flood.KINDS)} (default: all)")


def one(args, table, lab, kind):
    pairs = lab.compare(kind, args.runs, args.strobes)
    for name, field, unit, scale in WHAT:
        quiet, flooded = ([getattr(pair[i], field) * scale for pair in pairs]
                          for i in (0, 1))
        table.row((kind, f"{name}, {unit}"), {
            "quiet": quiet, "flooded": flooded,
            "rate": [flooded.rate for _, flooded in pairs]})


def run(args, result):
    table = result.table(
        "a flood without a key", by=("kind", "what"),
        columns={"quiet": "", "flooded": "", "rate": "packets/s"},
        ratios=["flooded / quiet"],
        plot={"x": "kind", "y": ["flooded / quiet"], "log": "y",
              "points": ["flooded / quiet"]})
    lab = flood.Flooded(f"floodbench{os.getpid()}")
    try:
        lab.begin_jobs()
        for kind in args.kinds:
            one(args, table, lab, kind)
    finally:
        lab.down()
