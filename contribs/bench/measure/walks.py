# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The microbenchmark of the Quadrics paper: jobs that walk through an array and
exchange all with all now and then (testsuite/programs/walk.c), one thing varied
at a time.

A slowdown is the jobs' mean run time, divided by their number on a processor
and by that of one process with one number, alone and without exchanges. Jobs
by STORM take turns; those of stock Slurm are scheduled by the kernel."""
import contextlib
import functools
import statistics
import typing

from . import mpi, target, too_large
from .result import NotRun
from .turns import take_turns

SOURCE = "the Quadrics paper (ICPP 2001), Fig. 3 to 8 and section 4.1"
FORMS = ("storm", "stock")
MB = 1 << 20


class Walk(typing.NamedTuple):
    """What a job does, and what it does it on; the paper's defaults, with
    turns and run times a hundredth of its."""
    memory: int = MB
    exchanges: int = 1024
    message: int = 4096
    jobs: int = 2
    quantum: float = 10
    nodes: int = 0          # 0: those of the lab

    def arguments(self, cycles):
        return cycles, self.memory, self.exchanges, self.message


class Sweep(typing.NamedTuple):
    """Values of one field of a Walk; `jobs` on a processor for each."""
    title: str
    field: str
    unit: str
    values: list
    jobs: list
    walk: Walk


SWEEPS = {
    "memory": Sweep(
        "memory, on one node (Fig. 3)", "memory", "bytes",
        [1, 65536, MB, 16 * MB], [1, 2, 4], Walk(nodes=1)),
    "quantum": Sweep(
        "the quantum (Fig. 4)", "quantum", "ms",
        [0.5, 2, 10, 50], [2], Walk()),
    "granularity": Sweep(
        "exchanges of a byte (Fig. 5)", "exchanges", "",
        [0, 256, 1024, 4096], [1, 2], Walk(message=1)),
    "message": Sweep(
        "bytes of an exchange (Fig. 6)", "message", "bytes",
        [1, 1024, 32768, 131072], [1, 2], Walk()),
    "jobs": Sweep(
        "jobs on a processor (Fig. 7)", "quantum", "ms",
        [10], [1, 2, 4, 8], Walk()),
    "nodes": Sweep(
        "nodes (Fig. 8)", "nodes", "", [], [1, 2, 4], Walk()),
}
NAMES = (*SWEEPS, "swap")
#: what --quick does
QUICK = {"memory": [65536], "quantum": [10], "granularity": [16],
         "message": [1024], "jobs": [10], "nodes": []}


class Bench:
    """Walks on labs; each quantum has a lab of its own."""

    def __init__(self, args, result, where, nodes):
        self.args, self.result, self.where = args, result, where
        self.nodes = nodes
        mpi.build(where, "walk")
        self.jobs = mpi.Jobs(where, {"storm": "gang", "stock": "shared"})

    def seconds(self, form, walk):
        """The run time of each of the walk's jobs."""
        nodes = walk.nodes or self.nodes
        # All jobs on the same nodes: that they share is what is measured.
        same = ["-w", ",".join(self.where.names[:nodes])]
        line = (self.jobs.srun(form, nodes, *same), "walk",
                walk.arguments(self.args.cycles))
        return [(end - begin) / 1e9 for text in
                self.jobs.together([line] * walk.jobs)
                for begin, end in [map(int, text.split())]]

    def one(self, form, walk):
        """(mean run time, how far the ends are apart in percent)"""
        times = self.seconds(form, walk)
        return (statistics.fmean(times),
                100 * (max(times) - min(times)) / max(times))

    def contend(self, walk):
        """{column: values}; what a run is compared with is measured by turns,
        too."""
        base = Walk(1, 0, 1, 1, nodes=1)
        found = take_turns({
            "base": lambda: self.one("storm", base),
            **{form: functools.partial(self.one, form, walk)
               for form in FORMS}}, self.args.runs,
            warm=int(not self.args.quick))
        bases, cells = found.pop("base"), {}
        for form, runs in found.items():
            missing = next((v for v in (bases, runs)
                            if isinstance(v, NotRun)), None)
            cells[form] = missing or [
                seconds / walk.jobs / alone
                for (seconds, _), (alone, _) in zip(runs, bases)]
            cells[f"{form}, ends apart"] = missing or [a for _, a in runs]
        return cells


@contextlib.contextmanager
def open_bench(args, result, nodes, jobs, quantum):
    with target.open_target(args, result, nodes, cpus=1, gang=jobs,
                            quantum=quantum) as where:
        yield Bench(args, result, where, nodes)


def sweep_table(result, sweep):
    return result.table(
        f"walk: slowdown by {sweep.title}", by=(sweep.field, "MPL"),
        columns={"storm": "", "stock": "", "storm, ends apart": "%",
                 "stock, ends apart": "%"}, ratios=["storm / stock"],
        plot={"x": sweep.field, "y": ["storm", "stock"], "log": "x",
              "facets": ["MPL"]})


def run_sweep(args, result, nodes, name):
    sweep = SWEEPS[name]
    values = QUICK[name] if args.quick else sweep.values
    if name == "nodes":
        values = [n for n in (1, 2, 4, 8, 16) if n <= nodes]
    jobs = [1, 2] if args.quick else sweep.jobs
    table = sweep_table(result, sweep)
    apart = values if sweep.field == "quantum" else [sweep.walk.quantum]
    for quantum in apart:
        with open_bench(args, result, nodes, max(jobs), quantum) as bench:
            for value in [quantum] if sweep.field == "quantum" else values:
                for count in jobs:
                    walk = sweep.walk._replace(**{
                        "jobs": count, **({"exchanges": 16} if args.quick
                                          else {}), sweep.field: value})
                    table.row((value, count), bench.contend(walk))


def run(args, result):
    """The sweeps of args.walk."""
    for name in NAMES if args.walk == ["all"] else args.walk:
        if name not in NAMES:
            raise NotRun(f"--walk {name}: choose of {', '.join(NAMES)}, or all")
        try:
            if name == "swap":
                too_large.run(args, result, open_bench)
            else:
                run_sweep(args, result, max(args.nodes), name)
        except NotRun as e:
            result.not_run(f"--walk {name}", str(e))
