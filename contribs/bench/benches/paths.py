# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure what a node costs that STORM cannot reach: a step of all nodes, the
last of which has a firewall, beside stock Slurm, on which it has no effect.

"first" is a step that finds it out, "second" the next one on that host. "other" is
the next one of that user on another host, where nothing is known: it has only what
agents remember, if one of them is above the bad node in the tree. All three fall
back. "sound" is a step without the firewall, after these; it makes the agents forget.

Paths: in, out: UDP from or to the node; tcp: connections to it; login: UDP into the
login host. The aims: first at most 1 s above stock, second at most 1.1 times.
"""
import shutil
import time

import bad_paths
import firewall
from measure import target
from measure.files import make_program, size_text, sizes
from measure.result import NotRun
from measure.turns import pick, take_turns, words_of

HELP = "a node that datagrams or connections do not reach: first and next step"
SOURCE = ""
QUICK = {"nodes": [2], "repeat": 1, "paths": ["in"]}

PATHS = ("in", "out", "tcp", "login")
STEPS = ("first", "second", "other")


def options(parser):
    target.options(parser, site=False)
    target.nodes_option(parser, (8,))
    parser.add_argument("--paths", type=words_of(*PATHS), default=PATHS,
                        metavar="LIST", help=f"of {','.join(PATHS)} "
                        "(default: all)")
    parser.add_argument("--size", type=sizes, default=[1_000_000],
                        metavar="N", help="of the program, which the step "
                        "brings to the nodes (default: 1M)")
    parser.add_argument("--repeat", type=int, default=10, metavar="N",
                        help="runs of each (default: 10)")


class Step:
    """srun --bcast of a job."""

    def __init__(self, where, job, path):
        self.where, self.job = where, job
        self.names = where.nodes_of(job)
        if path == "login":
            self.filter = ("login", *bad_paths.ON_LOGIN[:2])
        else:
            self.filter = (self.names[-1], *bad_paths.ON_A_NODE[path][:2])

    def timed(self, launch):
        n = len(self.names)
        self.where.clear("app", self.job)
        return self.where.timed(
            ["srun", f"--launch={launch}", f"--jobid={self.job}", f"-N{n}",
             f"-n{n}", "--bcast=" + self.where.scratch("app"),
             self.where.inside("app")])

    def said(self):
        return (self.where.shared / "stderr").read_text()

    def forget(self):
        shutil.rmtree(self.where.lab.path("login", bad_paths.KNOWN),
                      ignore_errors=True)

    def fallen(self):
        took = self.timed("storm")
        if "falling back" not in self.said():
            raise NotRun(f"did not fall back: {self.said().strip()}")
        return took

    def storm(self):
        self.forget()
        found = {}
        with firewall.dropped(self.where.lab, *self.filter):
            for name in STEPS:
                if name == "other":
                    self.forget()
                found[name] = self.fallen()
        self.forget()
        found["sound"] = self.timed("storm")
        # agents that have kept a user's finding try it, and may need a moment
        for _ in range(3):
            if "falling back" not in self.said():
                return found
            time.sleep(1)
            self.forget()
            found["sound"] = self.timed("storm")
        raise NotRun(f"still falls back: {self.said().strip()}")

    def stock(self):
        return self.timed("slurm")


def run(args, result):
    table = result.table(
        f"srun --bcast of {size_text(args.size[0])}, a node cannot be reached",
        by=("nodes", "path"), columns=dict.fromkeys(
            ("stock", *STEPS, "sound"), "ms"),
        ratios=["second / stock"],
        plot={"x": "path", "facets": ["nodes"],
              "y": ["stock", *STEPS, "sound"],
              "points": ["stock", *STEPS, "sound"]})
    if not shutil.which("nft"):
        raise NotRun("install nftables, which drops the packets")
    with target.open_target(args, result, max(args.nodes)) as where:
        make_program(where.shared / "app", args.size[0])
        for nodes in args.nodes:
            with where.allocation(nodes) as job:
                for path in args.paths:
                    step = Step(where, job, path)
                    found = take_turns({"storm": step.storm,
                                        "stock": step.stock}, args.repeat)
                    table.row((nodes, path), {
                        "stock": found["stock"],
                        **{name: pick(found["storm"], name)
                           for name in (*STEPS, "sound")}})
                where.clear("app", job)
