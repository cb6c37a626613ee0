# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how long `storm run -N n true` takes in a batch script, beside stock srun in
the same job, by turns.

A job of n nodes runs all contenders. storm and stock are whole commands, from the
shell to the shell. bare is contribs/bench/bare_launch.c, one datagram to waiting
processes that spawn true and answer: no protocol, no safety, and no command to start.
floor is n times posix_spawn of true on this machine, two at a time: all hosts of a
lab are on it. resident is srun --resident, which becomes storm run.
start is the first storm run of the job, which starts the launchers.
The second table is of runs one after the other on one node. The last one is of slurmctld's
CPU time for 1,000 of these, and for as many sruns, of which there are a fifth.
"""
import os
import time

from measure import background, script, target
from measure.result import NotRun

HELP = "storm run -N n true beside srun"
SOURCE = ""
QUICK = {"nodes": [1, 2], "repeat": 2, "rate": 5, "controller": 20}
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
#: It stops at each mark until the bench has looked
MARKED = """#!/bin/bash
at() {{ : >mark.$1; until [ -e mark.$1.seen ]; do sleep 0.05; done; }}
storm run true; srun --launch=slurm -N1 -n1 true; at begun
for k in $(seq {runs}); do storm run -N1 -n1 true || exit 1; done; at runs
for k in $(seq {sruns}); do srun --launch=slurm -N1 -n1 true || exit 1; done; at sruns
"""
PATIENCE = 1200     # seconds


def options(parser):
    target.options(parser)
    background.build_option(parser)
    target.nodes_option(parser, (1, 8, 32, 64))
    parser.add_argument("--repeat", type=int, default=20, metavar="N",
                        help="turns of each contender (default: 20)")
    parser.add_argument("--rate", type=int, default=200, metavar="N",
                        help="runs one after the other (default: 200)")
    parser.add_argument("--controller", type=int, default=1000, metavar="N",
                        help="runs of the last table; 0: no such table (default: 1000)")


def ask(args, where, nodes, bare):
    """{name: [milliseconds]}, or the NotRun that is one's only value."""
    return script.times(script.lines(where, "run", nodes, SCRIPT.format(
        nodes=nodes, bare=bare, group=GROUP, port=PORT, repeat=args.repeat,
        rate=args.rate)))


def rates(args, found):
    """Runs a second."""
    return {"storm": [args.rate * 1000 / t for t in found["rate"]],
            "stock": [(args.rate // 10 + 1) * 1000 / t for t in found["srun"]]}


def cpu_time(where):
    """ms that slurmctld has used, by all of its threads so far."""
    pid, = where.lab.pids("ctl", "slurmctld")
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        user, system = f.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) * 1000 / os.sysconf("SC_CLK_TCK")


def at_mark(where, name):
    """slurmctld's time when the job is there, which then goes on."""
    end = time.monotonic() + PATIENCE
    path = where.shared / f"mark.{name}"
    while not path.exists():
        if time.monotonic() > end:
            raise NotRun(f"the job does not come to its mark {name}")
        time.sleep(0.02)
    now = cpu_time(where)
    (where.shared / f"mark.{name}.seen").touch()
    return now


def controller(args, where):
    """{name: [ms of slurmctld's for 1,000]}"""
    if not hasattr(where, "lab"):
        return dict.fromkeys(("storm", "stock"), NotRun("slurmctld is on another host"))
    runs, sruns = args.controller, args.controller // 5 + 1
    (where.shared / "marked.sh").write_text(MARKED.format(runs=runs, sruns=sruns))
    where.must(["sbatch", "-Q", "-N1", *where.salloc, "-D", where.inside(""), "-o",
                where.inside("marked.out"), where.inside("marked.sh")])
    begun, mid, end = (at_mark(where, name) for name in ("begun", "runs", "sruns"))
    return {"storm": [(mid - begun) * 1000 / runs], "stock": [(end - mid) * 1000 / sruns]}


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
    third = result.table("slurmctld's CPU time for 1,000 runs, and for 1,000 sruns",
                         by=("runs",), columns={"storm": "ms", "stock": "ms"},
                         ratios=["storm / stock"]) if args.controller else None
    with target.open_target(args, result, max(args.nodes)) as where:
        bare = background.install(where, args, "bare_launch")
        found = {n: ask(args, where, n, bare) for n in args.nodes}
        if third:
            third.row((args.controller,), controller(args, where))
    for n, one in found.items():
        table.row((n,), one)
    for n, one in found.items():
        second.row((n,), rates(args, one))
