# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure what a parallel program loses to processes that do not run when they
should: alone, beside another parallel job, beside noise.

  barrier   Proc. 5.1: compute, meet, and note how long each meeting took. The
            part of slow barriers (longer than the mean of 99 in 100 back to back
            barriers by a standard deviation, and by what a barrier takes longer
            after a computation anyway) beside the model (5.1)
                s(d, P) = d / (d P / (P - 1) + alpha / P)
            of d spins between the barriers of P ranks, whose alpha is fitted by
            least squares. Also the efficiency, and the time by the length of
            the barriers (Fig. 5.4 to 5.6).
  scan      prefix scans, naive and tuned for clusters, beside (5.2)
  sort      radix sort (Fig. 5.9)

Contenders and noises are measured by turns. Jobs of STORM run in a gang partition,
where two jobs take turns; those of stock Slurm run in one where the kernel
schedules them. Beside them run:

  alone     nothing
  gang      another MPI job of the same partition
  hiccups   a process on each node that computes now and then (--hiccup)
  spin      a process on each node that computes all the time
  spin1     the same on the first node only

A rank polls, so that a lab needs a processor for each node.
"""
import contextlib
import functools
import itertools
import os
import statistics
import subprocess

from measure import mpi, target
from measure.barriers import DECADES, Ideal, Noted, fit, slow_part
from measure.result import NotRun
from measure.turns import numbers, take_turns, words, words_of

HELP = "barriers, prefix scan and radix sort beside noise"
SOURCE = "Pakin's thesis, Proc. 5.1, (5.1), (5.2), Fig. 5.4 to 5.6, 5.9, 5.16"
QUICK = {"repeat": 1, "seconds": 0.01, "spins": [0, 1000, 30000],
         "beside": ["alone", "gang", "hiccups"], "numbers": 20000}
BESIDES = ("alone", "gang", "hiccups", "spin", "spin1")
PARTS = ("barrier", "scan", "sort")
FORMS = ("storm", "stock")
#: walks and exchanges for ever, every tenth of a millisecond or so
COMPANION = (10 ** 15, 10 ** 6, 10 ** 11, 4096)
NAIVE = 500     # numbers of a rank
BITS = 16


def options(parser):
    target.options(parser)
    parser.add_argument("--nodes", type=numbers, metavar="LIST",
                        help="nodes of a job (default: 2, 4, ... processors)")
    parser.add_argument("--parts", type=words_of(*PARTS), default=PARTS,
                        metavar="LIST",
                        help=f"of {','.join(PARTS)} (default: all)")
    parser.add_argument("--beside", type=words_of(*BESIDES),
                        default=BESIDES, metavar="LIST",
                        help=f"of {','.join(BESIDES)} (default: all)")
    parser.add_argument("--spins", type=numbers, metavar="LIST",
                        default=[0, 1000, 10000, 100000, 1000000, 5000000],
                        help="computation between two barriers (default: "
                        "0,1000,10000,100000,1000000,5000000)")
    parser.add_argument("--seconds", type=float, default=0.2, metavar="S",
                        help="how long a run takes for each of these "
                        "(default: 0.2)")
    parser.add_argument("--wait", choices=("poll", "yield"), default="poll",
                        help="how a rank waits in a barrier (default: poll)")
    parser.add_argument("--slow", type=float, metavar="US",
                        help="above which time a back to back barrier is slow "
                        "(default: as above)")
    parser.add_argument("--numbers", type=int, default=200000, metavar="N",
                        help="numbers of a rank that are scanned and sorted "
                        "(default: 200000)")
    parser.add_argument("--repeat", type=int, default=5, metavar="N",
                        help="runs of each contender (default: 5)")
    parser.add_argument("--quantum", type=float, default=10, metavar="MS",
                        help="the turns of a lab's gangs (default: 10)")
    parser.add_argument("--hiccup", type=numbers, default=[10000, 1000],
                        metavar="EVERY,FOR",
                        help="microseconds (default: 10000,1000)")
    parser.add_argument("--partitions", type=words, default=["gang", "shared"],
                        metavar="GANG,SHARED",
                        help="the partitions of STORM's and of stock Slurm's "
                        "jobs (default: gang,shared)")


class Bench:
    """Runs of one number of nodes on a target."""

    def __init__(self, args, where, nodes):
        self.args, self.where, self.nodes = args, where, nodes
        self.jobs = mpi.Jobs(where, dict(zip(FORMS, args.partitions)),
                             args.site_options)

    def one(self, form, beside, program, *arguments):
        """The output of a job."""
        with self.noise(form, beside):
            return self.jobs.together([(self.jobs.srun(form, self.nodes),
                                        program, arguments)])[0]

    def turns(self, each):
        """{beside: {form: what each(form, beside) returned}}; noises take
        turns, too, as the machine's speed varies."""
        found = take_turns({
            (beside, form): functools.partial(each, form, beside)
            for beside in self.args.beside for form in FORMS},
            self.args.repeat, warm=int(not self.args.quick))
        return {beside: {form: found[beside, form] for form in FORMS}
                for beside in self.args.beside}

    def noise(self, form, beside):
        if beside == "alone":
            return contextlib.nullcontext()
        if beside == "gang":
            return self.jobs.beside((self.jobs.srun(form, self.nodes), "walk",
                                     COMPANION))
        times = self.args.hiccup if beside == "hiccups" else [1000, 1000]
        return self.hiccups(times, 1 if beside == "spin1" else self.nodes)

    @contextlib.contextmanager
    def hiccups(self, times, nodes):
        lab = self.where.lab
        if not lab:
            raise NotRun("noise needs a lab, whose root it is")
        with contextlib.ExitStack() as stack:
            for name in self.where.names[:nodes]:
                cpu = min(os.sched_getaffinity(lab.pid(name)))
                one = lab.popen(["taskset", "-c", str(cpu),
                                 self.where.inside("hiccup"),
                                 *map(str, times)], host=name, cwd="/")
                stack.callback(one.wait, 10)
                stack.callback(one.kill)
            yield


