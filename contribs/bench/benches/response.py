# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how long a user waits for an interactive job on a full cluster.

Each node of a lab has one core, on which a job computes. The figure is the time
from the start of srun to the first instruction of its last task, for a job of one
node and of all nodes:

  idle    on an empty cluster: the time that srun itself takes
  gang    sched/storm, jobs take turns
  stock   Slurm's gang scheduling with turns of 5 s, its shortest. srun gets its
          nodes at once. As the job is suspended, srun cannot create a step and
          retries only after a minute.
  alone   OverSubscribe=NO: srun waits until the earlier jobs end, here after
          --length seconds; only their time limit bounds the wait
"""
import os
import time

from harness import Cluster, until
from measure import target
from measure.turns import numbers, words_of

HELP = "how long an interactive job waits on a full cluster"
SOURCE = ""
CASES = ["idle", "gang", "stock", "alone"]
QUICK = {"nodes": 1, "runs": 1, "slow_runs": 1, "length": 1,
         "cases": ["idle", "gang", "alone"]}
SLICE = 5


class Full(Cluster):
    """A lab for one way of sharing, and the jobs that fill it."""

    def __init__(self, nodes, partition, **options):
        super().__init__(f"response{os.getpid()}", nodes, cpus=1,
                         standing=False, **options)
        self.partition = partition

    def fill(self, verbs):
        for node in self.names:
            self.start(f"srun -p{self.partition} -w{node} --mem=100 "
                       f"{{do}} {verbs}")
        until(lambda: len(self.root("squeue -h -t R").splitlines()) ==
              self.nodes, "the jobs to run")

    def empty(self):
        self.end_all()
        self.root(f"scancel -p {self.partition}")
        until(lambda: not self.root("squeue -h"), "the jobs' end")
        self.lab.wait_idle()

    def response(self, nodes, launch=""):
        begun = time.monotonic_ns()
        done = self.run(f"srun -p{self.partition} -N{nodes} --mem=100 {launch} "
                        "{do} began", timeout=300)
        assert done.code == 0, str(done)
        until(lambda: len(self.root("squeue -h -t R,CG").splitlines()) <=
              self.nodes, "its end")
        return (max(map(int, done.out.split())) - begun) / 1e6


def options(parser):
    target.options(parser, site=False)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--sizes", type=numbers, metavar="LIST",
                        help="nodes of the interactive job (default: 1 and "
                        "all)")
    parser.add_argument("--runs", type=int, default=9, metavar="N",
                        help="runs of idle and gang (default: 9)")
    parser.add_argument("--slow-runs", type=int, default=3, metavar="N",
                        help="runs of stock and alone (default: 3)")
    parser.add_argument("--quantum", type=float, default=20,
                        help="quantum of gang in milliseconds (default: 20)")
    parser.add_argument("--launch", default="storm",
                        choices=("storm", "slurm"),
                        help="launcher of the job in idle and gang: STORM or "
                        "Slurm (default: storm)")
    parser.add_argument("--length", type=float, default=5,
                        help="seconds of the earlier jobs in alone "
                        "(default: 5)")
    parser.add_argument("--cases", type=words_of(*CASES), default=CASES,
                        metavar="LIST",
                        help="of idle,gang,stock,alone (default: all)")


def measure(args, table, lab, case, runs, launch="", fill=None):
    for nodes in args.sizes or sorted({1, lab.nodes}):
        values = []
        for _ in range(runs):
            if fill:
                fill()
            # Start at a random moment of a turn.
            time.sleep(0.001 * (len(values) * 37 % 100))
            values.append(lab.response(nodes, launch))
            if fill:
                lab.empty()
        table.row((case, nodes), {"wait": values})


def by_storm(args, table):
    lab = Full(args.nodes, "gang", gang=2, quantum=args.quantum)
    try:
        launch = f"--launch={args.launch}"
        if "idle" in args.cases:
            measure(args, table, lab, "idle", args.runs, launch)
        if "gang" in args.cases:
            lab.fill("spin 100000000")
            measure(args, table, lab, "gang", args.runs, launch)
    finally:
        lab.end_all()
        lab.lab.down()


def by_stock(args, table):
    names = f"n[1-{args.nodes}]" if args.nodes > 1 else "n1"
    lab = Full(args.nodes, "turns", conf=[
        "PreemptMode=GANG", f"SchedulerTimeSlice={SLICE}",
        "SelectTypeParameters=CR_CPU_Memory",
        f"PartitionName=turns Nodes={names} OverSubscribe=FORCE:2 "
        "DefMemPerCPU=400 State=UP",
        f"PartitionName=alone Nodes={names} OverSubscribe=NO State=UP"])
    try:
        if "stock" in args.cases:
            lab.fill("sleep 100000000")
            measure(args, table, lab, "stock", args.slow_runs,
                    "--launch=slurm")
            lab.empty()
        if "alone" in args.cases:
            lab.partition = "alone"
            measure(args, table, lab, "alone", args.slow_runs,
                    "--launch=slurm",
                    lambda: lab.fill(f"sleep {args.length}"))
    finally:
        lab.end_all()
        lab.lab.down()


def run(args, result):
    table = result.table(
        f"an interactive job on {args.nodes} full nodes", by=("case", "nodes"),
        columns={"wait": "ms"},
        plot={"x": "case", "y": ["wait"], "log": "y", "points": ["wait"]})
    if {"idle", "gang"} & set(args.cases):
        by_storm(args, table)
    if {"stock", "alone"} & set(args.cases):
        by_stock(args, table)
