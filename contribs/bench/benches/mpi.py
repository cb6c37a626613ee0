# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how long an MPI program of n ranks takes, from the shell to the shell, by
`storm run --mpi=pmi1` and by stock `srun --mpi=pmi2` in the same job, by turns.

The program is testsuite/programs/mpi_sum.c with MPICH: MPI_Init, a sum of all ranks, a
message round the ring, a barrier. alone is one rank of it without a launcher: most of its
time is MPI_Init. All hosts of a lab are on this machine.
"""

import mpis
from measure import mpi as programs
from measure import script, target
from measure.result import NotRun
from measure.turns import numbers

HELP = "MPI ranks by storm run beside srun"
SOURCE = ""
QUICK = {"ranks": [2], "repeat": 2}
NODES = 8
SCRIPT = """#!/bin/bash
timed() {{ # name, command
  local name=$1 begun=${{EPOCHREALTIME/./}} code; shift
  "$@" </dev/null >out 2>err; code=$?
  [ $code != 0 ] || [ $(grep -c token out) = $expect ] || code=99
  echo "$name $((${{EPOCHREALTIME/./}} - begun)) $code"
}}
storm run true 2>err
for k in $(seq {repeat}); do
  expect={ranks}
  timed storm storm run --mpi=pmi1 -N{nodes} -n{ranks} {program}
  timed stock srun --launch=slurm --mpi=pmi2 -N{nodes} -n{ranks} {program}
  expect=1
  timed alone env -i {program}
done
"""


def options(parser):
    target.options(parser)
    parser.add_argument("--ranks", type=numbers, default=[8, 32], metavar="LIST",
                        help=f"numbers of ranks, on {NODES} nodes at most (default: "
                        "8,32)")
    parser.add_argument("--repeat", type=int, default=10, metavar="N",
                        help="turns of each contender (default: 10)")


def ask(args, where, ranks):
    """{name: [milliseconds]}, or the NotRun that is one's only value."""
    nodes = min(ranks, NODES)
    text = SCRIPT.format(nodes=nodes, ranks=ranks, repeat=args.repeat,
                         program=where.inside("mpi_sum"))
    return script.times(script.lines(
        where, "mpi", nodes, text, [f"--ntasks-per-node={-(-ranks // nodes)}"]))


def run(args, result):
    if lacks := mpis.lacks("mpich"):
        raise NotRun(lacks)
    table = result.table(
        f"MPICH, n ranks on {NODES} nodes at most, in a batch script", by=("ranks",),
        columns={"storm": "ms", "stock": "ms", "alone": "ms"},
        ratios=["storm / stock"],
        plot={"x": "ranks", "y": ["storm", "stock", "alone"], "log": "xy"})
    with target.open_target(args, result, min(max(args.ranks), NODES)) as where:
        programs.build(where, "mpi_sum", mpi="mpich")
        for ranks in args.ranks:
            table.row((ranks,), ask(args, where, ranks))