class Barriers:
    """Proc. 5.1: found[nodes, beside][form] is a list of {spins: Noted}, or a
    NotRun."""

    def __init__(self, args, result, benches):
        self.args, self.result = args, result
        self.found = {(bench.nodes, beside): forms for bench in benches
                      for beside, forms in bench.turns(
                          self.each(bench)).items()}
        self.nodes = [bench.nodes for bench in benches]
        self.ideals = {nodes: self.ideal(nodes) for nodes in self.nodes}

    def each(self, bench):
        def run(form, beside):
            bench.one(form, beside, "barrier", bench.where.inside("noted"),
                      self.args.wait, self.args.seconds, *self.args.spins)
            return {spins: Noted(bench.where.shared, "noted", bench.nodes,
                                 spins) for spins in self.args.spins}
        return run

    def ideal(self, nodes):
        """What both contenders are compared with: back to back barriers and
        undisturbed computation beside the first noise, which is none."""
        forms = self.found[nodes, self.args.beside[0]].values()
        runs = [run for found in forms if not isinstance(found, NotRun)
                for run in found]
        if not runs:
            raise next(iter(forms))
        one = Ideal(runs, self.args.spins, self.args.slow)
        self.result.note(
            f"{nodes} nodes, back to back: a barrier takes {one.wait:.1f} us; "
            f"one above {one.limits[min(self.args.spins)]:.1f} us is slow.")
        return one

    def table(self, title, columns, cells, ratios=(), plot=None):
        """A row for each number of nodes, noise and number of spins. `cells`
        makes those of one contender of its Noted and the Ideal."""
        table = self.result.table(
            title, by=("nodes", "beside", "spins"), columns=columns,
            ratios=ratios, plot={"x": "spins", "facets": ["nodes", "beside"],
                                 "log": "x", **plot} if plot else None)
        for nodes, beside, spins in itertools.product(
                self.nodes, self.args.beside, self.args.spins):
            values = {}
            for form, runs in self.found[nodes, beside].items():
                values |= {form: runs} if isinstance(runs, NotRun) else cells(
                    form, [run[spins] for run in runs], self.ideals[nodes],
                    nodes, beside, spins)
            table.row((nodes, beside, spins), values)

    def fit(self, beside, form):
        """(alpha, R squared) of (5.1) for all nodes; None if there are no
        figures."""
        points = [(spins, nodes,
                   run[spins].slow(self.ideals[nodes].limits[spins]))
                  for nodes in self.nodes
                  for runs in [self.found[nodes, beside][form]]
                  if not isinstance(runs, NotRun)
                  for run in runs for spins in self.args.spins]
        return fit(points) if points else None

    def tell_slow(self):
        fits = {(beside, form): self.fit(beside, form)
                for beside in self.args.beside for form in FORMS}
        table = self.result.table(
            "(5.1) fitted to all nodes and spins", by=("beside", "by"),
            columns={"alpha": "spins", "R squared": ""})
        for names, found in fits.items():
            if found:
                table.row(names, dict(zip(("alpha", "R squared"), found)))

        def cells(form, noted, ideal, nodes, beside, spins):
            limit = ideal.limits[spins]
            return {"between": ideal.computed[spins], "slow above": limit,
                    form: [100 * n.slow(limit) for n in noted],
                    f"{form}, (5.1)": 100 * slow_part(
                        spins, nodes, fits[beside, form][0])}

        models = [f"{form}, (5.1)" for form in FORMS]
        self.table("slow barriers, measured and modelled (Fig. 5.5)",
                   {"between": "us", "slow above": "us",
                    **{name: "%" for pair in zip(FORMS, models)
                       for name in pair}}, cells,
                   plot={"y": [*FORMS, *models], "curves": models,
                         "points": list(FORMS)})

    def tell(self):
        self.tell_slow()
        self.table("a barrier, mean", dict.fromkeys(FORMS, "us"),
                   lambda form, noted, *_: {form: [n.mean() for n in noted]},
                   ratios=["storm / stock"])
        self.table("efficiency (Fig. 5.6)", dict.fromkeys(FORMS, "%"),
                   lambda form, noted, ideal, _, __, spins: {form: [
                       100 * n.efficiency(ideal.wait, ideal.computed[spins])
                       for n in noted]},
                   ratios=["storm / stock"], plot={"y": list(FORMS)})
        for form in FORMS:
            self.table(
                f"a barrier by {form}: its mean, by length (Fig. 5.4)",
                dict.fromkeys(DECADES, "us"),
                lambda one, noted, *_, form=form: {
                    d: [n.by_decade()[d] for n in noted]
                    for d in DECADES if one == form})


