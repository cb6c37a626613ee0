# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Two walks (testsuite/programs/walk.c) whose arrays together are larger than the
memory of their node."""
import concurrent.futures
import statistics

from .mpi import Jobs
from .result import NotRun
from .small_memory import small_group, swap_file
from .turns import take_turns

FORMS = ("storm", "stock")
MB = 1 << 20
#: a lab's RealMemory
NODE = 1000


def times(texts):
    return [[int(word) / 1e9 for word in text.split()] for text in texts]


class Swapping:
    """Nobody says how much memory a job needs, so the node swaps. A hundredth
    of the cycles, and turns of 2 ms: a cycle can cost the disk's time."""

    def __init__(self, args, bench, memory):
        self.bench, self.memory = bench, memory
        self.cycles = max(args.cycles // 100, 1000)

    def seconds(self, form, array, jobs):
        """The mean run time of so many jobs in one small memory."""
        line = (self.bench.jobs.srun(form, 1), "walk",
                (self.cycles, array, 0, 1))
        with small_group(self.memory) as put, \
                self.bench.jobs.ready([line] * jobs) as (go, runs):
            put(self.bench.where.lab.pids(self.bench.where.names[0], "walk"))
            go.touch()
            return statistics.fmean(end - begin for begin, end in times(
                Jobs.output(run.result()) for run in runs))

    def slowdown(self, form, array):
        alone = self.seconds(form, array, 1)
        return self.seconds(form, array, 2) / 2 / alone

    def run(self, result, repeat):
        table = result.table(
            f"walk: two jobs on a node of {self.memory // MB} MB with a swap "
            "file, slowdown against one alone", by=("array, % of memory",),
            columns={"storm": "", "stock": ""}, ratios=["storm / stock"])
        for percent in (40, 60, 80):
            array = self.memory * percent // 100
            table.row((percent,), take_turns(
                {form: lambda form=form: self.slowdown(form, array)
                 for form in FORMS}, repeat, warm=0))


class Asking:
    """The jobs say how much memory they need, and Slurm counts it
    (SelectTypeParameters=CR_CPU_Memory)."""

    def __init__(self, args, bench):
        self.bench, self.cycles = bench, args.cycles

    def both(self, form, memory):
        """(makespan / 2 / mean run time of one alone, they overlap)"""
        argv = [*self.bench.jobs.srun(form, 1, f"--mem={memory}"),
                self.bench.where.inside("walk"), "-", str(self.cycles),
                str(MB), "0", "1"]
        alone, = times([Jobs.output(self.bench.where.run(argv))])
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            ran = times(Jobs.output(done) for done in pool.map(
                self.bench.where.run, [argv] * 2))
        begins, ends = zip(*ran)
        return ((max(ends) - min(begins)) / 2 / (alone[1] - alone[0]),
                max(begins) < min(ends))

    def run(self, result):
        table = result.table(
            f"walk: two jobs that ask for memory, on a node of {NODE} MB",
            by=("each asks, MB", "by"),
            columns={"makespan / (2 x solo)": "", "run": ""})
        for memory in (NODE * 4 // 10, NODE * 6 // 10):
            for form in FORMS:
                ratio, together = self.both(form, memory)
                table.row((memory, form), {
                    "makespan / (2 x solo)": ratio,
                    "run": "together" if together
                    else "one after the other"})


def run(args, result, open_bench):
    """What happens when memory does not fit."""
    memory = (32 if args.quick else 128) * MB
    with open_bench(args, result, 1, 2, 2) as bench:
        if not bench.where.lab:
            raise NotRun("needs a lab, whose root it is")
        Asking(args, bench).run(result)
        with swap_file(4 * memory):
            Swapping(args, bench, memory).run(result, min(args.runs, 2))
