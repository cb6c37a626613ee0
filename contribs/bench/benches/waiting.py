# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure what srun --storm-wait=MODE costs and gives: two MPI jobs share their
processors without turns, as the kernel schedules them. halo posts its edges early
and waits late; bsp meets in an allreduce every 100 microseconds. Both are
testsuite/programs/halo.c.

alone: seconds of one job over those without the option. together: seconds of two
jobs over those of both one after the other, alone and without the option; 1 is
ideal. Alternates all cases RUNS times in the partition shared of a lab whose nodes
are bound to a core each. The figures are valid only on a machine that is otherwise
idle.
"""
from measure import mpi, target
from measure.result import NotRun
from measure.turns import numbers, take_turns, words, words_of

import mpis

HELP = "how ranks wait: two jobs on the same processors, by --storm-wait=MODE"
SOURCE = "TC'06 5.2, BCS-MPI (ICPP'04)"
QUICK = {"nodes": [1], "iterations": 200, "runs": 1}
#: {program: microseconds of an iteration}
PROGRAMS = {"halo": 400, "bsp": 100}


class Bench:
    def __init__(self, args, where, nodes, program):
        self.args, self.nodes, self.program = args, nodes, program
        self.where = where
        self.units = int(self.outs("none", 1, "units")[0])

    def outs(self, mode, jobs, *arguments):
        options = [] if mode == "none" else [f"--storm-wait={mode}"]
        runner = mpi.Jobs(self.where, {"storm": "shared"}, mpi=self.args.mpi)
        srun = runner.srun("storm", self.nodes, *options)
        return runner.together([(srun, "halo", arguments)] * jobs)

    def seconds(self, mode, jobs):
        """From the first one's start to the last one's end."""
        count = self.args.iterations * 400 // PROGRAMS[self.program]
        return self.span(self.outs(mode, jobs, self.program, count,
                                   self.units))

    @staticmethod
    def span(outs):
        times = [[int(word) for word in out.split()] for out in outs]
        return (max(t[1] for t in times) - min(t[0] for t in times)) / 1e9

    def ask(self):
        cases = {(mode, jobs): lambda m=mode, j=jobs: self.seconds(m, j)
                 for mode in ["none", *self.args.modes] for jobs in (1, 2)}
        return take_turns(cases, self.args.runs)


def over(values, alone, jobs):
    """Each run as a multiple of its round's jobs, one after the other."""
    for found in values, alone:
        if isinstance(found, NotRun):
            return found
    return [a / b / jobs for a, b in zip(values, alone)]


def options(parser):
    target.options(parser, site=False)
    parser.add_argument("--nodes", type=numbers, default=[2], metavar="LIST",
                        help="nodes of a job (default: 2)")
    parser.add_argument("--runs", type=int, default=9, metavar="N",
                        help="runs of each case (default: 9)")
    parser.add_argument("--iterations", type=int, default=2000, metavar="N",
                        help="of 400 us, or 4 x 100 us (default: 2000)")
    parser.add_argument("--modes", type=words, default=["block", "slice"],
                        metavar="LIST", help="of --storm-wait (default: "
                        "block,slice)")
    parser.add_argument("--programs", type=words_of(*PROGRAMS),
                        default=list(PROGRAMS), metavar="LIST",
                        help=f"of {','.join(PROGRAMS)} (default: all)")
    parser.add_argument("--mpi", choices=list(mpis.MPIS),
                        help="the MPI library (default: MPICH if it is here)")


def run(args, result):
    table = result.table(
        "seconds over those of a job alone without the option",
        by=("program", "nodes", "mode"),
        columns={"alone": "", "together": "", "one": "s"},
        plot={"x": "nodes", "y": ["together"], "facets": ["program"]})
    with target.open_target(args, result, max(args.nodes), cpus=1,
                            gang=2) as where:
        mpi.build(where, "halo", mpi=args.mpi)
        for program in args.programs:
            for nodes in args.nodes:
                found = Bench(args, where, nodes, program).ask()
                alone = found["none", 1]
                for mode in ["none", *args.modes]:
                    table.row((program, nodes, mode), {
                        "alone": over(found[mode, 1], alone, 1),
                        "together": over(found[mode, 2], alone, 2),
                        "one": found[mode, 1]})