def scans(args, result, benches):
    table = result.table(
        "prefix scan by rank (Fig. 5.16)", by=("nodes", "beside", "kind",
                                               "rank"),
        columns={"storm": "ms", "stock": "ms", "(5.2)": "ms"},
        ratios=["storm / stock"])
    for bench in benches:
        for kind, count in ("tuned", args.numbers), ("naive", NAIVE):
            found = bench.turns(lambda form, beside: [
                int(word) / 1e6 for word in bench.one(
                    form, beside, "prefix_scan", kind, count, 5).split()])
            local = local_sums(found[args.beside[0]])
            for beside, rank in itertools.product(args.beside,
                                                  range(bench.nodes)):
                values = {form: runs if isinstance(runs, NotRun) else
                          [run[1 + rank] for run in runs]
                          for form, runs in found[beside].items()}
                if kind == "tuned" and local:
                    values["(5.2)"] = scan_model(bench.nodes, rank, local)
                table.row((bench.nodes, beside, kind, rank), values)


def local_sums(found):
    """The milliseconds of local sums, T_local."""
    values = [run[0] for runs in found.values()
              if not isinstance(runs, NotRun) for run in runs]
    return statistics.median(values) if values else None


def scan_model(ranks, rank, local):
    """(5.2): every round but the last lasts as long as one rank's local sums;
    after the last only the upper half adds."""
    rounds = (ranks - 1).bit_length()
    return (rounds + (2 * rank >= ranks)) * local


def sorts(args, result, benches):
    table = result.table(
        f"radix sort of {args.numbers} numbers a rank, {BITS} bits (Fig. 5.9)",
        by=("nodes", "beside"), columns={"storm": "ms", "stock": "ms"},
        ratios=["storm / stock"])
    for bench in benches:
        found = bench.turns(lambda form, beside: int(bench.one(
            form, beside, "radix_sort", args.numbers, BITS, 1)) / 1e6)
        for beside, forms in found.items():
            table.row((bench.nodes, beside), forms)


def run(args, result):
    nodes = args.nodes or mpi.powers()[1:] or [2]
    with target.open_target(args, result, max(nodes), cpus=1, gang=2,
                            quantum=args.quantum) as where:
        mpi.build(where, "barrier", "prefix_scan", "radix_sort", "walk")
        subprocess.run(["cc", "-std=gnu11", "-O2",
                        mpi.PROGRAMS / "hiccup.c", "-o",
                        where.shared / "hiccup"], check=True)
        benches = [Bench(args, where, n) for n in nodes]
        if "barrier" in args.parts:
            Barriers(args, result, benches).tell()
        if "scan" in args.parts:
            scans(args, result, benches)
        if "sort" in args.parts:
            sorts(args, result, benches)
