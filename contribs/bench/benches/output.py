# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how long the output of a task on each of n nodes takes to a pipe, with
`storm run -l`, beside stock srun -l in the same job, by turns.

Each task writes so many MB of lines of 64 bytes. plain is storm run without -l, fold
storm run --fold: all tasks write the same. head is the memory that the head of storm run
has had at most. The second table is of hostname. Times are of whole commands, from the
shell to the shell. storm and plain have failed if a byte is missing; lost is the share of
bytes that stock srun has not written.
"""
import re

from measure import script, target
from measure.result import NotRun

HELP = "output of many tasks by storm run beside srun"
SOURCE = ""
QUICK = {"nodes": [2], "repeat": 2, "mb": 0.1}
LINE = 64
SCRIPT = """#!/bin/bash
n={nodes} lines={lines} width={width}
yes $(printf '%0{digits}d' 0) | head -n $lines >lines
label=$((${{#n}})); [ $n -gt $((10 ** (${{#n}} - 1))) ] || label=$((label - 1))
[ $label -gt 0 ] || label=1
timed() {{ # name, bytes, command
  local name=$1 bytes=$2 got begun=${{EPOCHREALTIME/./}}; shift 2
  got=$("$@" </dev/null 2>err | wc -c)
  if [ $name = stock ]; then echo "lost $(((bytes - got) * 100000 / bytes)) 0"
  elif [ $bytes != any ] && [ $bytes != $got ]; then echo "$name 0 1 $got $bytes"; fi
  echo "$name $((${{EPOCHREALTIME/./}} - begun)) 0"
}}
storm run true
for k in $(seq {repeat}); do
  timed storm $((n * lines * (width + label + 2))) storm run -l -N$n cat $PWD/lines
  timed stock $((n * lines * (width + label + 2))) srun --launch=slurm -l -N$n -n$n cat $PWD/lines
  timed plain $((n * lines * width)) storm run -N$n cat $PWD/lines
  timed fold any storm run --fold -N$n cat $PWD/lines
  timed hello any storm run -N$n hostname
  timed helloed any srun --launch=slurm -N$n -n$n hostname
  timed silent any storm run -N$n true
done
head=$(pgrep -u $UID -of 'storm_launcher --head ')
echo "head $(awk '/^VmHWM/ {{ print $2 }}' /proc/$head/status) 0"
"""


def options(parser):
    target.options(parser)
    target.nodes_option(parser, (8, 32))
    parser.add_argument("--repeat", type=int, default=10, metavar="N",
                        help="turns of each contender (default: 10)")
    parser.add_argument("--mb", type=float, default=1, metavar="N",
                        help="MB that each task writes (default: 1)")


def ask(args, where, nodes):
    """{name: [milliseconds]; of "head" MB, of "lost" %; or the NotRun that is its only value}."""
    found = {}
    for line in script.lines(where, "output", nodes, SCRIPT.format(
            nodes=nodes, lines=int(args.mb * 1e6 / LINE), width=LINE,
            digits=LINE - 1, repeat=args.repeat)):
        if line.startswith("storm run: started launchers"):
            continue
        if m := re.fullmatch(r"(\w+) 0 1 (\d+) (\d+)", line):
            found[m[1]] = NotRun(f"{m[1]}: {m[2]} bytes came of {m[3]}")
        elif not (m := re.fullmatch(r"(\w+) (\d+) 0", line)):
            raise NotRun(f"the job says: {line}")
        elif not isinstance(found.get(m[1]), NotRun):
            found.setdefault(m[1], []).append(int(m[2]) / 1000)
    return found


def run(args, result):
    table = result.table(
        f"{args.mb:g} MB of lines from each of n nodes", by=("nodes",),
        columns={"storm": "ms", "stock": "ms", "plain": "ms", "fold": "ms",
                 "lost": "%", "head": "MB"},
        ratios=["storm / stock"],
        plot={"x": "nodes", "y": ["storm", "stock", "plain", "fold"], "log": "xy"})
    hello = result.table(
        "a line from each of n nodes", by=("nodes",),
        columns={"storm": "ms", "stock": "ms", "without a line": "ms"},
        ratios=["storm / stock"])
    with target.open_target(args, result, max(args.nodes)) as where:
        found = {n: ask(args, where, n) for n in args.nodes}
    for n, one in found.items():
        table.row((n,), one)
    for n, one in found.items():
        hello.row((n,), {"storm": one["hello"], "stock": one["helloed"],
                         "without a line": one["silent"]})
