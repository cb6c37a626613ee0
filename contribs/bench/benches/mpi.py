# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how long an MPI program of n ranks takes, from the shell to the shell, by
`storm run` and by stock srun in the same job, by turns: with MPICH by --mpi=pmi1 beside
--mpi=pmi2, with Open MPI by --mpi=pmix of both.

The program is testsuite/programs/mpi_hello.c: MPI_Init and a barrier. alone
is one rank of it without a launcher: most of its time is MPI_Init. The second table is
what is left of the same runs without MPI's own time: from the command to the first
MPI_Init, and from the end of the barrier (MPICH 4.0 can hang in MPI_Finalize) to the
prompt. All hosts of a lab are on this machine; on a site it needs clocks that agree.
"""

import mpis
from measure import script, target
from measure.result import NotRun
from measure.turns import numbers

HELP = "MPI ranks by storm run beside srun"
SOURCE = ""
QUICK = {"ranks": [2], "repeat": 2}
NODES = 8
WHOLE, OUTSIDE = ("storm", "stock", "alone"), ("storm", "stock")
#: Of MPICH: Open MPI starts a program of its own for that
ALONE = """  expect=1
  timed alone env -i {program}"""
#: {name of the MPI: (what it is called, storm run's option)}
MPIS = {"mpich": ("MPICH", "--mpi=pmi1"), "openmpi": ("Open MPI", "--mpi=pmix")}
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
storm run {storm} -N{nodes} -n{ranks} {program} >out 2>err
for k in $(seq {repeat}); do
  expect={ranks}
  timed storm storm run {storm} -N{nodes} -n{ranks} {program}
  timed stock srun --launch=slurm {stock} -N{nodes} -n{ranks} {program}
{alone}
done
"""


def options(parser):
    target.options(parser)
    parser.add_argument("--ranks", type=numbers, default=[8, 32], metavar="LIST",
                        help=f"numbers of ranks, on {NODES} nodes at most (default: "
                        "8,32)")
    parser.add_argument("--repeat", type=int, default=10, metavar="N",
                        help="turns of each contender (default: 10)")


def ask(args, where, mpi, ranks):
    """{name: [milliseconds]}, or the NotRun that is one's only value."""
    nodes = min(ranks, NODES)
    program = where.inside(f"{mpi}/mpi_hello")
    text = SCRIPT.format(nodes=nodes, ranks=ranks, repeat=args.repeat, program=program,
                         storm=MPIS[mpi][1], stock=mpis.MPIS[mpi][1],
                         alone=ALONE.format(program=program) if mpi == "mpich" else "")
    return script.times(script.lines(
        where, f"mpi_{mpi}", nodes, text, [f"--ntasks-per-node={-(-ranks // nodes)}"]))


def tables(result, mpi):
    """The two of one MPI."""
    name = MPIS[mpi][0]
    columns = WHOLE if mpi == "mpich" else OUTSIDE
    plot = {"x": "ranks", "y": list(columns), "log": "xy"}
    whole = result.table(
        f"{name}, n ranks on {NODES} nodes at most, in a batch script", by=("ranks",),
        columns=dict.fromkeys(columns, "ms"), ratios=["storm / stock"], plot=plot)
    outside = result.table(
        f"the same runs of {name}, before the first MPI_Init and after the last rank's "
        "end of MPI", by=("ranks",), columns=dict.fromkeys(OUTSIDE, "ms"),
        ratios=["storm / stock"])
    return whole, outside


def run(args, result):
    here = [mpi for mpi in MPIS if not mpis.lacks(mpi)]
    if not here:
        raise NotRun("; ".join(mpis.lacks(mpi) for mpi in MPIS))
    made = {mpi: tables(result, mpi) for mpi in here}
    with target.open_target(args, result, min(max(args.ranks), NODES)) as where:
        for mpi in here:
            (where.shared / mpi).mkdir()
            mpis.build(mpi, "mpi_hello.c", where.shared / mpi / "mpi_hello")
        for mpi, (whole, outside) in made.items():
            found = {ranks: ask(args, where, mpi, ranks) for ranks in args.ranks}
            for ranks, one in found.items():
                whole.row((ranks,), {name: one[name] for name in WHOLE if name in one})
                outside.row((ranks,), {name: one[f"{name}_outside"] for name in OUTSIDE})
