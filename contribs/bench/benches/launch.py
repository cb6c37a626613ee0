# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how long the launch of a program takes that is sent to the nodes
first, by STORM and by stock Slurm, on the same lab in the same run.

In an allocation `srun --bcast` of a program that ends at once alternates with
--launch=storm and --launch=slurm, and with each load. "send" is the time from
the opening of the domain until all nodes have the file, by STORM's timeline;
"execute" is the rest. Links are limited, so that the network and not this
machine's processors determines the speed.

Loads: cpu, a loop on each processor (of a lab: of this machine); network, each
node sends messages to the next one, as fast as its link allows or at --talk a
second. Cplant's phases in terms of STORM's timeline: Allocate nodes is step
create; Initial message and Form group are open; Read file and Fanout are send
and verify; arguments, environment and map go with the launch message, and
with the start of the tasks are exec; Log time is run and exit.
"""
import contextlib
import time

from measure import target
from measure.background import LOADS, build_option, loaded
from measure.files import make_program, size_text, sizes
from measure.links import set_links
from measure.result import NotRun
from measure.storm_step import cast_ms, run_storm
from measure.turns import pick, take_turns, words_of

HELP = "srun --bcast of a program: send and execute"
SOURCE = "TC'06 Fig. 2; Cplant, SC 2001, Table 1"
QUICK = {"nodes": [2], "sizes": [1_000_000], "repeat": 1}

PHASES = ("step_create", "open", "send", "verify", "exec", "run", "exit")
#: for a load to be one, in seconds
BEGUN = 0.3


def options(parser):
    target.options(parser)
    target.nodes_option(parser)
    parser.add_argument("--sizes", default=[4_000_000, 8_000_000, 12_000_000],
                        type=sizes, metavar="LIST",
                        help="sizes of the program (default: 4M,8M,12M)")
    parser.add_argument("--load", default=["idle"], metavar="LIST",
                        type=words_of(*LOADS),
                        help=f"of {','.join(LOADS)} (default: idle)")
    parser.add_argument("--talk", type=int, default=0, metavar="N",
                        help="messages of 64 KiB that a node sends in a second "
                        "(default: 0, as many as its link takes)")
    parser.add_argument("--repeat", type=int, default=5, metavar="N",
                        help="runs of each contender (default: 5)")
    parser.add_argument("--rate", default="1gbit",
                        help="limit of every link of a lab, or off (default: "
                        "1gbit)")
    parser.add_argument("--loss", type=float, default=0, metavar="PERCENT",
                        help="what the nodes of a lab lose (default: 0)")
    parser.add_argument("--no-multicast", action="store_true",
                        help="STORM sends along a tree (Multicast=no)")
    build_option(parser)


class Launch:
    """srun --bcast of a file of `shared` in a job, under a load."""

    def __init__(self, where, args, job, nodes):
        self.where, self.args, self.job = where, args, job
        self.names = where.nodes_of(job)
        self.argv = [f"--jobid={job}", f"-N{nodes}", f"-n{nodes}",
                     "--bcast=" + where.scratch("app"), where.inside("app")]

    @contextlib.contextmanager
    def under(self, load):
        self.where.clear("app", self.job)
        with loaded(self.where, self.args, self.job, self.names, load):
            if load != "idle":
                time.sleep(BEGUN)
            yield

    def storm(self, load):
        with self.under(load):
            whole, steps = run_storm(
                self.where, ["srun", "--launch=storm", *self.argv],
                not self.args.no_multicast)
        send = cast_ms(steps[0])
        phases = steps[0]["phases"]
        return {"whole": whole, "send": send, "execute": whole - send,
                "phases": {name: phases[name]["ms"] for name in PHASES
                           if phases[name]}}

    def stock(self, load):
        with self.under(load):
            return {"whole": self.where.timed(["srun", "--launch=slurm",
                                               *self.argv])}

    def contenders(self):
        return {(name, load): lambda run=run, load=load: run(load)
                for load in self.args.load
                for name, run in (("storm", self.storm),
                                  ("stock", self.stock))}


class Tables:
    def __init__(self, args, result):
        self.args = args
        links = "" if args.site else \
            f", links {args.rate}, loss {args.loss:g} %"
        self.times = result.table(
            "srun --bcast" + links,
            by=("size", "nodes", "load"), ratios=["storm / stock"],
            columns=dict.fromkeys(("storm", "stock", "send", "execute"), "ms"),
            plot={"x": "nodes", "log": "x", "facets": ["size", "load"],
                  "y": ["storm", "stock", "send", "execute"]})
        others = [load for load in args.load if load != "idle"]
        self.loads = result.table(
            "The same by load", by=("size", "nodes", "launch"),
            columns=dict.fromkeys(args.load, "ms"),
            ratios=[f"{load} / idle" for load in others]) \
            if others and "idle" in args.load else None
        self.phases = result.table(
            "Phases of STORM's launches (Cplant, Table 1)",
            by=("size", "nodes", "load"),
            columns=dict.fromkeys(PHASES, "ms"))

    def add(self, size, nodes, found):
        for load in self.args.load:
            storm = found["storm", load]
            self.times.row((size, nodes, load), {
                "storm": pick(storm, "whole"),
                "stock": pick(found["stock", load], "whole"),
                "send": pick(storm, "send"),
                "execute": pick(storm, "execute")})
        if self.loads:
            for name in ("storm", "stock"):
                self.loads.row((size, nodes, name), {
                    load: pick(found[name, load], "whole")
                    for load in self.args.load})
        for load in self.args.load:
            storm = found["storm", load]
            phases = pick(storm, "phases")
            self.phases.row((size, nodes, load), {
                name: pick(phases, name) for name in PHASES
                if isinstance(phases, NotRun)
                or all(name in one for one in phases)})


def run(args, result):
    tables = Tables(args, result)
    conf = {"Multicast": "no"} if args.no_multicast else {}
    with target.open_target(args, result, max(args.nodes),
                            storm_conf=conf) as where:
        if not args.site:
            set_links(where, args.rate, args.loss)
        for size in args.sizes:
            make_program(where.shared / "app", size)
            for nodes in args.nodes:
                with where.allocation(nodes) as job:
                    one = Launch(where, args, job, nodes)
                    found = take_turns(one.contenders(), args.repeat)
                    where.clear("app", job)
                tables.add(size_text(size), nodes, found)
