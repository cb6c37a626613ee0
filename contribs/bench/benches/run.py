# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how long `storm run -N n true` takes in a batch script, beside stock srun in
the same job, by turns.

A job of n nodes runs all contenders. storm and stock are whole commands, from the
shell to the shell. bare is contribs/bench/bare_launch.c, one datagram to waiting
processes that spawn true and answer: no protocol, no safety, and no command to start.
floor is n times posix_spawn of true on this machine, two at a time: all hosts of a
lab are on it. resident is srun --resident, which becomes storm run.
start is the first storm run of the job, which starts the launchers.
The last table is of runs one after the other on one node.
"""
from measure import background, script, target

HELP = "storm run -N n true beside srun"
SOURCE = ""
QUICK = {"nodes": [1, 2], "repeat": 2, "rate": 5}
GROUP, PORT = "239.255.83.99", 60999
SCRIPT = """#!/bin/bash
n={nodes} bare={bare}
own=$(getent ahostsv4 $(hostname) | head -n 1 | cut -d ' ' -f 1)
timed() {{ # name, command
  local name=$1 begun=${{EPOCHREALTIME/./}} code; shift
  "$@" </dev/null >/dev/null 2>err; code=$?
  echo "$name $((${{EPOCHREALTIME/./}} - begun)) $code"
}}
told() {{ # name, a command that prints its microseconds
  local name=$1 said; shift; said=$("$@" 2>&1); echo "$name $said $?"
}}
timed start storm run true
srun --overlap -N$n -n$n --mem=0 --input=none sh -c 'exec "$0" serve {group} {port} \\
  $(getent ahostsv4 $(hostname) | head -n 1 | cut -d " " -f 1)' $bare >/dev/null 2>&1 &
served=$!
$bare launch {group} {port} $own $n >/dev/null || echo "bare 0 1"
for k in $(seq {repeat}); do
  timed storm storm run -N$n true
  timed stock srun --launch=slurm -N$n -n$n true
  timed resident srun --launch=storm --resident -N$n -n$n true
  told bare $bare launch {group} {port} $own $n
  told floor $bare floor $n
done
kill $served
begun=${{EPOCHREALTIME/./}}
for k in $(seq {rate}); do storm run -N1 -n1 true || echo "rate 0 1"; done
echo "rate $((${{EPOCHREALTIME/./}} - begun)) 0"
begun=${{EPOCHREALTIME/./}}
for k in $(seq $(({rate} / 10 + 1))); do srun --launch=slurm -N1 -n1 true 2>err; done
echo "srun $((${{EPOCHREALTIME/./}} - begun)) 0"
"""


def options(parser):
    target.options(parser)
    background.build_option(parser)
    target.nodes_option(parser, (1, 8, 32, 64))
    parser.add_argument("--repeat", type=int, default=20, metavar="N",
                        help="turns of each contender (default: 20)")
    parser.add_argument("--rate", type=int, default=200, metavar="N",
                        help="runs one after the other (default: 200)")


def ask(args, where, nodes, bare):
    """{name: [milliseconds]}, or the NotRun that is one's only value."""
    return script.times(script.lines(where, "run", nodes, SCRIPT.format(
        nodes=nodes, bare=bare, group=GROUP, port=PORT, repeat=args.repeat,
        rate=args.rate)))


def rates(args, found):
    """Runs a second."""
    return {"storm": [args.rate * 1000 / t for t in found["rate"]],
            "stock": [(args.rate // 10 + 1) * 1000 / t for t in found["srun"]]}


def run(args, result):
    table = result.table(
        "true on n nodes, in a batch script", by=("nodes",),
        columns={"storm": "ms", "stock": "ms", "resident": "ms", "bare": "ms",
                 "floor": "ms", "start": "ms"},
        ratios=["storm / stock", "resident / stock", "storm / bare"],
        plot={"x": "nodes", "y": ["storm", "stock", "resident", "bare", "floor"],
              "log": "xy"})
    second = result.table("runs one after the other, one task each",
                          by=("nodes of the job",),
                          columns={"storm": "/s", "stock": "/s"},
                          ratios=["storm / stock"])
    with target.open_target(args, result, max(args.nodes)) as where:
        bare = background.install(where, args, "bare_launch")
        found = {n: ask(args, where, n, bare) for n in args.nodes}
    for n, one in found.items():
        table.row((n,), one)
    for n, one in found.items():
        second.row((n,), rates(args, one))
