# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how long an MPI program of n ranks takes, from the shell to the shell, by
`storm run --mpi=pmi1` and by stock `srun --mpi=pmi2` in the same job, by turns.

The program is testsuite/programs/mpi_hello.c with MPICH: MPI_Init and a barrier. alone
is one rank of it without a launcher: most of its time is MPI_Init. The second table is
what is left of the same runs without MPI's own time: from the command to the first
MPI_Init, and from the end of the barrier (MPICH 4.0 can hang in MPI_Finalize) to the
prompt. All hosts of a lab are on this machine; on a site it needs clocks that agree.
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
WHOLE, OUTSIDE = ("storm", "stock", "alone"), ("storm", "stock")
SCRIPT = """#!/bin/bash
timed() {{ # name, command
  local name=$1 begun=${{EPOCHREALTIME/./}} code over ranks=0 first=0 last=0; shift
  "$@" </dev/null >out 2>err; code=$? over=${{EPOCHREALTIME/./}}
  while read -r hello _ init end; do
    [ "$hello" = hello ] || continue
    ranks=$((ranks + 1))
    [ $first != 0 ] && [ $init -ge $first ] || first=$init
    [ $end -le $last ] || last=$end
  done <out
  [ $code != 0 ] || [ $ranks = $expect ] || code=99
  echo "$name $((over - begun)) $code"
  echo "${{name}}_outside $((first - begun + over - last)) $code"
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
                         program=where.inside("mpi_hello"))
    return script.times(script.lines(
        where, "mpi", nodes, text, [f"--ntasks-per-node={-(-ranks // nodes)}"]))


def run(args, result):
    if lacks := mpis.lacks("mpich"):
        raise NotRun(lacks)
    plot = {"x": "ranks", "y": list(WHOLE), "log": "xy"}
    whole = result.table(
        f"MPICH, n ranks on {NODES} nodes at most, in a batch script", by=("ranks",),
        columns=dict.fromkeys(WHOLE, "ms"), ratios=["storm / stock"], plot=plot)
    outside = result.table(
        "the same runs, before the first MPI_Init and after the last rank's end of MPI",
        by=("ranks",), columns=dict.fromkeys(OUTSIDE, "ms"), ratios=["storm / stock"])
    with target.open_target(args, result, min(max(args.ranks), NODES)) as where:
        programs.build(where, "mpi_hello", mpi="mpich")
        found = {ranks: ask(args, where, ranks) for ranks in args.ranks}
    for ranks, one in found.items():
        whole.row((ranks,), {name: one[name] for name in WHOLE})
    for ranks, one in found.items():
        outside.row((ranks,), {name: one[f"{name}_outside"] for name in OUTSIDE})
