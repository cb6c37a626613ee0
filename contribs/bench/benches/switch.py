# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Measure how a turn ends and the next one begins, as two jobs see it that compute
(testsuite/programs/calls.c), by the policies of storm.conf: gang freezes a job out of
its turn, yield lets it give way. Each node of the lab is bound to a core, and all have
one clock.

  sum       what both have done, as a part of what one does alone
  least     the lesser of both, in the same way
  skew      by how much the nodes differ when a job begins to run
  switch    from when one job stops running on a node until the other one runs
  agent     an agent's processor time for each begin of a turn
  epoll, sem  how often epoll_wait and semtimedop were interrupted, of 100 turns of a
            job that waits in them, beside one that computes

Each round plays all policies, in alternating order.
"""
import contextlib
import functools
import os
import subprocess

from harness import TOP, Cluster, until
from benches.strobe import cpu
from measure import target
from measure.turns import reals, take_turns, words_of

HELP = "how turns change, as jobs see it, by freezing or by giving way"
SOURCE = ""
POLICIES = ("gang", "yield")
QUICK = {"runs": 1, "seconds": 1.5, "quantum": [50], "nodes": 1}
#: a job that ran for less gave way, or began
TURN = 5e6      # ns


def compile_to(program):
    subprocess.run(["cc", "-std=gnu11", "-O2", "-o", program,
                    TOP / "testsuite/programs/calls.c"], check=True)


def start(c, what, seconds):
    return c.start(f"srun -pgang -N{c.nodes} --label --launch=storm "
                   f"{{bin}}/calls {what} {seconds}")


def finish(c, runs):
    """[{rank: lines}] of each"""
    found = []
    for run in runs:
        done = run.finish(90)
        assert done.code == 0, str(done)
        ranks = {}
        for line in done.out.splitlines():
            rank, text = line.split(":", 1)
            ranks.setdefault(int(rank), []).append(list(map(int, text.split())))
        found.append(ranks)
    until(lambda: not c.root("squeue -h"), "the jobs' end")
    return found


def loops(ranks):
    return sum(lines[0][0] for lines in ranks.values())


def turns_of(lines):
    """(begin, end) of each turn, joined over short pauses in it"""
    turns = []
    for begin, end in lines[1:]:
        if turns and begin - turns[-1][1] < TURN:
            turns[-1][1] = end
        else:
            turns.append([begin, end])
    return [t for t in turns if t[1] - t[0] >= TURN]


def skews(ranks):
    """us, for each turn that all nodes have"""
    all_turns = [turns_of(lines) for lines in ranks.values()]
    found = []
    for begin, end in all_turns[0][1:-1]:
        at = [begin] + [b for turns in all_turns[1:] for b, _ in turns
                        if abs(b - begin) < (end - begin) / 2]
        if len(at) == len(all_turns):
            found.append((max(at) - min(at)) / 1e3)
    return found


def switches(one, other):
    """us, of a node's two jobs; below 0: both ran for a while"""
    all_turns = sorted([*t, who] for who, lines in enumerate((one, other))
                       for t in turns_of(lines))
    return [(b[0] - a[1]) / 1e3 for a, b in zip(all_turns, all_turns[1:])
            if a[2] != b[2]]


def one_round(c, seconds):
    """{column: values}"""
    alone = loops(finish(c, [start(c, "run", seconds)])[0])
    before, began = cpu(c.lab, c.names), sum(
        c.agent(n, "gang_slots") for n in c.names)
    both = finish(c, [start(c, "run", seconds) for _ in range(2)])
    used = cpu(c.lab, c.names) - before
    began = sum(c.agent(n, "gang_slots") for n in c.names) - began
    share = [loops(ranks) / alone for ranks in both]
    spin = start(c, "run", seconds + 2)
    until(lambda: c.root("squeue -h -t R"), "a job that computes")
    calls = finish(c, [start(c, "wait", seconds), spin])[0]
    turns = 1e3 * seconds * c.nodes / c.quantum / 2
    polls, sems = (100 * sum(lines[0][i] for lines in calls.values()) / turns
                   for i in range(2))
    return {"sum": [sum(share)], "least": [min(share)],
            "skew": [s for ranks in both for s in skews(ranks)],
            "switch": [s for rank in both[0]
                       for s in switches(both[0][rank], both[1][rank])],
            "agent": [used / max(began, 1)], "epoll": [polls], "sem": [sems]}


class Turns(Cluster):
    def __init__(self, args, policy, quantum):
        self.quantum = quantum
        super().__init__(
            f"switch{policy}{os.getpid()}", args.nodes, cpus=1, standing=False,
            gang=3, quantum=quantum,
            storm_conf={"Partition": f"gang Policy={policy}"})
        compile_to(self.bin / "calls")


def measure(args, quantum):
    """{policy: {column: values}}"""
    with contextlib.ExitStack() as stack:
        contenders = {}
        for policy in args.policies:
            lab = Turns(args, policy, quantum)
            stack.callback(lab.down)
            contenders[policy] = functools.partial(one_round, lab, args.seconds)
        rounds = take_turns(contenders, args.runs, warm=0)
    return {policy: {name: [v for one in found for v in one[name]]
                     for name in found[0]} for policy, found in rounds.items()}


def options(parser):
    target.options(parser, site=False)
    parser.add_argument("--policies", type=words_of(*POLICIES),
                        default=list(POLICIES), metavar="LIST",
                        help=f"of {','.join(POLICIES)}")
    parser.add_argument("--quantum", type=reals, default=[50, 200],
                        metavar="LIST", help="milliseconds (default: 50,200)")
    parser.add_argument("--nodes", type=int, default=2, metavar="N",
                        help="nodes of the lab (default: 2)")
    parser.add_argument("--runs", type=int, default=5, metavar="N",
                        help="rounds (default: 5)")
    parser.add_argument("--seconds", type=float, default=4, metavar="N",
                        help="of each run (default: 4)")


def run(args, result):
    table = result.table(
        "turns of two jobs, quantum in ms", by=("nodes", "quantum", "policy"),
        columns={"sum": "", "least": "", "skew": "us", "skew90": "us",
                 "switch": "us", "switch90": "us", "agent": "ns", "epoll": "",
                 "sem": ""},
        plot={"x": "quantum", "y": ["sum", "least"], "facets": ["policy"]})
    for quantum in args.quantum:
        for policy, columns in measure(args, quantum).items():
            for name in "skew", "switch":
                values = sorted(columns[name])
                if values:
                    columns[f"{name}90"] = values[int(len(values) * .9)]
            table.row((args.nodes, quantum, policy), columns)
